"""Checks and removes entries of the ledger, and the records of provider batches."""

import fcntl
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import cast

from pydantic import Field

from qagen_dagster.errors import ConfigError, MalformedResponseError
from qagen_dagster.models.base import Provider
from qagen_dagster.models.batch_records import JobBook, JobState
from qagen_dagster.models.file_locks import lock, unlock
from qagen_dagster.models.ledger import Entry, Ledger, unseal
from qagen_dagster.models.providers import build_provider
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.models.wires.openai_embeddings import read_embeddings
from qagen_dagster.records.base import Record
from qagen_dagster.store import Blobs, Store

BATCHES = "batches"
FINISHED_DAYS = 2.0  # younger records are kept, because a run that searches for its batch must exclude them
_BATCH_NAME = re.compile(r"[0-9a-f]{64}|job-[0-9a-f]{32}")


def corrupt_batches(store: Store) -> list[str]:
    """The tags of unreadable records of batches."""
    return [tag for tag, job in JobBook(store.blobs(BATCHES)).records() if job is None]


def foreign_batch_files(store: Store) -> Iterator[str]:
    """The store paths of files that are neither records nor marks of batches."""
    blobs = store.blobs(BATCHES)
    yield from map(store.path, blobs.strays())
    keys = blobs.keys()
    yield from (blobs.path(key) for key in keys if not _BATCH_NAME.fullmatch(key))


def finished_batches(store: Store) -> list[str]:
    """The tags of closed batches that are at least `FINISHED_DAYS` old and whose responses are all counted as spending.

    Empty while some batch may be in progress without a known id, because a run finds that batch by excluding these batches.
    """
    book = JobBook(store.blobs(BATCHES))
    jobs = [job for _, job in book.records() if job is not None]
    if any(job.state is JobState.SENDING for job in jobs):
        return []
    before = datetime.now(UTC) - timedelta(days=FINISHED_DAYS)
    wanted = set(book.marks().values())
    return [
        job.tag
        for job in jobs
        if job.state is JobState.CLOSED and job.created <= before and job.tag not in wanted
    ]


def forget_batches(store: Store, unreadable: tuple[str, ...], ended: tuple[str, ...]) -> int:
    """Remove the records in `ended`, and those in `unreadable` that are still unreadable. Returns the number of removed records."""
    book = JobBook(store.blobs(BATCHES))
    gone = [*(tag for tag in corrupt_batches(store) if tag in unreadable), *ended]
    for tag in gone:
        book.forget(tag)
    return len(gone)


LEDGER = "ledger"
LEFTOVER_SECONDS = 3600.0  # a younger temporary file may belong to an active process
UNUSED_DAYS = 7.0  # a resumed run needs the last responses of a killed run, which are in no journal
_ADDRESS = re.compile(r"[0-9a-f]{64}")
_REFERENCE = re.compile(rb'"request_key":\s*"([0-9a-f]{64})"')
_NOT_SCANNED = ("documents/", "published/", "history/", f"{LEDGER}/")


class Fault(Record):
    """An unusable entry or batch, and the reason."""

    path: str
    reason: str


class LedgerCheck(Record):
    """The result of checking every file of the ledger and all records of batches."""

    whole: int
    corrupt: tuple[Fault, ...]
    # Intact entries whose body is not a usable response. The next run sends their requests again.
    unusable: tuple[Fault, ...] = ()
    foreign: tuple[str, ...] = ()  # files of neither kind
    batches: int = 0  # batches with a readable record


class Prunable(Record):
    """The removable parts of a store: addresses of entries, tags of batches, store keys of files."""

    corrupt: tuple[str, ...] = ()
    unusable: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    corrupt_batches: tuple[str, ...] = ()
    finished_batches: tuple[str, ...] = ()
    leftovers: tuple[str, ...] = ()  # temporary files of killed writers
    locks: tuple[str, ...] = ()  # lock files of killed processes
    bytes: int = Field(default=0)  # total size of the entries

    @property
    def count(self) -> int:
        batches = len(self.corrupt_batches) + len(self.finished_batches)
        entries = len(self.corrupt) + len(self.unusable) + len(self.unused)
        return entries + batches + len(self.leftovers) + len(self.locks)


def check(store: Store) -> LedgerCheck:
    """Check the checksum, the address and the body of every entry; find unreadable records of batches and foreign files."""
    blobs = store.blobs(LEDGER)
    whole = 0
    corrupt: list[Fault] = []
    unusable: list[Fault] = []
    for key, _, entry in _entries(blobs):
        fault = _fault(entry) if isinstance(entry, Entry) else None
        if not isinstance(entry, Entry):
            corrupt.append(Fault(path=blobs.path(key), reason=entry))
        elif fault is not None:
            unusable.append(Fault(path=blobs.path(key), reason=fault))
        else:
            whole += 1
    keys = blobs.keys()
    strange = [blobs.path(key) for key in keys if not _ADDRESS.fullmatch(key)]
    foreign = sorted([*map(store.path, blobs.strays()), *strange, *foreign_batch_files(store)])
    records = list(JobBook(jobs := store.blobs(BATCHES)).records())
    corrupt += [
        Fault(
            path=jobs.path(tag),
            reason="a batch's record, half written or damaged: its requests are asked again",
        )
        for tag, job in records
        if job is None
    ]
    return LedgerCheck(
        whole=whole,
        corrupt=tuple(corrupt),
        unusable=tuple(unusable),
        foreign=tuple(foreign),
        batches=sum(job is not None for _, job in records),
    )


def prunable(store: Store, *, unused: bool = False, older_than_days: float = UNUSED_DAYS) -> Prunable:
    """Find what can be removed: bad entries, records of bad or old batches, and files of killed processes.

    With `unused`, also find entries older than `older_than_days` to which no journal, result or set refers.
    """
    referred = _references(store) if unused else frozenset[str]()
    before = (datetime.now(UTC) - timedelta(days=older_than_days)).isoformat(timespec="seconds")
    corrupt: list[str] = []
    unusable: list[str] = []
    idle: list[str] = []
    total = 0
    for key, size, entry in _entries(store.blobs(LEDGER)):
        if not isinstance(entry, Entry):
            corrupt.append(key)
        elif _fault(entry) is not None:
            unusable.append(key)
        elif unused and key not in referred and entry.created <= before:
            idle.append(key)
        else:
            continue
        total += size
    return Prunable(
        corrupt=tuple(corrupt),
        unusable=tuple(unusable),
        unused=tuple(idle),
        corrupt_batches=tuple(corrupt_batches(store)),
        finished_batches=tuple(finished_batches(store)),
        leftovers=tuple(store.leftovers(LEFTOVER_SECONDS)),
        locks=tuple(key for key in store.list("locks") if _with_free_lock(store, key, lambda _: None)),
        bytes=total,
    )


def remove(store: Store, found: Prunable) -> int:
    """Remove what `prunable` found, except entries that were repaired since and files that were locked since.

    Returns the number of removed things.
    """
    blobs = store.blobs(LEDGER)
    ledger = Ledger(blobs)
    removed = 0
    for key in (*found.corrupt, *found.unusable):
        with ledger.only_one(key):
            entry = ledger.get(key)
            if entry is None or _fault(entry) is not None:
                blobs.remove(key)
                removed += 1
    for key in found.unused:
        blobs.remove(key)
    for key in found.leftovers:
        store.remove(key)
    removed += forget_batches(store, found.corrupt_batches, found.finished_batches)
    freed = sum(_with_free_lock(store, key, lambda path: path.unlink(missing_ok=True)) for key in found.locks)
    return removed + len(found.unused) + len(found.leftovers) + freed


def _entries(blobs: Blobs) -> Iterator[tuple[str, int, Entry | str]]:
    """Every entry with its address and size in bytes. A corrupt entry is replaced by its error."""
    keys = blobs.keys()
    for key in keys:
        data = blobs.get(key) if _ADDRESS.fullmatch(key) else None
        if data is not None:
            try:
                yield key, len(data), unseal(data, key)
            except ValueError as error:
                yield key, len(data), str(error)


def _references(store: Store) -> frozenset[str]:
    """The addresses of entries that any journal, result or set names."""
    return frozenset(
        found.decode("ascii")
        for key in store.list("")
        if key.endswith(".json") and not key.startswith(_NOT_SCANNED)
        for found in _REFERENCE.findall(store.get(key) or b"")
    )


def _with_free_lock(store: Store, key: str, action: Callable[[Path], None]) -> bool:
    """Lock the file and run `action` on it. Returns False, without running it, if another process holds the lock."""
    path = store.local_path(key)
    try:
        file = None if path is None else lock(path, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    if path is None or file is None:
        return False
    try:
        action(path)
    finally:
        unlock(file)
    return True


def _fault(entry: Entry) -> str | None:
    """The reason why no run can use a stored body; None if a run can, or if the provider is unknown."""
    embeddings = entry.body.get("data")
    provider = _reader(entry.model, entry.body.keys() == {"tools", "body"})
    try:
        if isinstance(embeddings, list) and embeddings:
            read_embeddings(entry.body, len(cast("list[object]", embeddings)))
        elif provider is not None:
            provider.read(entry.body)
    except MalformedResponseError as error:
        return f"{error}; it is asked for again"
    return None


@cache
def _reader(model: str, emulated: bool) -> Provider | None:
    """A provider that is only used to read response bodies, and sends no requests; None if the provider is unknown."""
    name, _, rest = model.partition(":")
    try:
        calling = "emulated" if emulated else "native"
        spec = ModelSpec(provider=name, model=rest, base_url="http://127.0.0.1", tool_calling=calling)
        return build_provider(spec, lambda _: "none")
    except ConfigError:
        return None
