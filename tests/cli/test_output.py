"""Values with control characters and markup in the terminal."""

from __future__ import annotations

import ast
import io
from typing import Any

import pytest
from rich.markup import escape
from rich.table import Table

from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.graph import Progress
from qagen_dagster.cli.output import Terminal, fail, print_json, slashed, warn
from tests.support.source_tree import dotted, package

HOSTILE = "\x1b]0;owned\x07 \x9b2J \u202etxt.exe [link=http://evil.example]click[/link]"
RAW = ("\x1b", "\x07", "\x9b", "\u202e")


def shown(**options: Any) -> tuple[Terminal, io.StringIO]:
    stream = io.StringIO()
    return Terminal(file=stream, width=200, **options), stream


def test_lines_and_json_show_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    echo(HOSTILE)
    print_json({"answer": HOSTILE})
    warn([HOSTILE])
    assert fail([HOSTILE]) == 1
    for text in capsys.readouterr():
        assert "\\u001b]0;owned\\u0007 \\u009b2J \\u202etxt.exe" in text
        assert not any(one in text for one in RAW)


def test_a_terminal_shows_them_in_text_and_tables_and_keeps_its_own_styles() -> None:
    terminal, stream = shown(force_terminal=True, color_system="standard")
    table = Table()
    table.add_column("answer")
    table.add_row(escape(HOSTILE))
    terminal.print(table)
    terminal.print(f"[bold]{escape(HOSTILE)}[/bold]", highlight=False)
    text = stream.getvalue()
    assert "\x1b[1m" in text
    assert "\x1b]" not in text
    assert not any(one in text for one in RAW[1:])
    assert "[link=http://evil.example]click[/link]" in text


def test_progress_reads_no_markup() -> None:
    terminal, stream = shown()
    with Progress(terminal, quiet=False) as progress:
        progress.step(HOSTILE)
        progress.note(HOSTILE)
    assert stream.getvalue().count("[link=http://evil.example]click[/link]") == 2


def test_commands_print_in_one_place() -> None:
    printers = {"click.echo", "click.secho", "print", "Console"}
    assert [
        f"{source.name}:{node.lineno}"
        for source in package()
        if source.inside.startswith("cli/") and source.inside not in ("cli/output.py", "cli/echo.py")
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and dotted(node.func) in printers
    ] == []


@pytest.mark.parametrize(
    ("columns", "expected"), [("", "water/facts/textual"), ("80", "water/\nfacts/\ntextual")]
)
def test_keys_stay_whole_in_a_file_or_a_pipe(
    monkeypatch: pytest.MonkeyPatch, columns: str, expected: str
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns:
        monkeypatch.setenv("COLUMNS", columns)
    assert slashed("water/facts/textual") == expected
