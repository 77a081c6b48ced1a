"""Compares two recordings: every file that is in one of them only, and the lines in which the others differ."""

from __future__ import annotations

import difflib
import hashlib
import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

SHOWN, WIDTH = 6, 150  # differing lines of each file; characters of a line around its first difference
FILE_NAME = "file_name"
_HASH = re.compile(rb"[0-9a-f]{12,64}")
_Files = dict[str, list[bytes]]


def compare(first: Path, second: Path, allowed: Sequence[str]) -> int:
    """Print the differences; the number of files that differ.

    `allowed` are names of JSON fields and columns whose values may differ. Hashes among the values are masked wherever they
    occur, also in file names, since other records refer to them. FILE_NAME stands for hashes that are the name of a file.
    """
    old, new = (_read(folder, allowed) for folder in (first, second))
    names = sorted(old.keys() | new.keys())
    differing = [name for name in names if old.get(name) != new.get(name)]
    for name in differing:
        if name not in new or name not in old:
            print(f"{name}\n  only in {first if name in old else second}")
            continue
        print(name)
        changes = list(itertools.islice(_changes(old[name], new[name]), SHOWN + 1))
        for before, after in changes[:SHOWN]:
            print(f"  - {before}\n  + {after}")
        if len(changes) > SHOWN:
            print("  ...")
    print(f"{len(differing)} of {len(names)} files differ")
    return len(differing)


def _read(folder: Path, allowed: Sequence[str]) -> _Files:
    """The contents by file name. Several files have the same name if it contains a masked hash."""
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }
    if not files:
        raise SystemExit(f"{folder} is not a recording")
    fields = [
        (re.compile(rb'("%b": ?)("[^"]*"|[\w.+-]+)' % name.encode()), b"<%b>" % name.encode())
        for name in allowed
    ]
    words = {
        value: mask
        for pattern, mask in fields
        for content in files.values()
        for _, values in pattern.findall(content)
        for value in _HASH.findall(values)
    }
    if FILE_NAME in allowed:
        stems = (Path(name).stem.encode() for name in files)
        words |= {stem: b"<file name>" for stem in stems if _HASH.fullmatch(stem) and stem not in words}
    found: _Files = defaultdict(list)
    for name, content in files.items():
        for pattern, mask in fields:
            content = pattern.sub(rb'\1"%b"' % mask, content)
        content = _masked(content, words)
        if name.startswith("catalog/"):  # its rows are sorted
            content = b"".join(sorted(content.splitlines(keepends=True)))
        found[_masked(name.encode(), words).decode()].append(content)
    return {name: sorted(contents) for name, contents in found.items()}


def _masked(content: bytes, words: dict[bytes, bytes]) -> bytes:
    return _HASH.sub(lambda value: words.get(value[0], value[0]), content) if words else content


def _changes(old: list[bytes], new: list[bytes]) -> Iterator[tuple[str, str]]:
    """Pairs of differing lines, cut to the place where they begin to differ."""
    try:
        before, after = (b"".join(contents).decode().splitlines() for contents in (old, new))
    except UnicodeDecodeError:
        yield _digest(old), _digest(new)
        return
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for kind, start, end, other_start, other_end in matcher.get_opcodes():
        if kind != "equal":
            lines = itertools.zip_longest(before[start:end], after[other_start:other_end], fillvalue="")
            for one, other in lines:
                same = sum(
                    1
                    for _ in itertools.takewhile(
                        lambda pair: pair[0] == pair[1], zip(one, other, strict=False)
                    )
                )
                begin = max(0, same - WIDTH // 3)
                yield one[begin : begin + WIDTH], other[begin : begin + WIDTH]


def _digest(contents: list[bytes]) -> str:
    whole = b"".join(contents)
    return f"binary, {len(whole)} bytes, {hashlib.sha256(whole).hexdigest()[:16]}"
