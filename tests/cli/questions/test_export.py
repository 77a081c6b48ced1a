from __future__ import annotations

import json
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.support import waterworks
from tests.support.hub_server import HubServer

KEY = "water/facts/textual"


def test_published_sets_are_exported_and_a_stale_one_does_not_stop_the_others(
    qagen: Command, tmp_path: Path
) -> None:
    project = qagen.project
    for corpus in ("rail", "water"):
        project.corpus(corpus, waterworks.corpus(2), {"ridge.txt": waterworks.notes("ridge")})
    output = tmp_path / "out"
    early = qagen("export", "--output", str(output))
    assert (early.code, early.errors) == (
        1, ["qagen: error: no matching set is published: `qagen run` makes it"],
    )  # fmt: skip
    assert qagen("run", "--json").code == 0
    before = project.stored()
    told = qagen("export", "--corpus", "water", "--output", str(output), "--json")
    assert (told.code, told.err, project.stored()) == (0, "", before)
    rows = {one["format"]: one for one in told.value["exports"]}
    assert len(rows) == 14
    ids = [one["id"] for one in project.published(KEY)["questions"]]
    assert {one["questions"] + len(one["left_out"]) for one in rows.values()} == {len(ids)}
    files = [Path(path) for one in rows.values() for path in one["files"]]
    assert sorted(files) == sorted(path for path in output.rglob("*") if path.is_file())
    samples = (output / KEY / "inspect" / "samples.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in samples] == ids
    (project.assets / "documents" / "rail" / "ridge.txt" / "text.txt").write_text("Another text.")
    shown = qagen("export", "--format", "csv", "--format", "squad", "--output", str(tmp_path / "two"))
    assert (shown.code, len(shown.errors)) == (1, 1)
    assert "rail/facts/textual is not exported: the evidence of q-" in shown.err
    assert [line.split(":")[0] for line in shown.out.splitlines()] == ["squad", "csv"]
    assert {path.name for path in (tmp_path / "two" / KEY).iterdir()} == {"csv", "squad"}


def test_wrong_names_are_one_line(qagen: Command, tmp_path: Path) -> None:
    qagen.project.corpus("water", waterworks.corpus(2), {"ridge.txt": waterworks.notes("ridge")})
    (tmp_path / "file").write_text("")
    for words, named in (
        (("--format", "raga", "--output", "out"), "raga"),
        (("--corpus", "wine", "--output", "out"), "wine"),
        (("--output", str(tmp_path / "file" / "out")), "file"),
        ((), "--output"),
        (("--push", "http://127.0.0.1:1"), "--format"),
        (("--push", "a/b", "--format", "csv"), "mlflow or huggingface"),
    ):
        ended = qagen("export", *words)
        assert (ended.code, len(ended.errors)) == (2, 1), words
        assert named in ended.err


@pytest.fixture
def mlflow(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """A stand-in for the package. `make test-exports` pushes to a server of MLflow."""
    monkeypatch.syspath_prepend(str(Path(waterworks.__file__).parent / "mlflow_stand_in"))
    yield
    for name in ("mlflow", "mlflow.genai", "mlflow.genai.datasets"):
        sys.modules.pop(name, None)


def test_a_repository_gets_the_files_once(
    ran: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with HubServer() as hub:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub.url)
        words = ("export", "--format", "huggingface", "--push", "ida/water", "--json")
        first, again = ran(*words), ran(*words)
        assert (first.code, first.err, again.code) == (0, "", 0)
        assert [one.value["exports"][0]["changed"] for one in (first, again)] == [True, False]
        assert ran(*words[:-1]).out == "huggingface: 2 questions: ida/water, up to date\n"
        assert (len(hub.commits), hub.private) == (1, True)
        ran("export", "--format", "huggingface", "--output", str(tmp_path))
        folder = tmp_path / KEY / "huggingface"
        kept = {
            str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()
        }
        assert hub.files == kept
        assert set(kept) == {"README.md", "croissant.json", "data/test-00000-of-00001.parquet"}


def test_a_dataset_of_mlflow_has_the_questions_of_the_set(ran: Command, mlflow: None, tmp_path: Path) -> None:
    words = ("export", "--format", "mlflow", "--push", f"sqlite:///{tmp_path}/db", "--json")
    first = ran(*words)
    assert (first.code, first.err, first.value["exports"][0]["changed"]) == (0, "", True)
    store = sys.modules["mlflow.genai.datasets"]
    (dataset,) = store.KNOWN
    questions = ran.project.published(KEY)["questions"]
    assert dataset.name == KEY
    assert {one["inputs"]["question_id"]: one["tags"]["answer"] for one in dataset.rows} == {
        one["id"]: one["answer"] for one in questions
    }
    calls = dataset.calls
    assert ran(*words).value["exports"][0]["changed"] is False
    assert dataset.calls == calls
    dataset.rows[0]["expectations"] = {"expected_response": "changed by hand"}
    dataset.rows.append(
        {"inputs": {"question": "added by hand"}, "expectations": {}, "tags": {}, "dataset_record_id": "x"}
    )
    gone = dict(
        dataset.rows[1],
        inputs={"question": "of an older version", "question_id": "q-gone"},
        dataset_record_id="y",
    )
    dataset.rows.append(gone)
    assert ran(*words).value["exports"][0]["changed"] is True
    assert sorted(one["inputs"]["question"] for one in dataset.rows) == sorted(
        ["added by hand", *(one["question"] for one in questions)]
    )
    assert ran(*words).value["exports"][0]["changed"] is False


def test_without_its_package_the_extra_is_named(ran: Command) -> None:
    missing = ran("export", "--format", "mlflow", "--push", "http://127.0.0.1:1")
    assert (missing.code, missing.errors) == (
        2, ["qagen: error: --push to mlflow needs mlflow: pip install 'qagen-dagster[mlflow]'"],
    )  # fmt: skip


def test_without_server_or_network_there_is_one_line(
    ran: Command, mlflow: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:1")
    for form, destination in (
        ("mlflow", "http://127.0.0.1:1"),
        ("huggingface", "ida/water"),
        ("huggingface", "a b"),
    ):
        ended = ran("export", "--format", form, "--push", destination)
        assert (ended.code, len(ended.errors), ended.out) == (1, 1, ""), form
        assert f"{KEY} is not pushed to {destination}: " in ended.err
