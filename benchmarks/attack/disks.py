"""Disks that are full, read-only or not writable, under a whole run.

A run that cannot write says so and ends with exit code 1. When there is space again, the same command ends with the set
of a run that had no trouble, and pays again only for the calls that were in flight.

A full disk is a small tmpfs, which needs the right to mount. Elsewhere a limit on the size of files stands in for it.
"""

from __future__ import annotations

import os
import resource
import stat
import subprocess
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.attack.table import Row
from qagen_dagster.loop import ledger
from qagen_dagster.store import Store
from tests.support.killed import RUN, STATIONS, WORKERS, Bench, Watch, published
from tests.support.project import Ended, Project, ended
from tests.support.wire_server import WireServer

PARTS = (0.05, 0.3, 0.6, 0.9)  # of the space that a run needs before it builds the catalog
ENOUGH = 500_000_000
FILE_SIZES = (1_000, 4_000, 100_000)  # where nothing can be mounted: ledger entries, the store, the catalog
SPACE = ("No space left", "disk is full", "disk full", "File too large", "disk I/O error")
LOCKED = (
    "Read-only",
    "Permission denied",
    "Not a directory",
    "is not a folder",
    "File exists",
    "read-only",
    "readonly",
)


def disks(folder: Path, short: bool) -> Iterator[Row]:
    """Full disks at different points of a run, then stores that cannot be written."""
    watch = Watch()
    with WireServer(watch) as server:
        bench = Bench(folder, server, watch, STATIONS[:2] if short else STATIONS, 2)
        whole = bench.unkilled()
        if _can_mount(folder):
            size, catalog = _size(bench.project)
            for number, part in enumerate(PARTS[1:2] if short else PARTS):
                yield from _full(
                    bench, whole, 10 + number, int(part * size), f"{part:.0%} of what a set needs"
                )
            if not short:
                yield from _full(bench, whole, 20, size + catalog // 8, "no room for the catalog")
                yield _full_home(bench)
        else:
            for number, most in enumerate(FILE_SIZES[1:2] if short else FILE_SIZES):
                yield from _limited(bench, whole, 10 + number, most)
        yield from _unwritable(bench, short)


def _full(bench: Bench, whole: int, number: int, size: int, told: str) -> Iterator[Row]:
    project = _next(bench, number)
    with _mounted(project.assets, size) as remount:
        yield _refused(f"a disk with {told}", ended(project.start(*RUN)), SPACE)
        remount(f"size={ENOUGH}")
        yield _resumed(bench, project, whole)


def _full_home(bench: Bench) -> Row:
    """The folder of the Dagster instance is on a full disk; what it has stays."""
    project = _next(bench, 30)
    project.home.rename(aside := project.root / "aside")
    project.home.mkdir()
    files = sum(map(_space, filter(Path.is_file, aside.rglob("*"))))
    with _mounted(project.home, files + 20_000):
        subprocess.run(["cp", "-a", f"{aside}/.", str(project.home)], check=True)
        return _refused("a full disk under the Dagster instance", ended(project.start(*RUN)), SPACE)


def _limited(bench: Bench, whole: int, number: int, most: int) -> Iterator[Row]:
    """No file may grow beyond `most` bytes."""
    project = _next(bench, number)
    process = project.start(*RUN)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (most, most))
    yield _refused(f"no file above {most:,} bytes", ended(process), SPACE)
    yield _resumed(bench, project, whole)


def _resumed(bench: Bench, project: Project, whole: int) -> Row:
    """There is space again."""
    again = ended(project.start(*RUN))
    asked, most = len(bench.watch.received), whole + WORKERS
    found = ledger.check(Store(project.assets))
    same = again.code == 0 and published(project) == published(bench.project)
    sound = (found.whole, found.corrupt) == (whole, ())
    return Row(
        "the same command, with space",
        f"the set of a run without trouble, {whole} to {most} requests, a whole ledger",
        f"exit code {again.code}, {'the same' if same else 'ANOTHER'} set, {asked} requests ({whole} without trouble), "
        f"{found.whole} entries, {len(found.corrupt)} corrupt" + "".join(again.errors[:2]),
        same and sound and whole <= asked <= most,
    )


def _unwritable(bench: Bench, short: bool) -> Iterator[Row]:
    """Stores that cannot be written from the beginning."""
    project = _next(bench, 40)
    project.assets.write_text("no folder")
    yield _refused("a store that is a file", ended(project.start(*RUN)), LOCKED)
    if short:
        return
    missing = {"QAGEN_ASSETS": str(project.assets / "inside")}
    yield _refused("a store inside a file", ended(project.start(*RUN, **missing)), LOCKED)
    with _read_only(bench.project) as possible:
        if not possible:
            return
        yield _kept(bench, "a read-only store that is up to date", RUN)
        yield _kept(bench, "qagen status of a read-only store", ("status", "--json"))
        yield _refused("a read-only store, --force", ended(bench.project.start(*RUN, "--force")), LOCKED)
        text = bench.project.corpora / "water/documents/ridge.txt"
        before = text.read_text()
        text.write_text(f"{before}\nThe end.\n")
        yield _refused("a read-only store, a changed document", ended(bench.project.start(*RUN)), LOCKED)
        text.write_text(before)


def _kept(bench: Bench, attack: str, words: tuple[str, ...]) -> Row:
    done = ended(bench.project.start(*words))
    return Row(attack, "exit code 0", f"exit code {done.code}{''.join(done.errors[:1])}", done.code == 0)


def _refused(attack: str, failed: Ended, words: tuple[str, ...]) -> Row:
    """Exit code 1 and lines that each say what is wrong, without a traceback."""
    lines = [line for line in failed.errors if line.startswith("qagen: error: ")]
    named = any(word in line for line in lines for word in words)
    plain = "Traceback" not in failed.err and failed.err.count("\n") <= 12
    shown = next((line for line in lines if any(word in line for word in words)), "".join(failed.errors[-1:]))
    return Row(
        attack,
        f"exit code 1, one line that names the cause ({words[0]})",
        f"exit code {failed.code}, {len(failed.errors)} lines: {shown.removeprefix('qagen: error: ')[:180]}",
        failed.code == 1 and named and plain,
    )


def _next(bench: Bench, number: int) -> Project:
    bench.watch.received = []
    return bench.project.another(number)


def _size(project: Project) -> tuple[int, int]:
    """Of the files of a store without the catalog, and of the catalog."""
    files = [path for path in project.assets.rglob("*") if path.is_file()]
    catalog = _space(project.assets / "catalog.duckdb")
    return sum(map(_space, files)) - catalog, catalog


def _space(file: Path) -> int:
    return file.stat().st_blocks * 512


def _can_mount(folder: Path) -> bool:
    try:
        with _mounted(folder / "mount", 100_000):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


@contextmanager
def _mounted(place: Path, size: int) -> Generator[_Remount]:
    """A tmpfs of `size` bytes. Raises CalledProcessError without the right to mount."""
    place.mkdir(exist_ok=True)
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], check=True, capture_output=True
    )
    try:
        yield _Remount(place)
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


class _Remount:
    def __init__(self, place: Path) -> None:
        self._place = place

    def __call__(self, options: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{options}", str(self._place)], check=True)


@contextmanager
def _read_only(project: Project) -> Generator[bool]:
    """The store of a project without the right to write; False where root cannot mount it so."""
    if os.geteuid():
        folders = [project.assets, *(path for path in project.assets.rglob("*") if path.is_dir())]
        for one in folders:
            one.chmod(stat.S_IRUSR | stat.S_IXUSR)
        yield True
        for one in folders:
            one.chmod(stat.S_IRWXU)
        return
    place = str(project.assets)
    bound = subprocess.run(["mount", "--bind", place, place], capture_output=True).returncode == 0
    try:
        if bound:
            subprocess.run(["mount", "-o", "remount,bind,ro", place], check=True)
        yield bound
    finally:
        if bound:
            subprocess.run(["umount", "--lazy", place], check=True)
