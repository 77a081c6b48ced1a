"""A real engine behind the command: `make test-local-model`. It takes ten minutes on a small machine.

The model is too small for the work. So what counts is that every outcome is named, that nothing is final which another server would
do better, that little is paid, and that `doctor` says beforehand what will not work.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from qagen_dagster.settings import PROJECT_ROOT
from tests.support import llama_server, waterworks
from tests.support.project import Ended, Project
from tests.support.wire_reader import read
from tests.support.wire_server import Seen, Step, WireServer

pytestmark = pytest.mark.local_model
PYTHON = PROJECT_ROOT / ".venv-local-model" / "bin" / "python"
KEY = "water/facts/textual"
SMALL = "max_output_tokens: 64, max_attempts: 1, timeout_seconds: 600, deadline_seconds: 600, images: false, concurrency: 1"
REPLIES = ("no_tool_call: ", "faulty_calls: ", "malformed: ", "context_overflow: ", "output_limit: ")
MOST = 30  # calls for a document of a few lines


@dataclass(frozen=True)
class Site:
    """A project whose roles are all played by the small model; `engine` is the server's process."""

    project: Project
    port: int
    engine: subprocess.Popen[str]

    def qagen(self, *words: str) -> Ended:
        ended = self.project.qagen(*words, "--profile", "small")
        assert "Traceback" not in ended.out + ended.err
        return ended

    def entries(self) -> int:
        """The stored replies, each of which was asked for."""
        return len(self.project.stored("ledger"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Generator[Site]:
    assert PYTHON.exists(), "make test-local-model installs the server and the model"
    project = Project.make(tmp_path_factory.mktemp("small") / "project")
    project.corpus("water", waterworks.corpus(1), {"ridge.txt": waterworks.notes("ridge", ("intake",))})
    command = [str(PYTHON), llama_server.__file__, "4096"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as engine:
        assert engine.stdout is not None
        address = engine.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        roles = "".join(
            f'  {role}: {{provider: openai_compatible, model: {name}, base_url: "{address}/v1", {SMALL}}}\n'
            for role, name in {
                "generator": "small",
                "validator": "small-2",
                "deduplicator": "small",
                "judge": "small-2",
                "answerer": "small",
            }.items()
        )
        project.profile("small", f"description: a model that is too small\nroles:\n{roles}")
        yield Site(project, int(address.rpartition(":")[2]), engine)
        engine.kill()


def test_doctor_says_what_will_not_work(site: Site) -> None:
    ended = site.qagen("doctor")
    lines = [line for line in ended.out.splitlines() if "openai_compatible:small: " in line]
    assert ended.code == 1
    assert any(": server: http://127.0.0.1:" in line for line in lines), ended
    (tools,) = [line for line in lines if ": tools: " in line]
    assert tools.startswith("FAIL")
    assert "set tool_calling: emulated" in tools
    assert any(": long prompt: " in line for line in lines)


def test_a_question_set_is_unfinished(site: Site) -> None:
    for _ in range(2):
        before = site.entries()
        ended = site.qagen("run")
        assert ended.code == 1
        (line,) = [line for line in ended.errors if "ridge.txt: " in line]
        assert line.startswith(f"qagen: error: {KEY}: ridge.txt: model_error: ")
        assert any(reply in line for reply in REPLIES)
        assert before < site.entries() <= before + MOST, "asked again, and little is paid"
    assert '"unfinished"' in site.project.qagen("status", "--json").out


def test_a_grading_without_a_verdict_is_a_failure(site: Site, tmp_path: Path) -> None:
    documents, answers = site.project.corpora / "water" / "documents", tmp_path / "answers.jsonl"
    given = {"question": "At what pressure does the intake valve open?", "answer": "At 99 bar."}
    answers.write_text(json.dumps({"document": "ridge.txt", **given}))
    ended = site.qagen(
        "grade", "--answers", str(answers), "--documents", str(documents), "--method", "llm", "--json"
    )
    (graded,) = [answer for one in ended.value["documents"] for answer in one["answers"]]
    verdict: dict[str, Any] = graded["grading"]
    if verdict["is_grounded"] is None:
        assert ended.code == 1
        assert verdict["judge_failure"].startswith(REPLIES)
        assert "the judge left out 1 answers: " in ended.err
    else:
        assert (ended.code, verdict["judge_failure"]) == (0, "")


def test_an_answer_is_one_or_an_error(site: Site) -> None:
    document = site.project.corpora / "water" / "documents" / "ridge.txt"
    ended = site.qagen(
        "answer", str(document), "At what pressure does the intake valve of the ridge station open?", "--json"
    )
    found = ended.value
    if found["success"]:
        assert (ended.code, bool(found["answer"])) == (0, True)
    else:
        assert (ended.code, found["error"]) == (1, "llm_error")
        assert any(reply in ended.err for reply in REPLIES)


def test_another_server_at_the_same_address_finishes_the_set(site: Site) -> None:
    def healthy(seen: Seen, _number: int) -> Step:
        return waterworks.play(read(seen))

    site.engine.kill()
    site.engine.wait()
    with WireServer(healthy, port=site.port):
        ended = site.qagen("run", "--json")
    assert (ended.code, ended.value["failures"]) == (0, [])
    assert [one["accepted"] for one in ended.value["combinations"]] == [1]
