"""The canonical form of what a run made: what differs between two runs of the same code is masked, and nothing else.

Masked are times of the recording, run ids, durations, absolute paths, and hashes of files that contain them.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
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
_HASH = re.compile(rb"[0-9a-f]{64}")
_SECONDS = re.compile(r'("(?:\w+_)?seconds": "?)[0-9.e-]+')
_COSTS = re.compile(r"(\| \w+ \| \w+:\S+ \|(?: \d+ \|){5}) [\d.]+ \|")  # a row of the costs by role in the UI
_STATS = re.compile(r"((?: +[\d,]+){3}) +\d+\.\d  (?=\$)")  # a row of `qagen stats`


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
        words = paths | days | _run_names(assets)
        longest_first = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
        pattern = re.compile(rf"(?<![0-9a-f])(?:{longest_first})(?![0-9a-f])")  # no part of a hash
        return cls(words, pattern, began.replace(second=0, microsecond=0), ended)

    def text(self, text: str) -> str:
        text = _TIME.sub(self._time, text)
        text = self.pattern.sub(lambda found: self.words[found[0]], text)
        text = _UUID.sub("<uuid>", text)
        text = _SECONDS.sub(r"\1<seconds>", text)
        text = _STATS.sub(r"\1  <seconds>  ", text)
        return _COSTS.sub(r"\1 <seconds> |", text)

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
    """Copy what is kept of `root` into `folder`, and the catalog as rows."""
    paths = {
        path.relative_to(root).as_posix(): path for name in KEPT for path in sorted((root / name).rglob("*"))
    }
    files = {
        name: path.read_bytes()
        for name, path in paths.items()
        if path.is_file() and name != CATALOG and not LEFT_OUT.search(name)
    }
    files = dict(entry for name, content in files.items() for entry in _members(name, content))
    for name, content in canonical(files | dict(_catalog(root / CATALOG)), masks).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _members(name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    """The members of a workbook, which contains a time; other files as they are."""
    if not name.endswith(".xlsx"):
        yield name, content
        return
    with zipfile.ZipFile(io.BytesIO(content)) as workbook:
        for member in workbook.infolist():
            yield f"{name}/{member.filename}", workbook.read(member)


def canonical(files: dict[str, bytes], masks: Masks) -> dict[str, bytes]:
    """The files with everything masked, also their names. Hashes of files that change are masked too."""
    plain = {masks.text(name): _masked(content, masks) for name, content in files.items()}
    hashes = {
        hashlib.sha256(content).hexdigest().encode(): f"<hash of {name}>".encode()
        for (name, masked), content in zip(plain.items(), files.values(), strict=True)
        if masked != content
    }
    changed = {
        name: _HASH.sub(lambda found: hashes.get(found[0], found[0]), content)
        for name, content in plain.items()
    }
    return {
        name: _sorted(content) if name.startswith("catalog/") else content
        for name, content in changed.items()
    }


def _sorted(content: bytes) -> bytes:
    return b"".join(sorted(content.splitlines(keepends=True)))


def _masked(content: bytes, masks: Masks) -> bytes:
    try:
        return masks.text(content.decode()).encode()
    except UnicodeDecodeError:
        return content


def _catalog(path: Path) -> Iterator[tuple[str, bytes]]:
    """The schema of the catalog with all comments, and the rows of each table and view as JSON."""
    with duckdb.connect(str(path), read_only=True) as database:
        for kind in ("tables", "views", "columns", "constraints", "functions"):
            mine = "true" if kind == "constraints" else "NOT internal"
            yield f"catalog/schema-{kind}.jsonl", _rows(database, _SCHEMA.format(kind=kind, mine=mine))
        tables = database.execute("SELECT table_name FROM information_schema.tables").fetchall()
        for (name,) in tables:
            yield f"catalog/{name}.jsonl", _rows(database, f'SELECT * FROM "{name}"')


_SCHEMA = """\
SELECT COLUMNS(name -> name NOT SIMILAR TO '.*_oid|database_name|estimated_size')
FROM duckdb_{kind}() WHERE schema_name = 'main' AND {mine}"""


def _rows(database: duckdb.DuckDBPyConnection, query: str) -> bytes:
    found = database.execute(query)
    columns = [column[0] for column in found.description or ()]
    rows = (dict(zip(columns, row, strict=True)) for row in found.fetchall())
    return "".join(json.dumps(row, default=_plain, ensure_ascii=False) + "\n" for row in rows).encode()


def _plain(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)
