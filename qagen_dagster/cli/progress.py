"""A progress bar on stderr for long work; plain lines if stderr is not a terminal."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar


class Progress:
    """The steps of a command. Prints nothing when quiet."""

    def __init__(self, console: Console, *, quiet: bool) -> None:
        self._quiet = quiet
        self._console = console
        self._bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            console=console,
            disable=quiet or not console.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task("starting", total=None, note="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def begin(self, steps: int) -> None:
        self._bar.update(self._task, total=steps)

    def step(self, title: str) -> None:
        """Show that a step begins."""
        self._bar.update(self._task, description=f"{title:<48}", note="")
        if not self._quiet and not self._console.is_terminal:
            self._console.print(title, markup=False, highlight=False)

    def note(self, text: str) -> None:
        """Print a line that stays."""
        if not self._quiet:
            self._console.print(text, markup=False, highlight=False)

    def say(self, note: str) -> None:
        """Show what the current step is doing."""
        self._bar.update(self._task, note=note[:60])

    def line(self, text: str) -> None:
        """Print a line if there is no bar."""
        if not self._console.is_terminal:
            self.note(text)

    def done(self, steps: int = 1) -> None:
        """Count `steps` as finished."""
        self._bar.advance(self._task, steps)
