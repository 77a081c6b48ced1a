"""The canonical form of what a run made: what differs between two runs of the same code is masked, and nothing else.

Masked are times of the recording, run ids, durations, absolute paths, process and host names, and hashes of files that contain them.
"""

from __future__ import annotations

import hashlib
import json
import re
import socket
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import duckdb

CATALOG = "assets/catalog.duckdb"
KEPT = ("assets", "cli", "dagster", "out")
LEFT_OUT = re.compile(r"\.lock$|^assets/locks/|^assets/\.")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|\+00:00)?(?!\d)")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_SECONDS = re.compile(r'("(?:\w+_)?seconds": )[0-9.e-]+')
_SECONDS_CELL = re.compile(r"\| [\d.]+ (\| \d+ \| [\d.]+ \|)")  # of the table of costs by role


@dataclass(frozen=True)
class Masks:
    """What is replaced in texts and file names."""

    words: dict[str, str]
    pattern: re.Pattern[str]
    began: datetime
    ended: datetime

    @classmethod
    def of(cls, paths: dict[str, str], assets: Path, began: datetime, ended: datetime) -> Masks:
        """The masks of what was made in the store `assets` between two moments."""
        days = {str(moment.date()): "<day>" for moment in (began, ended)}
        words = paths | days | _run_names(assets) | {socket.gethostname(): "<host>"}
        longest_first = sorted(words, key=len, reverse=True)
        pattern = re.compile("|".join(map(re.escape, longest_first)))
        return cls(words, pattern, began.replace(second=0, microsecond=0), ended)

    def text(self, text: str) -> str:
        text = _TIME.sub(self._time, text)
        text = self.pattern.sub(lambda found: self.words[found[0]], text)
        text = _UUID.sub("<uuid>", text)
        text = _SECONDS.sub(r"\1<seconds>", text)
        return _SECONDS_CELL.sub(r"| <seconds> \1", text)

    def _time(self, found: re.Match[str]) -> str:
        moment = datetime.fromisoformat(found[0]).replace(tzinfo=UTC)
        return "<time>" if self.began <= moment <= self.ended else found[0]


def _run_names(assets: Path) -> dict[str, str]:
    """A name for each run id, by partition and order of start; also for the first part of the id, which tables show."""
    records = [json.loads(path.read_bytes()) for path in assets.glob("runs/*/run.json")]
    counts: Counter[str] = Counter()
    names: dict[str, str] = {}
    for record in sorted(records, key=lambda record: record["started"]):
        partition = (record["partition"] or record["job"]).replace("/", "~")
        counts[partition] += 1
        name = f"<run {partition} {counts[partition]}>"
        names[record["run_id"]] = names[record["run_id"].partition("-")[0]] = name
    return names


def write_canonical(root: Path, folder: Path, masks: Masks) -> None:
    """Copy what is kept of `root` into `folder`."""
    files = [path for name in KEPT for path in sorted((root / name).rglob("*")) if path.is_file()]
    plain: dict[Path, bytes] = {}
    for path in files:
        key = path.relative_to(root).as_posix()
        if not LEFT_OUT.search(key) and key != CATALOG:
            plain[path] = _masked(path.read_bytes(), masks)
    hashes = _changed_hashes(root, plain, masks)
    for path, content in plain.items():
        _write(folder / masks.text(path.relative_to(root).as_posix()), _rehashed(content, hashes))
    for name, lines in _catalog(root / CATALOG):
        masked = sorted(masks.text(line) for line in lines)
        _write(folder / "catalog" / name, _rehashed("".join(f"{line}\n" for line in masked).encode(), hashes))


def _masked(content: bytes, masks: Masks) -> bytes:
    try:
        return masks.text(content.decode()).encode()
    except UnicodeDecodeError:
        return content


def _changed_hashes(root: Path, plain: dict[Path, bytes], masks: Masks) -> dict[str, str]:
    """Names for the hashes of files that contain something masked."""
    hashes: dict[str, str] = {}
    for path, content in plain.items():
        raw = path.read_bytes()
        if raw != content:
            name = f"<hash of {masks.text(path.relative_to(root).as_posix())}>"
            hashes[hashlib.sha256(raw).hexdigest()] = name
    return hashes


def _rehashed(content: bytes, hashes: dict[str, str]) -> bytes:
    found = {value for value in re.findall(rb"[0-9a-f]{64}", content) if value.decode() in hashes}
    for value in found:
        content = content.replace(value, hashes[value.decode()].encode())
    return content


def _catalog(path: Path) -> Iterator[tuple[str, list[str]]]:
    """The tables and views with their columns and comments, and the rows of each as JSON."""
    with duckdb.connect(str(path), read_only=True) as database:
        for kind in ("tables", "views", "columns", "constraints", "functions"):
            mine = "true" if kind == "constraints" else "NOT internal"
            yield f"schema-{kind}.jsonl", _rows(database, _SCHEMA.format(kind=kind, mine=mine))
        tables = database.execute(
            "SELECT table_name, table_type FROM information_schema.tables ORDER BY 1"
        ).fetchall()
        for name, kind in tables:
            yield (
                f"{'view' if kind == 'VIEW' else 'table'}-{name}.jsonl",
                _rows(database, f'SELECT * FROM "{name}"'),
            )


_SCHEMA = "SELECT COLUMNS(name -> name NOT SIMILAR TO '.*_oid|database_name|estimated_size') FROM duckdb_{kind}() WHERE schema_name = 'main' AND {mine}"


def _rows(database: duckdb.DuckDBPyConnection, query: str) -> list[str]:
    found = database.execute(query)
    assert found.description is not None
    columns = [column[0] for column in found.description]
    return [
        json.dumps(dict(zip(columns, row, strict=True)), default=_plain, ensure_ascii=False)
        for row in found.fetchall()
    ]


def _plain(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
