"""Runs the asset graph for commands: opens it, shows the progress of work on stderr, and finds corpora with unparsed documents.

The progress is a bar, or plain lines if stderr is not a terminal.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TextColumn
from rich.progress import Progress as Bar
from rich.table import Column
from rich.text import Text

from qagen_dagster.cli.interrupts import interrupts_are_final
from qagen_dagster.ingest.parsing import is_current
from qagen_dagster.loop.unfinished import DOCUMENTS, is_unfinished
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import TALLY

if TYPE_CHECKING:
    from qagen_dagster.defs.in_process import Graph
    from qagen_dagster.loop.questions.head_start import Work


class _Clock(ProgressColumn):
    """The time since the command began. Unlike the column of rich, it does not stop when the last step is done."""

    def render(self, task: Task) -> Text:
        return Text(duration(task.elapsed or 0.0), style="progress.elapsed")


class _BarAndLine(Bar):
    def __init__(self, *columns: ProgressColumn, line: Callable[[], str], **options: Any) -> None:
        self._below = line
        super().__init__(*columns, **options)

    def get_renderables(self) -> Iterable[RenderableType]:
        yield self.make_tasks_table(self.tasks)
        yield Text(self._below(), style="dim", no_wrap=True, overflow="ellipsis")


class Progress:
    """Shows the steps of a command. Prints nothing if it is quiet."""

    def __init__(self, console: Console, *, quiet: bool) -> None:
        self._quiet = quiet
        self._console = console
        self._note = ""
        self._documents: Callable[[], tuple[int, int]] | None = None
        self._watched = 0.0  # when the work on the documents began, on the clock of the console
        self._bar = _BarAndLine(
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, ratio=1)),
            BarColumn(bar_width=16),
            MofNCompleteColumn(),
            _Clock(),
            console=console,
            disable=quiet or not console.is_terminal,
            transient=True,
            expand=True,
            line=self._line,
        )
        self._task = self._bar.add_task("starting", total=None)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def begin(self, steps: int) -> None:
        self._bar.update(self._task, total=steps)

    def watch(self, documents: Callable[[], tuple[int, int]]) -> None:
        """Show the progress of documents and the time that is left. `documents` returns the numbers of finished and of all documents."""
        self._documents, self._watched = documents, self._console.get_time()

    def step(self, title: str) -> None:
        self._note = ""
        self._bar.update(self._task, description=title)
        if not self._quiet and not self._console.is_terminal:
            self._console.print(title, markup=False, highlight=False)

    def note(self, text: str) -> None:
        """Print a line that stays when the bar goes on. Prints nothing if the progress is quiet."""
        if not self._quiet:
            self._console.print(text, markup=False, highlight=False)

    def say(self, note: str) -> None:
        self._note = note

    def line(self, text: str) -> None:
        """Print a line if there is no bar."""
        if not self._console.is_terminal:
            self.note(text)

    def done(self, steps: int = 1) -> None:
        self._bar.advance(self._task, steps)

    def _line(self) -> str:
        """The finished documents, the time that is left, the cost, and the last note, on one line."""
        parts: list[str] = []
        if self._documents is not None:
            done, total = self._documents()
            parts += [f"{done} of {total} documents"] if total else []
            if 0 < done < total:
                left = (self._console.get_time() - self._watched) * (total - done) / done
                parts.append(f"about {duration(left)} left")
        if TALLY.calls:
            most = "at most " if TALLY.unmeasured else ""
            parts.append(f"{TALLY.calls} paid calls, {most}${TALLY.usd:.2f}")
        if TALLY.retries:
            parts.append(f"{TALLY.retries} retries")
        return "  " + " · ".join(part for part in (*parts, self._note) if part)


def duration(seconds: float) -> str:
    """A time as `m:ss`, or from an hour on as `h:mm:ss`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def unread(space: Workspace, corpora: Iterable[str]) -> list[str]:
    """The corpora with documents that are new or changed since they were parsed, or whose last parsing failed."""
    return [
        key
        for key in corpora
        if not is_current(space.corpus(key), space.store, space.settings)
        or is_unfinished(space.store, key, DOCUMENTS)
    ]


@contextmanager
def open_quietly(space: Workspace, progress: Progress, work: Work | None = None) -> Generator[Graph]:
    """The graph on the project's instance. `work` is the work that the command has begun, if any, before the graph is open.

    Dagster takes seconds to load, so it is imported only here. Its warnings about its beta and preview features are for
    developers, so commands hide them. Tests show them.
    """
    warnings.filterwarnings("ignore", message=".*currently in (beta|preview).*")
    with interrupts_are_final():
        from qagen_dagster.definitions import open_graph

        with open_graph(space.settings, progress, work) as graph:
            yield graph
