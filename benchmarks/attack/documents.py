"""Group `documents`: hostile files in corpora, beside one healthy document each, through the real ingest.

Each file ends with one of its outcomes within the limits of time and memory, the healthy documents are parsed, and nothing
outside the corpora is read, written or asked for.
"""

from __future__ import annotations

import contextlib
import json
import os
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.attack.hostile import articles, images, ingest, pdfs, places, rows, text
from benchmarks.attack.hostile.kind import Kind, Trap
from benchmarks.attack.table import Row

MARK = "canary-6d2f"  # only the files outside hold it
LATE = 15.0  # seconds that a file may take beyond the limit: a worker is killed and the next one started
IDLE_MB = 700  # of the process and its idle workers
END = 600.0  # seconds, after which a family is killed

FAMILIES: dict[str, tuple[tuple[str, bytes], Callable[[], list[Kind]]]] = {
    "text": (text.HEALTHY, text.texts),
    "markdown": (text.HEALTHY_MARKDOWN, text.markdown),
    "xml": (articles.HEALTHY, articles.articles),
    "jsonl": (rows.HEALTHY, rows.rows),
    "pdf": (pdfs.HEALTHY, pdfs.pdfs),
    "image": (images.HEALTHY, images.images),
    "place": (places.HEALTHY, places.places),
}
SHORT = ("jsonl", "pdf", "place")


def documents(folder: Path, short: bool) -> Iterator[Row]:
    """One row for each kind of file, and for each family its neighbour, its memory and its tracks outside."""
    (folder / ingest.SECRET).write_text(MARK)
    with _server() as server:
        trap = Trap(folder / ingest.SECRET, server.url)
        for family, (healthy, kinds) in FAMILIES.items():
            if short and family not in SHORT:
                continue
            chosen = kinds()
            if short:
                chosen = [one for one in chosen if "timeout" not in one.outcomes][::12]
            _corpus(folder, family, healthy, chosen, trap)
            peak, seconds, ended = _measured(folder, family)
            found = json.loads(ended) if ended.startswith("{") else {"files": [], "ended": ended}
            for kind in chosen:
                yield _row(family, kind, found)
            yield _neighbour(family, healthy[0], found)
            limit = ingest.WORKERS * ingest.MEMORY_MB + IDLE_MB
            yield Row(
                f"{family}: memory of all processes",
                f"up to {limit} MB",
                f"{peak} MB, {seconds:.0f} s",
                peak <= limit,
            )
        yield _tracks(folder, server)


def _corpus(folder: Path, family: str, healthy: tuple[str, bytes], kinds: list[Kind], trap: Trap) -> None:
    root = folder / "corpora" / family / "documents"
    root.mkdir(parents=True)
    (root.parent / "corpus.yaml").write_text(ingest.CONFIG)
    (root / healthy[0]).write_bytes(healthy[1])
    for kind in kinds:
        path = root / kind.file
        path.parent.mkdir(parents=True, exist_ok=True)
        kind.make(path, trap)


def _row(family: str, kind: Kind, found: dict[str, Any]) -> Row:
    mine = [one for one in found["files"] if f"{one['source']}/".startswith(f"{kind.file}/")]
    outcomes = sorted({one["outcome"] for one in mine}) or ["none"]
    outcomes = outcomes if "ended" not in found else [found["ended"]]
    details = sorted({one["detail"] for one in mine if one["detail"]})
    drawn = sorted({str(one["page"]) for one in mine if one["page"] not in ("", "drawn")})
    seconds = max((one["seconds"] for one in mine), default=0.0)
    held = set(outcomes) <= set(kind.outcomes) and seconds <= ingest.SECONDS + LATE
    notes = [", ".join(outcomes), *details[:1], *[f"page: {one}" for one in drawn]]
    if seconds > 1:
        notes.append(f"{seconds:.1f} s")
    said = "; ".join(notes).encode("unicode_escape").decode()[:110]
    return Row(f"{family}: {kind.attack}", " or ".join(kind.outcomes), said, held)


def _neighbour(family: str, name: str, found: dict[str, Any]) -> Row:
    outcomes = [one["outcome"] for one in found["files"] if one["source"] == name]
    current = "up to date" if found.get("current") else "not up to date"
    wanted = ["no_text" if family == "image" else "parsed"]
    alike = outcomes in (wanted, ["parsed"])
    return Row(
        f"{family}: the healthy document beside them", wanted[0], f"{', '.join(outcomes)}; {current}", alike
    )


def _measured(folder: Path, family: str) -> tuple[int, float, str]:
    """The highest memory of the process tree in MB, the seconds, and the JSON that it wrote or how it ended."""
    command = [sys.executable, "-m", "benchmarks.attack.hostile.ingest", str(folder), family]
    begun, peak = time.monotonic(), 0
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        said: list[str] = []
        assert process.stderr is not None
        reader = threading.Thread(target=lambda: said.append(process.stderr.read()))  # pyright: ignore[reportOptionalMemberAccess]
        reader.start()
        while process.poll() is None:
            peak = max(peak, _memory(process.pid))
            if time.monotonic() - begun > END:
                process.kill()
            time.sleep(0.02)
        reader.join()
    written = folder / f"{family}.json"
    last = ("".join(said).strip().splitlines() or ["nothing said"])[-1]
    ended = written.read_text() if written.exists() else f"ended with {process.returncode}: {last}"
    return peak, time.monotonic() - begun, ended


def _memory(pid: int) -> int:
    """Resident memory of a process and all below it, in MB."""
    pages, pending = 0, [pid]
    while pending:
        one = Path(f"/proc/{pending.pop()}")
        with contextlib.suppress(OSError, ProcessLookupError):
            pages += int((one / "statm").read_text().split()[1])
            for task in (one / "task").iterdir():
                pending += [int(child) for child in (task / "children").read_text().split()]
    return pages * os.sysconf("SC_PAGE_SIZE") // 1_000_000


def _tracks(folder: Path, server: _Server) -> Row:
    """Whether anything of the trap is in the store, new files lie beside the corpora, or the server was asked."""
    inside = [
        path
        for path in (folder / "assets").rglob("*")
        if path.is_file() and MARK.encode() in path.read_bytes()
    ]
    ours = {
        "corpora",
        "assets",
        ingest.SECRET,
        f"{places.SWAPPED}-inside.txt",
        *(f"{one}.json" for one in FAMILIES),
    }
    beside = sorted(path.name for path in folder.iterdir() if path.name not in ours)
    found = f"{len(inside)} files read, {len(beside)} written, {server.asked} requests"
    return Row("files and addresses outside", "none", found, not (inside or beside or server.asked))


@dataclass
class _Server:
    """Counts the connections that it gets, and closes them."""

    url: str = ""
    connections: list[object] = field(default_factory=list[object])

    @property
    def asked(self) -> int:
        return len(self.connections)


@contextlib.contextmanager
def _server() -> Generator[_Server]:
    found = _Server()

    class Counted(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            found.connections.append(self.client_address)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Counted) as server:
        found.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield found
        finally:
            server.shutdown()
            thread.join()
