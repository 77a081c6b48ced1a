"""Banks of exam items over the command: the embedded models, and models on a server while the command is killed."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from qagen_dagster.records.exams.bank import BankStats, ExamItem, SlotResult
from qagen_dagster.settings import PROJECT_ROOT
from tests.support.exams.mini import YAML, write_exam
from tests.support.exams.play import PASS, idea, solved, styled
from tests.support.once import once
from tests.support.patience import Patience
from tests.support.project import Ended, Project, ended
from tests.support.wire_reader import Asked
from tests.support.wire_server import Call, Reply, Step, WireServer

RUN = (
    "exam",
    "run",
    "--exam",
    "esat",
    "--schema",
    "M1",
    "--schema",
    "P2",
    "--items",
    "4",
    "--profile",
    "embedded",
    "--json",
)
REMOTE = ("exam", "run", "--profile", "remote", "--json")
WORKERS = 3  # of `Project.environment`: so many calls may be in flight when a process dies
PROFILE = """\
roles:
  generator: {{provider: openai_compatible, model: writer, base_url: "{url}"}}
  validator: {{provider: openai_compatible, model: solver, base_url: "{url}"}}
  deduplicator: {{provider: openai_compatible, model: twin, base_url: "{url}"}}
  designer: {{provider: openai_compatible, model: designer, base_url: "{url}"}}
  implementer: {{provider: openai_compatible, model: writer, base_url: "{url}"}}
  verifier: {{provider: openai_compatible, model: solver, base_url: "{url}"}}
  style_judge: {{provider: openai_compatible, model: critic, base_url: "{url}"}}
"""


@pytest.fixture(scope="module")
def esat(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project after one run of four items of the shipped exam. Tests must leave its store as it is."""
    return Project(once(tmp_path_factory, "esat", _run_esat))


def _run_esat(folder: Path) -> None:
    folder.mkdir()
    project = Project.make(folder)
    shutil.copytree(PROJECT_ROOT / "corpora" / "exams" / "esat", project.corpora / "exams" / "esat")
    (folder / "first_run.json").write_text(json.dumps(vars(project.qagen(*RUN))))


def items_of(project: Project, exam: str) -> list[ExamItem]:
    text = (project.assets / "exams" / exam / "accepted.jsonl").read_text()
    return [ExamItem.model_validate_json(line) for line in text.splitlines()]


def test_four_items_without_a_key(esat: Project) -> None:
    first = Ended(**json.loads((esat.root / "first_run.json").read_text()))
    assert first.code == 0, first.err
    items = items_of(esat, "esat")
    assert 1 <= len(items) <= 4
    assert {item.schema_id for item in items} <= {"M1", "P2"}
    assert all(re.fullmatch(r"(M1|P2)-(easy|medium|hard)-[0-9a-f]{16}", item.id) for item in items)
    assert all(name.startswith("embedded:") for item in items for name in item.models.values())
    stats = BankStats.model_validate_json((esat.assets / "exams/esat/stats.json").read_bytes())
    assert (stats.accepted + stats.rejected, stats.accepted) == (4, len(items))
    assert first.value["exams"][0]["stats"]["accepted"] == len(items)
    logs = (esat.assets / "exams/esat/logs.jsonl").read_text().splitlines()
    stages = {json.loads(line)["stage"] for line in logs}
    assert stages == {"designer", "implementer", "gates", "blind_solution", "verifier", "style_judge"}
    with esat.instance() as instance:
        assert {run.status.value for run in instance.get_runs()} == {"SUCCESS"}


def test_a_second_run_changes_nothing(esat: Project) -> None:
    before = esat.stored()
    with esat.instance() as instance:
        runs = instance.get_runs_count()
    again = esat.qagen(*RUN)
    assert again.code == 0
    assert esat.stored() == before
    with esat.instance() as instance:
        assert instance.get_runs_count() == runs


def test_status_and_export(esat: Project, tmp_path: Path) -> None:
    told = esat.qagen("exam", "status", "--exam", "esat", "--json").value
    (exam,) = told["exams"]
    assert exam["stats"]["accepted"] == len(items_of(esat, "esat"))
    assert sum(part["slots"] for part in exam["parts"]) == 4
    table = esat.qagen("exam", "status")
    assert "M1 Hidden Proportionality" in table.out
    counts = Counter(item.key_by for item in items_of(esat, "esat"))
    shown = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
    assert (
        f"keys of {len(items_of(esat, 'esat'))} accepted items, by what showed that they are right: {shown}"
        in table.out
    )
    out = tmp_path / "bank"
    exported = esat.qagen("exam", "export", "--exam", "esat", "--output", str(out), "--json")
    assert exported.code == 0, exported.err
    assert set(exported.value["files"]) == {
        "qti",
        "qti3",
        "canvas",
        "moodle",
        "gift",
        "inspect",
        "latex",
        "html",
    }
    for path in out.iterdir():
        assert path.read_bytes() == (esat.assets / "exams/esat/exports" / path.name).read_bytes()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "--exam", "nope"), "there is no exam 'nope'"),
        (("run", "--exam", "esat", "--schema", "X"), "no schema begins with 'X'"),
        (("run", "--exam", "esat", "--w-easy", "nan"), "a number of at least 0"),
        (("run", "--exam", "esat", "--model-verifier", "exam-implementer"), "verifier"),
        (("export", "--exam", "esat", "--format", "docx", "--output", "x"), "docx"),
    ],
)
def test_bad_wishes_are_told_before_any_work(esat: Project, words: Sequence[str], said: str) -> None:
    found = esat.qagen("exam", *words, QAGEN_PROFILE="embedded")
    assert found.code == 2
    assert len(found.errors) == 1, found.err
    assert said in found.errors[0]


def test_what_is_wrong_with_an_exam_is_told(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project")
    folder = write_exam(project.corpora, yaml=f"{YAML}schema_prefixes: [M]\n")
    with (folder / "schemas.md").open("a") as schemas:
        schemas.write("\n## M9. Broken\n")
    status = project.qagen("exam", "status")
    assert status.code == 0
    assert "qagen: warning:" in status.err
    assert "M9" in status.err
    left_out = project.qagen("exam", "run", "--schema", "P", QAGEN_PROFILE="embedded")
    assert left_out.code == 2, "the exam has P2, but allows only M"
    assert "no schema begins with 'P' (schemas: M1)" in left_out.errors[0]


def test_an_exam_without_items_cannot_be_exported(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project")
    write_exam(project.corpora)
    found = project.qagen("exam", "export", "--output", str(tmp_path / "out"))
    assert found.code == 1
    assert "qagen exam run --exam mini" in found.err
    assert not (tmp_path / "out").exists()


class Board(Patience):
    """Plays all four roles on the wire."""

    def play(self, asked: Asked) -> Step:
        (tool,) = [name for name in asked.tools if name.startswith("submit_")]
        return Reply(calls=(Call(tool, self.arguments(tool, asked)),))

    def arguments(self, tool: str, asked: Asked) -> dict[str, Any]:
        """A function of the request alone, so that a rerun is told what was told before."""
        seed = hashlib.sha256(asked.user.encode()).digest()
        match tool:
            case "submit_idea":
                letters = "".join(chr(97 + byte % 26) for byte in seed[:8])
                schema = re.search(r"Schema: (\w+)", asked.user)
                return idea(
                    schema_id=schema[1] if schema else "M1", idea_summary=f"See the ratio, as in {letters}."
                )
            case "submit_question":
                return question(3 + seed[0] % 40, 2 + seed[1] % 40)
            case "submit_solution":
                return solved("B")
            case "submit_verdict":
                return PASS
            case _:
                return styled()


def question(first: int, second: int) -> dict[str, Any]:
    """Arguments of submit_question: how often one goes into a product; the key is B."""
    value = first * second
    return {
        "question": {
            "stem": f"A box holds ${first}$ bags of ${second}$ nuts each. How many nuts are in the box?",
            "options": {
                "A": f"${first + second}$",
                "B": f"${value}$",
                "C": f"${value + first}$",
                "D": f"${2 * value}$",
            },
            "correct_option": "B",
        },
        "solution": {
            "reasoning": f"SECRETSOLUTION ${first} \\times {second} = {value}$",
            "key_insight": "A product.",
        },
        "distractor_map": {
            "A": "adds the two numbers although each bag has its own nuts",
            "C": "counts one bag more than there are in the box",
            "D": "counts the nuts of every bag two times over",
        },
        "check": {"givens": {"a": str(first), "b": str(second)}, "expression": "a*b"},
    }


@pytest.mark.long  # `tests/loop/exams/test_run_item.py` kills at every step
def test_killed_and_run_again_it_pays_nothing_twice(tmp_path: Path) -> None:
    board = Board()
    with WireServer(board) as server:
        project = Project.make(tmp_path / "project")
        write_exam(project.corpora)
        project.profile("remote", PROFILE.format(url=server.url("openai_compatible")))
        whole = project.qagen(*REMOTE)
        assert whole.code == 0, whole.err
        calls, board.received = len(board.received), []
        assert calls == 4 * 5
        killed = project.another(2)
        board.allow(9)
        kill_when_silent(killed, board)
        finished = stored_results(killed)
        board.allow(None)
        last = killed.qagen(*REMOTE)
        total = len(board.received)
        assert last.code == 0, last.err
    assert calls <= total <= calls + WORKERS
    assert {path: kept for path, kept in stored_results(killed).items() if path in finished} == finished
    assert [item.id for item in items_of(killed, "mini")] == [item.id for item in items_of(project, "mini")]
    assert len(items_of(project, "mini")) == 4
    assert_blind(board.received)


def kill_when_silent(project: Project, board: Board) -> None:
    process = project.start(*REMOTE)
    while not board.silent.is_set():
        assert process.poll() is None, ended(process).err
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    assert ended(process).code == -signal.SIGKILL


def stored_results(project: Project) -> dict[str, tuple[bytes, int]]:
    found = project.stored("exams/mini/results")
    for data, _ in found.values():
        SlotResult.model_validate_json(data)
    return found


def assert_blind(received: list[Asked]) -> None:
    """The verifier solves without key and solution. When it judges, it sees the steps of the solution, and no key."""
    shown = [one for one in received if {"submit_solution", "submit_verdict"} & set(one.tools)]
    assert {one.model for one in shown} == {"solver"}
    for one in shown:
        assert ("SECRETSOLUTION" in one.whole) is ("submit_verdict" in one.tools)
        assert "correct_option" not in one.whole
