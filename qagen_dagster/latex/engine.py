"""A TeX engine of this machine, and the compilation of items and pictures with it in a sandbox.

LuaTeX is not used, because its Lua interpreter can open files and sockets.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePosixPath

from qagen_dagster.latex.document import document_of
from qagen_dagster.latex.sandbox import Ended, Limits, run_limited
from qagen_dagster.records.problems.result import Compiled, CompileOutcome

ENGINES = ("pdflatex", "xelatex")  # the first installed one is used
MISSING = (
    "there is no TeX engine (pdflatex or xelatex): the structure alone was looked at; on Debian and Ubuntu install "
    "texlive-latex-base, texlive-latex-extra, texlive-pictures and texlive-science"
)
MOST_MESSAGE = 600
_AT_ONCE = threading.BoundedSemaphore(4)
_JOB = "item"
_FLAGS = ("-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "-file-line-error")
_LINED = re.compile(rf"^(?:\./)?{_JOB}\.tex:(\d+): (.+)$", re.MULTILINE)
_ERROR = re.compile(r"^(?:! ?|[^\s:]{1,200}:\d+: )(.+)$", re.MULTILINE)
_PLACE = re.compile(r"^l\.\d+ (.*)$", re.MULTILINE)
_LACKS = re.compile(
    r"File [`']([\w./-]{1,80}\.(?:sty|cls|def|fd))' not found"
    r"|Font (?:[^\s=]{1,80}=)?(\w{1,40})(?: at [\w.]{1,20})?(?: scaled \d{1,9})? not (?:found|loadable)"
)


@dataclass(frozen=True)
class Engine:
    """A TeX engine: its program `name`, and as `version` the first line of its version output."""

    name: str
    path: Path
    version: str = ""
    limits: Limits = field(default_factory=Limits)

    @property
    def identity(self) -> str:
        """A text that changes with the engine and its version."""
        return f"{self.name}: {self.version}"


@dataclass(frozen=True)
class Compilation:
    """The result of a compilation; `pdf` is set if it succeeded."""

    compiled: Compiled
    pdf: bytes | None = None


def find_engine(path: str | None = None) -> Engine | None:
    """The first engine that runs, searched in PATH or in `path` (same syntax). None if there is none."""
    for name in ENGINES:
        found = shutil.which(name, path=path)
        if found is not None and (version := _version(found)):
            limits = Limits() if name == "pdflatex" else Limits(processes=None)  # xelatex starts xdvipdfmx
            return Engine(name, Path(found), version, limits)
    return None


def compile_item(
    engine: Engine | None,
    latex: str,
    preamble: str = "",
    libraries: Sequence[str] = (),
    files: Mapping[str, bytes] | None = None,
) -> Compilation:
    """Compile an item or a picture. `files` are its images by name; without files, a box stands for each image.

    Without an engine, or if it lacks a package, the outcome is not_compiled and the message says why.
    """
    if engine is None:
        return Compilation(Compiled(message=MISSING))
    source = document_of(latex, preamble, libraries, pictures=bool(files))
    with _AT_ONCE, tempfile.TemporaryDirectory(prefix="qagen-tex-") as name:
        folder = Path(name)
        _write_files(folder, {**(files or {}), f"{_JOB}.tex": source.encode("utf-8", "replace")})
        command = (str(engine.path), *_FLAGS, f"-jobname={_JOB}", f"{_JOB}.tex")
        ended = run_limited(command, folder, _environment(engine.path, folder), engine.limits)
        made = folder / f"{_JOB}.pdf"
        pdf = made.read_bytes() if made.is_file() and not made.is_symlink() else b""
    if ended.code == 0 and not ended.stopped and pdf.startswith(b"%PDF"):
        return Compilation(Compiled(outcome=CompileOutcome.COMPILED, message=""), pdf)
    return Compilation(_failed(ended, source, latex))


def _failed(ended: Ended, source: str, latex: str) -> Compiled:
    lacking = _LACKS.search(ended.output)
    if lacking and not ended.stopped:
        missing = lacking.group(1) or f"the font {lacking.group(2)}"
        return Compiled(message=f"the TeX engine lacks {missing}: the structure alone was looked at")
    return Compiled(outcome=CompileOutcome.FAILED, message=_message(ended, source, latex)[:MOST_MESSAGE])


def _message(ended: Ended, source: str, latex: str) -> str:
    """The engine's first error, with its line in the item if the item caused it."""
    if ended.stopped:
        return f"the TeX engine was stopped: {ended.stopped}"
    found = _ERROR.search(ended.output)
    if found is None:
        return "no page came out" if ended.code == 0 else f"the TeX engine ended with {ended.code}"
    lined = _LINED.search(ended.output, found.start())
    at = _PLACE.search(ended.output, found.end())
    near = " ".join(at.group(1).split())[-120:] if at else ""
    told = " ".join(found.group(1).split()) + (f" at: {near}" if near else "")
    line = _line(int(lined.group(1)), source, latex.strip()) if lined else None
    return told if line is None else f"line {line}: {told}"


def _line(line: int, source: str, latex: str) -> int | None:
    """The line of the item for a line of the document; None outside the item."""
    before = source[: source.rindex(latex)].count("\n")
    return line - before if 0 < line - before <= latex.count("\n") + 1 else None


def _write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into the folder. Raises ValueError for a name that leaves it."""
    for name, data in files.items():
        place = PurePosixPath(name)
        if place.is_absolute() or ".." in place.parts or not place.parts:
            raise ValueError(f"{name} is not a relative file name inside the folder")
        target = folder.joinpath(*place.parts)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def _environment(engine: Path, folder: Path) -> dict[str, str]:
    """The engine's whole environment: no variable of this process; files only in its folder and its own trees."""
    own = {name: str(folder / ".texmf") for name in ("TEXMFHOME", "TEXMFVAR", "TEXMFCONFIG")}
    return {
        "PATH": os.pathsep.join((str(engine.parent), os.defpath)),
        "HOME": str(folder),
        "LC_ALL": "C.UTF-8",
        "TEXMFOUTPUT": str(folder),
        "openin_any": "p",
        "openout_any": "p",
        "shell_escape": "f",
        "MKTEXPK": "0",
        "MKTEXTFM": "0",
        "MKTEXMF": "0",
        "MKTEXFMT": "0",
        "max_print_line": "1000",
        "error_line": "254",
        "half_error_line": "238",
        "SOURCE_DATE_EPOCH": "0",
        "FORCE_SOURCE_DATE": "1",
        **own,
    }


@lru_cache(maxsize=8)
def _version(found: str) -> str:
    """The first line of `--version`; empty if the program fails."""
    with tempfile.TemporaryDirectory(prefix="qagen-tex-") as name:
        folder, engine = Path(name), Path(found)
        ended = run_limited(
            (found, "--version"), folder, _environment(engine, folder), Limits(processes=None)
        )
    lines = ended.output.strip().splitlines()
    return lines[0].strip()[:200] if ended.code == 0 and lines else ""
