from __future__ import annotations

from pathlib import Path

import pytest

from qagen_dagster import __version__
from qagen_dagster.cli.main import COMMANDS, GROUPS, main
from qagen_dagster.errors import ConfigError
from tests.cli.conftest import Command
from tests.support import waterworks


@pytest.mark.parametrize(
    ("words", "environ", "code", "told"),
    [
        (["frobnicate"], {}, 2, "No such command 'frobnicate'"),
        (["run", "--depth", "3"], {}, 2, "No such option '--depth'"),
        (["run", "--target-count", "0"], {}, 2, "'--target-count': 0 is not in the range 1<=x<=1000"),
        (["run", "--max-usd", "nan"], {}, 2, "'--max-usd': nan is not an amount of money"),
        (["run", "--max-usd", "inf"], {}, 2, "'--max-usd': inf is not an amount of money"),
        (["show"], {}, 2, "Missing argument 'QUESTION_ID'"),
        (["status"], {"QAGEN_PARSER_WORKERS": "many"}, 2, "QAGEN_PARSER_WORKERS='many' is not a positive"),
        (["status"], {"QAGEN_DOCUMENT_WORKERS": "0"}, 2, "QAGEN_DOCUMENT_WORKERS='0' is not a positive"),
        (["status"], {}, 1, "there is no catalog at"),
        (["--corpora", "/nonexistent", "run"], {}, 2, "/nonexistent: is not a folder"),
        (
            ["--assets", "/dev/null/below", "run"],
            {},
            1,
            "the store /dev/null/below cannot be written: /dev/null is not a folder",
        ),
        (["--assets", "nosuch://place", "status"], {}, 1, "Protocol not known: nosuch"),
        (["--assets", "a::b", "run"], {}, 2, "the root of the store must not contain '::': a::b"),
        (
            ["status"],
            {"QAGEN_ASSETS": "memory://a?b"},
            2,
            "the root of the store must not contain '?': memory://a?b",
        ),
        (["--profile", "../other", "run"], {}, 2, "'../other' is not a name"),
        (["corpora", "check", "absent"], {}, 2, "there is no corpus 'absent'"),
        (["run"], {"DAGSTER_HOME": "/nonexistent"}, 2, "/nonexistent: is not a folder (DAGSTER_HOME)"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    qagen: Command,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    environ: dict[str, str],
    code: int,
    told: str,
) -> None:
    qagen.project.corpus("water", waterworks.corpus(), {"a.txt": b"The pump is old."})
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    ended = qagen(*words)
    assert ended.code == code
    (line,) = ended.errors
    assert line.startswith("qagen: error: ")
    assert told in line


def test_help_and_version_are_no_errors(qagen: Command) -> None:
    assert qagen("--version").out == f"qagen, version {__version__}\n"
    for words in (["--help"], ["run", "-h"], ["corpora", "check", "--help"]):
        ended = qagen(*words)
        assert (ended.code, ended.err) == (0, "")
        assert "Usage: qagen" in ended.out
    bare = qagen()
    assert bare.code == 2
    assert bare.errors[0] == "Usage: qagen [OPTIONS] COMMAND [ARGS]..."
    assert len(bare.errors) > 10


def test_help_groups_every_command_once_and_shows_examples(qagen: Command) -> None:
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(COMMANDS)
    shown = qagen("--help").out
    assert [title for title in GROUPS if f"\n{title}:\n" in shown] == list(GROUPS)
    examples = [line.split() for line in shown.partition("Examples:")[2].splitlines() if line]
    assert len(examples) > 5
    assert all(words[0] == "qagen" and words[1] in COMMANDS for words in examples)


def test_debug_lets_the_failure_through(qagen: Command) -> None:
    with pytest.raises(ConfigError):
        main(["--debug", "--corpora", "/nonexistent", "run"])
    assert qagen("--corpora", "/nonexistent", "run").code == 2


def test_options_win_over_the_environment(qagen: Command, tmp_path: Path) -> None:
    other = type(qagen.project).make(tmp_path / "other")
    other.corpus("rail", waterworks.corpus(), {})
    other.profile("odd", "roles: {}")
    checked = qagen("--corpora", str(other.corpora), "corpora", "check")
    assert (checked.code, checked.out) == (0, "rail: valid; files: 0; scenarios: facts\n")
    assert qagen("corpora", "check").out == ""
    doctor = qagen(
        "--assets", str(other.assets), "--profiles", str(other.profiles), "--profile", "odd", "doctor"
    )
    assert f"ok   store: {other.assets}" in doctor.out
    assert f"FAIL profile odd: {other.profiles}/odd.yaml:1: " in doctor.out
