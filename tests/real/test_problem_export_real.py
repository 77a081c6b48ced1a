r"""The TeX project of a bank through a real engine: it compiles, however much its items need. For the packages to install see
`test_latex_real.py`.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from qagen_dagster.formats.base import ParsedText, ParseOptions, Source
from qagen_dagster.formats.registry import parse_file
from qagen_dagster.latex.engine import MISSING, compile_item, find_engine
from qagen_dagster.latex.structure import split_items
from qagen_dagster.publishing.problems.tex_project import tex_project
from qagen_dagster.records.problems.result import BankExport, ProblemRecord
from qagen_dagster.settings import PROJECT_ROOT
from tests.support.problems.attacks import ATTACKS
from tests.support.problems.export import exported, record
from tests.support.problems.play import item

SECRET = "PRIVATE LINE 7193"
pytestmark = [pytest.mark.real, pytest.mark.tex]
MECHANICS = PROJECT_ROOT / "corpora" / "problems" / "mechanics" / "sources" / "mechanics.tex"
HARD = r"""\documentclass{article}
\usepackage[dvipsnames]{xcolor}
\usepackage{amsmath,tasks,tikz}\usetikzlibrary{decorations.pathmorphing}\usepackage{physics}
\newcommand{\unitv}[1]{\,\mathrm{#1}}\newcommand{\half}{\tfrac{1}{2}}
\definecolor{sky1}{rgb}{0.2,0.4,0.9}
\definecolor{sky2}{rgb}{0.9,0.4,0.9}
\tikzset{spring/.style={decorate,decoration={coil}}}
\begin{document}
\begin{enumerate}
\item A ray falls at 30° on \SI{5}{\kilo\gram} of \ce{H2O}, 20\,\degree. Find $\dv{x}{t}$ in \textcolor{sky2}{colour}.
\begin{tikzpicture}[>={Latex}]
\coordinate (A) at (0,0); \coordinate (B) at (2,0); \coordinate (C) at (1,1);
\draw[-{Stealth}] (A) -- ($(B)!0.5!(C)$); \draw pic["$\alpha$",draw] {angle=B--A--C}; \draw[spring] (0,-1) -- (2,-1);
\end{tikzpicture}
\begin{solution}
$x = \half\cdot 4 = \boxed{2\unitv{m}}$
\end{solution}
\item Table: \begin{tabular}{lc}\toprule a & \multirow{2}{*}{b}\\ c & \\ \bottomrule\end{tabular} $\cancel{x}$, $\bm{v}$, 20 \degree. What?
\begin{solution}
$x = 3 = \boxed{3}$ Ω and β ≈ 2²
\end{solution}
\item Circuit \begin{circuitikz}\draw (0,0) to[R=5<\ohm>] (2,0);\end{circuitikz}
\begin{tikzpicture}\begin{axis}\addplot {x^2};\end{axis}\end{tikzpicture} What current flows?
\begin{solution}
$I = 2/5 = \boxed{0.4}$
\end{solution}
\end{enumerate}
\end{document}
"""


def records(text: str) -> list[ProblemRecord]:
    cut = split_items(text)
    return [
        record(one, name=f"p-{number:02d}", preamble=cut.preamble)
        for number, one in enumerate(cut.bare_items, 1)
    ]


def pages(bank: BankExport, folder: Path) -> str:
    """The text of the compiled project."""
    engine = find_engine()
    assert engine is not None, MISSING
    for path, data in tex_project(bank).items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    command = [str(engine.path), "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "main.tex"]
    ended = subprocess.run(command, cwd=folder / "tex", capture_output=True, check=False, timeout=120)
    assert ended.returncode == 0, ended.stdout.decode("utf-8", "replace")[-2000:]
    parsed = parse_file(
        Source("main.pdf", (folder / "tex" / "main.pdf").read_bytes()), ParseOptions(ocr=False)
    )
    return "".join(one.text for one in parsed.entries if isinstance(one, ParsedText))


def test_the_mechanics_set_compiles_with_every_item_in_it(tmp_path: Path) -> None:
    found = records(MECHANICS.read_text(encoding="utf-8"))
    assert len(found) == 11
    shown = pages(exported(*found, title="Mechanics & more_"), tmp_path)
    assert shown.count("Solution.") == 11
    assert "A crate of mass 12" in shown
    assert "Match each quantity with its unit." in shown


def test_what_compiled_alone_compiles_together(tmp_path: Path) -> None:
    hard = records(HARD)
    engine = find_engine()
    alone = [compile_item(engine, one.latex, one.problem.preamble).compiled for one in hard]
    assert [one.message for one in alone] == ["", "", ""]
    hostile = record(item().replace("A cart", r"\makeatletter\@@input /etc/passwd "), name="bad")
    shown = pages(exported(*hard, hostile), tmp_path)
    assert shown.count("Solution.") == 3
    assert "left out: it uses \\makeatletter" in shown


def test_attacks_read_and_write_no_file(tmp_path: Path) -> None:
    (tmp_path / "secret.tex").write_text(f"{SECRET}\n")
    attacks = [one.replace("FILE", str(tmp_path / "secret.tex")) for one in ATTACKS]
    bank = [record(item().replace("A cart", one), name=f"bad-{n:02d}") for n, one in enumerate(attacks)]
    shown = pages(exported(*bank, record(item(), name="good")), tmp_path)
    assert shown.count("left out: it uses") == len(ATTACKS)
    assert shown.count("Solution.") == 1
    assert SECRET not in " ".join(shown.split())
    made = {path.relative_to(tmp_path / "tex").as_posix() for path in (tmp_path / "tex").rglob("*.*")}
    assert made == {"items/good.tex", "main.tex", "preamble.tex", "main.aux", "main.log", "main.pdf"}


def test_an_attack_in_a_preamble_reads_no_file(tmp_path: Path) -> None:
    (tmp_path / "secret.tex").write_text(f"{SECRET}\n")
    preamble = f"\\documentclass{{article}}\n\\newenvironment{{trick}}{{\\begin{{input}}{{{tmp_path}/secret.tex}}}}{{}}\n"
    bad = record(item().replace("A cart", r"\begin{trick}\end{trick}"), name="bad", preamble=preamble)
    shown = pages(exported(bad, record(item(), name="good")), tmp_path)
    assert "left out: it uses" in shown
    assert SECRET not in " ".join(shown.split())
