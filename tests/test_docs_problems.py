"""docs/problems.md against the code: every example runs, keys, kinds, properties, files and exports are those of the code."""

from __future__ import annotations

import re
import shlex
from collections.abc import Generator, Sequence
from pathlib import Path

import pytest

from qagen_dagster.cli.main import load_command, main
from qagen_dagster.definitions import defs
from qagen_dagster.defs.problems.assets import STAGES
from qagen_dagster.loop.problems.bank import FILES, export_files
from qagen_dagster.publishing.problems.formats import PROBLEM_EXPORTERS
from qagen_dagster.records.problems.config import ProblemSetConfig
from qagen_dagster.records.problems.result import BankExport, PipelineResult
from qagen_dagster.records.problems.submissions import VariantKind
from qagen_dagster.settings import PROJECT_ROOT
from tests.support import markdown
from tests.support.graph import DAGSTER_WARNINGS
from tests.support.problems.board import PROFILE, ProblemBoard
from tests.support.problems.files import picture, tex, write_set
from tests.support.problems.play import item, mcq
from tests.support.project import Project
from tests.support.wire_server import WireServer

pytestmark = list(DAGSTER_WARNINGS)
PROBLEMS = (PROJECT_ROOT / "docs" / "problems.md").read_text(encoding="utf-8")
COMMANDS = ("classify", "scan", "tikz", "idea", "alternate", "variant", "convert", "process")
REFERENCE = "\\section{Arrows}\nDraw an arrow with \\texttt{->}: \\draw[->] (0,0) -- (1,0);\n"


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """The files that the examples speak of, in the folder they are run in."""
    project = Project.make(tmp_path / "project")
    write_set(project.corpora, "mechanics", more="variants: [numerical]\n")
    folder = tmp_path / "shelf"
    for name in ("images/problem_1.png", "images/q1.png", "images/problems.png", "diagram.png"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(picture(number=len(name)))
    texts = {"problem": item(), "subjective": item(3, 4), "mcq": mcq(), "problems": tex(6)}
    texts |= {f"p{number}": item(number + 3, 9) for number in (1, 2, 3)}
    for name, text in texts.items():
        (folder / f"{name}.tex").write_text(text)
    for name in ("tikz", "pgf"):
        (folder / "refs" / name).mkdir(parents=True)
        (folder / "refs" / name / "manual.tex").write_text(REFERENCE)
    with WireServer(ProblemBoard()) as server:
        project.profile("remote", PROFILE.format(url=server.url("openai_compatible")))
        for name, value in project.environment(QAGEN_PROFILE="remote").items():
            if name.startswith(("QAGEN_", "DAGSTER_", "COLUMNS")):
                monkeypatch.setenv(name, value)
        monkeypatch.setenv("PATH", "")  # no TeX engine, wherever this runs
        monkeypatch.chdir(folder)
        yield folder


def test_every_example_runs_and_writes_what_it_names(shelf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    examples = [line for line in markdown.commands(PROBLEMS) if " -" in line]
    assert {line.split()[1] for line in examples} == set(COMMANDS)
    run(examples, shelf, capsys)


def test_every_example_of_the_help_runs(shelf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    helps = {name: load_command(name).help or "" for name in COMMANDS}
    examples = {
        name: [line.strip() for line in text.splitlines() if line.strip().startswith("qagen ")]
        for name, text in helps.items()
    }
    assert all(examples.values())
    on_the_page = markdown.commands(PROBLEMS)  # another test runs those
    for name, lines in examples.items():
        assert {line.split()[1] for line in lines} == {name}
        run([line for line in lines if line not in on_the_page], shelf, capsys)


def run(examples: Sequence[str], shelf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each ends well, and writes the file it names or prints."""
    for line in examples:
        words = shlex.split(line)[1:]
        output = shelf / words[words.index("-o") + 1] if "-o" in words else None
        before = output.stat().st_mtime_ns if output is not None and output.is_file() else 0
        with pytest.raises(SystemExit) as ended:
            main(words)
        said = capsys.readouterr()
        assert ended.value.code == 0, f"{line}\n{said.err}"
        assert output is None or output.is_dir() or output.stat().st_mtime_ns > before, line
        assert output is not None or said.out.strip(), line


def test_keys_kinds_and_properties_are_documented() -> None:
    rows = {row[0].strip("`"): row for row in markdown.table(PROBLEMS, "| key ")}
    assert list(rows) == list(ProblemSetConfig.model_fields)
    for name in ("alternates", "variants_each", "seed"):
        assert rows[name][2] == str(ProblemSetConfig.model_fields[name].default)
    kinds = [row[0].strip("`") for row in markdown.table(PROBLEMS, "| `--type` ")]
    assert kinds == [one.value for one in VariantKind]
    assert [row[0] for row in markdown.table(PROBLEMS, "| property ")] == [str(n) for n in range(1, 17)]


def test_assets_files_and_exports_are_documented() -> None:
    place = 0
    for name in ("problem_sources", *STAGES, "problem_bank"):
        place = PROBLEMS.index(f"`{name}`", place)
    assert "The job `problem_set`" in PROBLEMS
    assert defs().resolve_job_def("problem_set")
    assert re.findall(r"^- `([a-z.]+)`:", PROBLEMS, re.MULTILINE) == list(FILES)
    results = next(line for line in PROBLEMS.splitlines() if line.startswith("- `results.jsonl`"))
    assert set(re.findall(r"`(\w+)`", results)) == set(PipelineResult.model_fields)
    rows = {row[0].strip("`"): row[1].strip("`") for row in markdown.table(PROBLEMS, "| export ")}
    assert list(rows) == [one.name for one in PROBLEM_EXPORTERS]
    assert set(rows.values()) <= set(export_files(BankExport(name="x", title="x")))
