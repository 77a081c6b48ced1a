"""Files that are no plain files, names that are hard to store, and links that lead elsewhere."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

from benchmarks.attack.hostile.kind import Kind, Trap, document

HEALTHY = "healthy.txt", b"The mast of the station is nine metres high.\n"
TEXT = "The mast is nine metres high.\n"
SWAPPED = "swapped"  # a file of this name becomes a link to the trap before it is parsed


def places() -> list[Kind]:
    return [
        _made("a FIFO", "fifo.txt", lambda path, _: os.mkfifo(path), "unsupported"),
        _made("a socket", "socket.txt", lambda path, _: _socket(path), "unsupported"),
        _made("a link to /dev/zero", "zero.txt", lambda path, _: path.symlink_to("/dev/zero"), "unsupported"),
        _made("a link to /dev/stdin", "stdin.txt", lambda path, _: path.symlink_to("/dev/stdin"), "unsupported"),
        _made("a link to the memory of the process", "memory.txt", lambda path, _: path.symlink_to("/proc/self/environ"), "unsupported"),
        _made("a sparse file of 40 GB", "sparse.txt", lambda path, _: _sparse(path), "too_large"),
        _made("a link to a file outside", "link.txt", lambda path, trap: path.symlink_to(trap.file), "unsupported"),
        _made("a link over many levels", "levels.txt", lambda path, trap: path.symlink_to("../" * 40 + str(trap.file)), "unsupported"),
        _made("a link to the configuration", "yaml.txt", lambda path, _: path.symlink_to("../corpus.yaml"), "unsupported"),
        _made("a link to a folder outside", "folder.txt", lambda path, trap: path.symlink_to(trap.file.parent), "unsupported"),
        _made("a link to itself", "itself.txt", lambda path, _: path.symlink_to(path.name), "unsupported"),
        _made("two links to one another", "ping.txt", lambda path, _: (path.symlink_to("pong.txt"), path.with_name("pong.txt").symlink_to("ping.txt")), "unsupported"),
        _made("a link to nothing", "nothing.txt", lambda path, _: path.symlink_to("gone.txt"), "unsupported"),
        _made("a link to a healthy file", "same.txt", lambda path, _: path.symlink_to("healthy.txt"), "parsed"),
        document("a file that becomes a link while it is read", f"{SWAPPED}.txt", TEXT, "corrupt"),
        document("a folder that becomes a link while it is read", f"{SWAPPED}/{SWAPPED}-inside.txt", TEXT, "corrupt"),
        _made("a file that nobody may read", "closed.txt", lambda path, _: (path.write_text(TEXT), path.chmod(0)), "corrupt", "parsed"),
        _made("a folder that nobody may list", "closed", lambda path, _: (path.mkdir(), path.chmod(0)), "unsupported", "none"),
        _made("a folder named like a document", "folder.pdf", lambda path, _: path.mkdir(), "none"),
        document("a hidden file", ".hidden.txt", TEXT, "none"),
        document("a name with line ends", "a\nb\rc.txt", TEXT, "parsed"),
        document("a name with terminal escapes", "\x1b]0;a\x07\x1b[2J.txt", TEXT, "parsed"),
        document("a name of 250 bytes", "n" * 246 + ".txt", TEXT, "parsed"),
        document("a name of quotes and separators", "a'\"`;|&$(x)<b>\\c*?.txt", TEXT, "parsed"),
        document("a name that runs from right to left", "a\u202etxt.exe.txt", TEXT, "parsed"),
        document("a name of dots", "...txt", TEXT, "none"),
        document("a name of spaces", "  .txt", TEXT, "parsed"),
        document("a name like an option", "--help.txt", TEXT, "parsed"),
        document("a name like a device", "NUL.txt", TEXT, "parsed"),
        document("a name like a URL", "file:??etc?passwd%00.txt", TEXT, "parsed"),
        document("a name that gives the id of another", "sub--b.txt", TEXT, "parsed"),
        document("the other file of that id", "sub/b.txt", TEXT, "parsed"),
        document("a name in capitals", "HEALTHY.TXT", TEXT, "parsed"),
        document("a name with composed letters", "\u00e5.txt", TEXT, "parsed"),
        document("the same name with combined letters", "a\u030a.txt", TEXT, "parsed"),
        document("a name with a zero-width space", "heal\u200bthy.txt", TEXT, "parsed"),
        _made("a name that is not UTF-8", "\ufffd\ufffd.txt", lambda path, _: Path(os.fsdecode(bytes(path.parent) + b"/\xff\xfe.txt")).write_text(TEXT), "unsupported"),
        _made("a path of 6,000 bytes", "long", lambda path, _: _long(path), "unsupported", "empty"),
        _made("300 folders in one another", "d", lambda path, _: _deep(path), "parsed"),
        _made("500 tiny files", "many", lambda path, _: _many(path), "parsed"),
    ]  # fmt: skip


def _made(attack: str, file: str, make: Callable[[Path, Trap], object], *outcomes: str) -> Kind:
    return Kind(attack, file, make, outcomes)


def _socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the name of a socket is limited to 108 bytes
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    finally:
        os.chdir(here)


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(40_000_000_000)


def _long(path: Path) -> None:
    path.mkdir()
    place = os.open(path, os.O_RDONLY)
    for _ in range(30):
        os.mkdir("d" * 200, dir_fd=place)
        deeper = os.open("d" * 200, os.O_RDONLY, dir_fd=place)
        os.close(os.open("b.txt", os.O_WRONLY | os.O_CREAT, dir_fd=deeper))
        os.close(place)
        place = deeper
    os.close(place)


def _deep(path: Path) -> None:
    inner = path.joinpath(*["d"] * 299)
    inner.mkdir(parents=True)
    (inner / "a.txt").write_text(TEXT)


def _many(path: Path) -> None:
    path.mkdir()
    for number in range(500):
        (path / f"{number}.txt").write_text(TEXT)
