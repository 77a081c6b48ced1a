"""A TeX engine of this machine, and the compilation of items and pictures with it in a sandbox.

An item becomes a document with the packages and macros that items expect. A preamble from the source comes first and takes precedence.
LuaTeX is not used, because its Lua interpreter can open files and sockets.
"""

import os
import re
import shutil
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from qagen_dagster.latex.limited_program import Ended, ProgramLimits, run_limited
from qagen_dagster.latex.structure import environments, plain_of
from qagen_dagster.records.data_files import read_table
from qagen_dagster.records.problems.result import Compiled, CompileOutcome

COMPILE_SECONDS = 10  # processor time of one run of a TeX engine; the wall time may be twice as long
_CLASS = (
    "\\documentclass[11pt]{article}\n\\usepackage[margin=2cm]{geometry}\n"
    "\\IfFileExists{lmodern.sty}{\\usepackage{lmodern}}{}\n"
)
_CLASSED = re.compile(r"\\documentclass(?![A-Za-z])")
_TABLES = read_table(__package__, "tables.toml")
_PACKAGES = tuple((name, re.compile(pattern)) for name, pattern in _TABLES["packages"])
_SIUNITX_DEGREE = frozenset(("siunitx", "gensymb"))  # both define \degree, so gensymb is dropped
_LIBRARY = re.compile(r"[A-Za-z][A-Za-z0-9.-]{0,40}\Z")
USUAL_LIBRARIES = (
    "arrows.meta", "calc", "angles", "quotes", "patterns", "positioning", "decorations.pathmorphing", "decorations.markings",
)  # fmt: skip  # TikZ libraries; TikZ is loaded with them
_SIGNS: dict[str, str] = _TABLES["signs"]
_RAISED = ("2070", "2074", "2075", "2076", "2077", "2078", "2079")
_LOWERED = tuple(f"208{digit}" for digit in range(10))
_DEGREES = r"""\makeatletter
\AtBeginDocument{\@ifpackageloaded{siunitx}{%
\def\degree{\ensuremath{^\circ}}\def\celsius{\ensuremath{^\circ\mathrm{C}}}}{}}
\makeatother
"""  # siunitx makes \degree and \celsius errors outside its own commands
_GIVEN = r"""\makeatletter
\providecommand{\ans}{\ensuremath{\surd}}
\@ifundefined{solution}{\newenvironment{solution}{\par\noindent\textbf{Solution. }}{\par}}{}
\makeatother
"""
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


def preamble_of(latex: str, preamble: str = "", libraries: Sequence[str] = ()) -> str:
    r"""The preamble of a document: `preamble`, with a document class before it if it has none; then the packages that `latex` uses,
    TikZ libraries, declarations of signs, and definitions of `\ans` and `solution` if they are undefined."""
    head = (
        preamble.strip() + "\n" if _CLASSED.search(plain_of(preamble)) else _CLASS + preamble.strip() + "\n"
    )
    wanted = [library.removeprefix("tikzlibrary") for library in libraries if _LIBRARY.match(library)]
    packages = packages_of(latex, wanted)
    loaded = "".join(f"\\@ifpackageloaded{{{name}}}{{}}{{\\usepackage{{{name}}}}}\n" for name in packages)
    if {"siunitx", "circuitikz"} <= set(packages):  # for values such as R=5<\\ohm>
        loaded = f"\\PassOptionsToPackage{{siunitx}}{{circuitikz}}\n{loaded}"
    known = {name for name, _ in _PACKAGES}
    named = [library for library in dict.fromkeys(wanted) if library not in known]
    tikz = f"\\usetikzlibrary{{{','.join((*USUAL_LIBRARIES, *named))}}}\n" if "tikz" in packages else ""
    if "pgfplots" in packages:
        tikz += "\\pgfplotsset{compat=newest}\n"
    return f"{head}\\makeatletter\n{loaded}\\makeatother\n{tikz}{sign_declarations()}{_GIVEN}"


def document_of(latex: str, preamble: str = "", libraries: Sequence[str] = ()) -> str:
    """A document with an item, or with other content such as a picture. A box stands for each image file."""
    body = latex.strip()
    listed = plain_of(body).startswith("\\item") or not _has_own_lists(body)
    if listed:
        body = f"\\begin{{enumerate}}\n{body}\n\\end{{enumerate}}"
    head = f"\\PassOptionsToPackage{{demo}}{{graphicx}}\n{preamble_of(latex, preamble, libraries)}"
    return f"{head}\\pagestyle{{empty}}\n\\begin{{document}}\n{body}\n\\end{{document}}\n"


def _has_own_lists(body: str) -> bool:
    r"""Whether there is no `\item`, or the first one stands in a list of the text."""
    plain = plain_of(body)
    first = re.search(r"\\item(?![A-Za-z@])", plain)
    lists = [span for name in ("enumerate", "itemize", "description") for span in environments(body, name)]
    return first is None or any(start < first.start() < end for start, end in lists)


def packages_of(latex: str, libraries: Sequence[str] = ()) -> tuple[str, ...]:
    """The packages that a text uses or that `libraries` name, in loading order. If there are `libraries`, TikZ is one of the packages."""
    plain = plain_of(latex)
    found = [name for name, pattern in _PACKAGES if pattern.search(plain) or name in libraries]
    if set(found) >= _SIUNITX_DEGREE:
        found.remove("gensymb")
    if libraries and "tikz" not in found:
        found.append("tikz")
    return tuple(found)


def sign_declarations() -> str:
    """Declarations of the Unicode signs that 8-bit engines lack, which Unicode engines skip, and of degrees in texts with siunitx."""
    signs = [
        f"\\DeclareUnicodeCharacter{{{code}}}{{\\ensuremath{{{sign}}}}}" for code, sign in _SIGNS.items()
    ]
    signs += [f"\\DeclareUnicodeCharacter{{{code}}}{{\\ensuremath{{^{code[-1]}}}}}" for code in _RAISED]
    signs += [f"\\DeclareUnicodeCharacter{{{code}}}{{\\ensuremath{{_{code[-1]}}}}}" for code in _LOWERED]
    signs.append("\\DeclareUnicodeCharacter{207B}{\\ensuremath{^-}}")
    lines = "".join(f"{sign}\n" for sign in signs)
    return f"\\ifdefined\\DeclareUnicodeCharacter\n{lines}\\fi\n{_DEGREES}"


@dataclass(frozen=True)
class Engine:
    """A TeX engine: its program `name`, and as `version` the first line of its version output."""

    name: str
    path: Path
    version: str
    limits: ProgramLimits

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
    """The first engine that runs; None if there is none. Engines are searched in PATH, or in `path` (same syntax) if it is given."""
    for name in ENGINES:
        found = shutil.which(name, path=path)
        if found is not None and (version := _version(found)):
            processes = 0 if name == "pdflatex" else None  # xelatex starts xdvipdfmx
            return Engine(name, Path(found), version, ProgramLimits(COMPILE_SECONDS, processes=processes))
    return None


def compile_item(
    engine: Engine | None, latex: str, preamble: str = "", libraries: Sequence[str] = ()
) -> Compilation:
    """Compile an item or a picture. Without an engine, or if it lacks a package, the outcome is not_compiled and the message says why."""
    if engine is None:
        return Compilation(Compiled(message=MISSING))
    return compile_document(engine, document_of(latex, preamble, libraries), latex)


def compile_document(engine: Engine, source: str, latex: str = "") -> Compilation:
    """Compile a whole document. `latex` is the part of `source` in which the line of an error is counted, by default the whole source."""
    with _AT_ONCE, tempfile.TemporaryDirectory(prefix="qagen-tex-") as name:
        folder = Path(name)
        (folder / f"{_JOB}.tex").write_bytes(source.encode("utf-8", "replace"))
        command = (str(engine.path), *_FLAGS, f"-jobname={_JOB}", f"{_JOB}.tex")
        ended = run_limited(command, folder, _environment(engine.path, folder), engine.limits)
        made = folder / f"{_JOB}.pdf"
        pdf = made.read_bytes() if made.is_file() and not made.is_symlink() else b""
    if ended.code == 0 and not ended.stopped and pdf.startswith(b"%PDF"):
        return Compilation(Compiled(outcome=CompileOutcome.COMPILED, message=""), pdf)
    return Compilation(_failed(ended, source, latex or source))


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
    message = " ".join(found.group(1).split()) + (f" at: {near}" if near else "")
    line = _line(int(lined.group(1)), source, latex.strip()) if lined else None
    return message if line is None else f"line {line}: {message}"


def _line(line: int, source: str, latex: str) -> int | None:
    """The line of the item for a line of the document; None outside the item."""
    before = source[: source.rindex(latex)].count("\n")
    return line - before if 0 < line - before <= latex.count("\n") + 1 else None


def _environment(engine: Path, folder: Path) -> dict[str, str]:
    """The whole environment of the engine, without the variables of this process. The engine can open only files of `folder` and of TeX."""
    own = dict.fromkeys(("TEXMFHOME", "TEXMFVAR", "TEXMFCONFIG"), str(folder / ".texmf"))
    return {
        "PATH": os.pathsep.join((str(engine.parent), os.defpath)),
        "HOME": str(folder),
        "LC_ALL": "C.UTF-8",
        "TEXMFOUTPUT": str(folder),
        "openin_any": "p",
        "openout_any": "p",
        "shell_escape": "f",
        **dict.fromkeys(("MKTEXPK", "MKTEXTFM", "MKTEXMF", "MKTEXFMT"), "0"),
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
            (found, "--version"),
            folder,
            _environment(engine, folder),
            ProgramLimits(COMPILE_SECONDS, processes=None),
        )
    lines = ended.output.strip().splitlines()
    return lines[0].strip()[:200] if ended.code == 0 and lines else ""
