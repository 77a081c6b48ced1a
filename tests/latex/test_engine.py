"""A TeX engine in its sandbox, played by a script: what it says is passed on, and what it must not do it cannot do."""

from __future__ import annotations

import fcntl
import socket
import sys
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

from qagen_dagster.latex.engine import (
    COMPILE_SECONDS,
    Compilation,
    Engine,
    compile_item,
    document_of,
    find_engine,
    preamble_of,
)
from qagen_dagster.latex.limited_program import ProgramLimits, network_closed
from qagen_dagster.records.problems.result import CompileOutcome

_ITEM = "\\item A ball?\n\\begin{solution}\nIt falls.\n\\end{solution}"
_WRITE = "open('item.pdf', 'wb').write(b'%PDF-1.5 ' + said)"


def _engine(folder: Path, does: str, limits: ProgramLimits | None = None) -> Engine:
    """An engine whose work is the Python code `does`; `source` is the document, `said` ends up in the PDF."""
    script = folder / "pdflatex"
    script.write_text(
        f"#!{sys.executable}\nimport os, sys, socket, time\n"
        "if '--version' in sys.argv:\n    print('pdfTeX of a test'); sys.exit(0)\n"
        f"source = open('item.tex').read()\nsaid = b''\n{dedent(does)}\n"
    )
    script.chmod(0o755)
    found = find_engine(str(folder))
    assert found is not None
    return replace(found, limits=limits or ProgramLimits(COMPILE_SECONDS, processes=None))


def _compile(folder: Path, does: str, latex: str = _ITEM, limits: ProgramLimits | None = None) -> Compilation:
    return compile_item(_engine(folder, does, limits), latex)


def test_an_engine_is_found_by_name_and_says_its_version(tmp_path: Path) -> None:
    engine = _engine(tmp_path, "")
    assert (engine.name, engine.version, engine.identity) == (
        "pdflatex",
        "pdfTeX of a test",
        "pdflatex: pdfTeX of a test",
    )


def test_a_program_that_does_not_answer_is_no_engine(tmp_path: Path) -> None:
    assert find_engine(str(tmp_path)) is None
    script = tmp_path / "pdflatex"
    script.write_text("#!/bin/sh\nexit 3\n")
    script.chmod(0o755)
    assert find_engine(str(tmp_path)) is None


def test_without_an_engine_nothing_is_compiled_and_the_message_says_what_to_install() -> None:
    compiled = compile_item(None, _ITEM).compiled
    assert compiled.outcome is CompileOutcome.NOT_COMPILED
    assert "texlive-latex-extra" in compiled.message


def test_what_compiles_gives_its_pdf(tmp_path: Path) -> None:
    made = _compile(tmp_path, _WRITE)
    assert (made.compiled.outcome, made.compiled.message) == (CompileOutcome.COMPILED, "")
    assert made.pdf == b"%PDF-1.5 "


@pytest.mark.parametrize(
    ("does", "message"),
    [
        (
            "n = source[: source.index('It falls')].count(chr(10)) + 1\n"
            "print(f'./item.tex:{n}: Undefined control sequence.\\nl.{n} It \\\\falls'); sys.exit(1)",
            r"line 3: Undefined control sequence. at: It \falls",
        ),
        (
            "n = source[: source.index('A ball')].count(chr(10)) + 1\n"
            "print(f'\\n! LaTeX Error: File `x.tex\\' not found.\\n\\n./item.tex:{n}: Emergency stop.'); sys.exit(1)",
            "line 1: LaTeX Error: File `x.tex' not found.",
        ),
        ("print('./item.tex:2: Bad preamble.'); sys.exit(1)", "Bad preamble."),
        ("sys.exit(7)", "the TeX engine ended with 7"),
        ("", "no page came out"),
        ("open('item.pdf', 'wb').write(b'not a page')", "no page came out"),
        ("os.symlink('/etc/passwd', 'item.pdf')", "no page came out"),
    ],
)
def test_what_the_engine_says_is_passed_on(tmp_path: Path, does: str, message: str) -> None:
    made = _compile(tmp_path, does)
    assert made.compiled.outcome is CompileOutcome.FAILED
    assert made.compiled.message == message
    assert made.pdf is None


def test_a_package_that_the_engine_lacks_is_no_fault_of_the_item(tmp_path: Path) -> None:
    made = _compile(tmp_path, 'print("! LaTeX Error: File `tasks.sty\' not found."); sys.exit(1)')
    assert made.compiled.outcome is CompileOutcome.NOT_COMPILED
    assert "lacks tasks.sty" in made.compiled.message


def test_an_endless_loop_is_stopped(tmp_path: Path) -> None:
    made = _compile(tmp_path, "while True: pass", limits=ProgramLimits(seconds=1))
    assert made.compiled.outcome is CompileOutcome.FAILED
    assert "stopped" in made.compiled.message


def test_one_that_sleeps_is_stopped_with_what_it_started(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    does = f"""
        import fcntl
        held = open({str(lock)!r}, 'w')
        os.fork()
        fcntl.flock(held, fcntl.LOCK_SH)
        time.sleep(600)
    """
    made = _compile(tmp_path, does, limits=ProgramLimits(seconds=1, processes=None))
    assert "was not done in 2 s" in made.compiled.message
    with lock.open("w") as mine:
        fcntl.flock(mine, fcntl.LOCK_EX)  # waits for whoever still lives


def test_two_gigabytes_are_not_to_be_had(tmp_path: Path) -> None:
    made = _compile(tmp_path, f"said = bytes(bytearray(2_000_000_000)[:1])\n{_WRITE}")
    assert made.compiled.outcome is CompileOutcome.FAILED


def test_neither_one_large_file_nor_many_fill_the_disk(tmp_path: Path) -> None:
    limits = ProgramLimits(COMPILE_SECONDS, file_bytes=1_000_000, folder_bytes=3_000_000, processes=None)
    large = _compile(tmp_path, f"open('large', 'wb').write(bytes(2_000_000))\n{_WRITE}", limits=limits)
    assert large.compiled.outcome is CompileOutcome.FAILED
    many = "for n in range(5): open(f'f{n}', 'wb').write(bytes(900_000))\ntime.sleep(600)"
    assert _compile(tmp_path, many, limits=limits).compiled.message == (
        "the TeX engine was stopped: it wrote more than 3 MB"
    )


def test_the_engine_sees_no_secret_and_no_folder_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret-of-this-process")
    made = _compile(tmp_path, f"said = repr((dict(os.environ), os.getcwd())).encode()\n{_WRITE}")
    told = (made.pdf or b"").decode()
    assert "secret-of-this-process" not in told
    assert "'openin_any': 'p'" in told
    assert "'openout_any': 'p'" in told
    assert "'shell_escape': 'f'" in told
    assert str(Path.cwd()) not in told


def test_there_is_no_network_where_the_system_can_take_it_away(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        does = f"""
            try:
                socket.create_connection(('127.0.0.1', {port}), 5)
                said = b'reached'
            except OSError:
                said = b'refused'
        """
        made = _compile(tmp_path, f"{dedent(does)}\n{_WRITE}")
    assert made.pdf == (b"%PDF-1.5 refused" if network_closed() else b"%PDF-1.5 reached")


def test_a_document_has_the_packages_that_are_used() -> None:
    text = document_of(r"\item $x$ \begin{tasks}\task \SI{5}{N}\end{tasks} % \ce{H2O}")
    assert text.index(r"\documentclass") < text.index(r"\usepackage{tasks}") < text.index(r"\begin{document}")
    assert r"\usepackage{siunitx}" in text
    assert "mhchem" not in text
    assert "\\begin{enumerate}\n\\item $x$" in text


def test_a_given_preamble_keeps_its_word() -> None:
    own = "\\documentclass{exam}\n\\newcommand{\\ans}{!}"
    text = preamble_of(r"\draw", own, ("tikzlibraryarrows", "calc", "circuitikz", "} \\input{x"))
    assert text.startswith(own)
    assert text.count(r"\documentclass") == 1
    assert r"\usepackage{circuitikz}" in text
    assert text.count("decorations.markings,arrows,calc}") == 1
    assert r"\input{x" not in text


def test_a_picture_is_in_no_list_and_neither_is_a_list() -> None:
    assert "enumerate" not in document_of(r"\begin{tikzpicture}\draw (0,0);\end{tikzpicture}")
    assert document_of(r"\begin{enumerate}\item A\end{enumerate}").count(r"\begin{enumerate}") == 1
    assert document_of("a \\item b").count(r"\begin{enumerate}") == 1
