"""The tools of this machine that problem tasks use: a TeX engine, and folders with references."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from qagen_dagster.index.references import ReferenceStore, read_references
from qagen_dagster.latex.engine import Engine, compile_item, find_engine
from qagen_dagster.loop.problems.inputs import NO_ENGINE, Compiler, References
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.vectors import EmbedderSpec, LocalEmbedder
from qagen_dagster.records.ids import fingerprint
from qagen_dagster.records.problems.result import Compiled
from qagen_dagster.toolkit.search_passages import TIKZ_TOOL, search_tikz_reference_tool


def engine_compiler() -> Compiler:
    """The TeX engine of this machine. Without one only the structure is checked."""
    engine = find_engine()
    return NO_ENGINE if engine is None else _compiler(engine)


def find_references(space: Workspace, folders: Sequence[Path]) -> tuple[References, tuple[str, ...]]:
    """The references for the role that draws, and one line for each folder or file that was left out because it is missing or unreadable."""
    if not folders:
        return References(), ()
    store = _references(tuple(folders), _signature(folders), space.settings.parser_workers)
    tools = {TIKZ_TOOL: search_tikz_reference_tool(store.search)} if store.passages else {}
    return References(tools, store.version), store.skipped


@lru_cache(maxsize=4)
def _references(folders: tuple[Path, ...], signature: str, threads: int) -> ReferenceStore:
    """Cached until a file changes (`signature`). The embedder is the local one, which needs no API key."""
    del signature
    return read_references(folders, LocalEmbedder(EmbedderSpec(), threads))


def _signature(folders: Sequence[Path]) -> str:
    """Changes with the names, sizes and times of the files in the folders."""
    told: list[str] = []
    for path in sorted(path for folder in folders for path in folder.rglob("*")):
        with contextlib.suppress(OSError):  # deleted since it was listed
            found = path.stat()
            told.append(f"{path} {found.st_size} {found.st_mtime_ns}")
    return fingerprint(told)


def _compiler(engine: Engine) -> Compiler:
    def compiled(latex: str, preamble: str, libraries: tuple[str, ...]) -> Compiled:
        return compile_item(engine, latex, preamble, libraries).compiled

    return Compiler(engine.identity, compiled)
