"""What the parser pool and its worker processes send each other.

It is apart from the worker, which imports every parser: the process that uses the pool needs none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from qagen_dagster.formats.base import Format, ParseOptions, RenderOptions, Source
from qagen_dagster.records.document import Outcome

FormatsFactory = Callable[[], Sequence[Format]]


@dataclass(frozen=True)
class FileSource:
    """A document on the local disk; the worker reads it, so that its bytes need not go through the pipe.

    With `within`, a folder's path without links, the file is read only from inside that folder.
    """

    name: str
    path: Path
    within: Path | None = None


@dataclass(frozen=True)
class Job:
    """One call for a worker."""

    kind: Literal["parse", "visuals", "render"]
    source: Source | FileSource
    options: ParseOptions
    row: str | None = None
    page: int = 1
    how: RenderOptions | None = None


@dataclass(frozen=True)
class Limits:
    """Limits of one job: seconds of wall time, and bytes of address space above the idle worker's."""

    seconds: float
    memory_bytes: int


@dataclass(frozen=True)
class Reply:
    """The result of a job, or its failure. `tired` asks the parent to replace this worker."""

    value: object = None
    failure: tuple[Outcome, str] | None = None
    tired: bool = False
