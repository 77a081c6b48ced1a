"""What tasks of problems may use of this machine: a TeX engine, folders with references. Found here, used in `problem_task.py`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from qagen_dagster.latex.engine import Engine, compile_item, find_engine
from qagen_dagster.loop.problem_work import NO_ENGINE, Compiler, References
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.problem_result import Compiled


def engine_compiler() -> Compiler:
    """The TeX engine of this machine; without one the structure alone is looked at."""
    engine = find_engine()
    return NO_ENGINE if engine is None else _compiler(engine)


def find_references(space: Workspace, folders: Sequence[Path]) -> tuple[References, tuple[str, ...]]:
    """What the draughtsman may search, and in one line each which folders are not there."""
    del space
    return References(), tuple(
        f"{folder}: there is no such folder; going on without it" for folder in folders if not folder.is_dir()
    )


def _compiler(engine: Engine) -> Compiler:
    def compiled(latex: str, preamble: str, libraries: tuple[str, ...]) -> Compiled:
        return compile_item(engine, latex, preamble, libraries).compiled

    return Compiler(engine.identity, compiled)
