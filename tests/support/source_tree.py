"""The project's own files as the architecture tests see them: paths, text, syntax trees."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "qagen_dagster"
_NOT_TEXT = {".pdf", ".png", ".jpg", ".jpeg", ".ico", ".gz", ".zip"}


@dataclass(frozen=True)
class Source:
    """One Python file."""

    path: Path
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @property
    def inside(self) -> str:
        """The path inside the package."""
        return self.path.relative_to(PACKAGE).as_posix()

    def functions(self) -> Iterator[ast.FunctionDef]:
        return (node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef))


@cache
def files() -> tuple[Path, ...]:
    """Every file of the project that is not ignored by git."""
    found: list[Path] = []
    for folder, folders, names in os.walk(ROOT):
        here = Path(folder)
        folders[:] = [name for name in folders if not _ignored(here / name, is_folder=True)]
        found.extend(here / name for name in names if not _ignored(here / name, is_folder=False))
    return tuple(sorted(found))


@cache
def texts() -> tuple[tuple[str, str], ...]:
    """Relative name and text of every text file."""
    return tuple(
        (path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8", errors="replace"))
        for path in files()
        if path.suffix.lower() not in _NOT_TEXT
    )


@cache
def sources() -> tuple[Source, ...]:
    """Every Python file of the project."""
    return tuple(_source(path) for path in files() if path.suffix == ".py")


@cache
def package() -> tuple[Source, ...]:
    """Every module of the package."""
    return tuple(source for source in sources() if source.path.is_relative_to(PACKAGE))


def _source(path: Path) -> Source:
    return Source(path, path.read_text(encoding="utf-8"))


def _ignored(path: Path, *, is_folder: bool) -> bool:
    if path.name == ".git":
        return True
    verdict = False
    for pattern, negated, folders_only, anchored in _patterns():
        if folders_only and not is_folder:
            continue
        subject = path.relative_to(ROOT).as_posix() if anchored else path.name
        if fnmatch(subject, pattern) and (not anchored or subject.count("/") == pattern.count("/")):
            verdict = not negated
    return verdict


@cache
def _patterns() -> tuple[tuple[str, bool, bool, bool], ...]:
    """The lines of .gitignore as (pattern, negated, folders only, anchored at the root)."""
    found: list[tuple[str, bool, bool, bool]] = []
    for line in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines():
        rule = line.strip()
        if not rule or rule.startswith("#"):
            continue
        bare = rule.removeprefix("!")
        inner = bare.rstrip("/")
        found.append((inner.lstrip("/"), rule != bare, bare.endswith("/"), "/" in inner))
    return tuple(found)


def dotted(node: ast.AST) -> str:
    """`a.b.c` of names and attributes; of a call, of what is called; empty for anything else."""
    if isinstance(node, ast.Call):
        return dotted(node.func)
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def imports(source: Source) -> Iterator[tuple[str, int]]:
    """Modules a file imports, also by a literal `import_module`, with their lines."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield ("." * node.level) + (node.module or ""), node.lineno
        elif isinstance(node, ast.Call) and dotted(node).endswith("import_module"):
            yield from (
                (str(name.value), node.lineno) for name in node.args if isinstance(name, ast.Constant)
            )
