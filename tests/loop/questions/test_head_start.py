from __future__ import annotations

import threading
from pathlib import Path

import pytest

from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.questions.head_start import Work
from qagen_dagster.loop.questions.plan import RunOptions, plan
from qagen_dagster.loop.unfinished import DOCUMENTS, is_unfinished
from qagen_dagster.records.document import CorpusIndex, VisualManifest
from qagen_dagster.records.ids import Combination, Mode
from tests.loop.conftest import COMBINATION, PlayedWorkspace
from tests.loop.questions.test_combination_run import PIECE
from tests.support.play import Play
from tests.support.shards import run_shard

UNKNOWN = Combination(corpus="probes", scenario="nothing", mode=Mode.TEXTUAL)
CORPUS = COMBINATION.corpus


def quiet(done: int, total: int, name: str) -> None: ...


@pytest.fixture
def folder(workspace: PlayedWorkspace) -> Path:
    """The documents of the corpus: one file."""
    folder = workspace.settings.corpora / CORPUS / "documents"
    (folder / "a.txt").write_text("one")
    return folder


def test_the_run_waits_for_the_documents_that_were_begun(workspace: PlayedWorkspace) -> None:
    play = Play(PIECE)
    workspace.plays.append(play)
    with Work(workspace) as work:
        work.ask((UNKNOWN, COMBINATION), RunOptions())
        assert list(work.run_ids) == [COMBINATION.key]
        run = work.questions(COMBINATION, RunOptions(), work.run_ids[COMBINATION.key], "another")
        assert run.spending_id == work.spending_id
        outcome = run.wait_for(run.document_ids, None)
        assert sorted(outcome.finished) == list(run.document_ids)
        assert work.document_counts() == (3, 3)
    asked = len(play.log)
    planned = plan(workspace, COMBINATION, RunOptions())
    assert run_shard(workspace, planned, run.document_ids, "later").reused == list(run.document_ids)
    assert len(play.log) == asked


def test_after_its_end_nothing_is_asked(workspace: PlayedWorkspace) -> None:
    play = Play(PIECE)
    workspace.plays.append(play)
    with Work(workspace) as work:
        pass
    work.ask((COMBINATION,), RunOptions())
    assert work.document_counts() == (0, 3)
    assert play.log == []


def test_a_run_is_planned_once_and_another_run_anew(workspace: PlayedWorkspace) -> None:
    work = Work(workspace)
    run = work.questions(COMBINATION, RunOptions(), "run-1", "money")
    assert work.questions(COMBINATION, RunOptions(target_count=1), "run-1", "money", ["a.txt"]) is run
    assert work.questions(COMBINATION, RunOptions(), "run-2", "money") is not run


def test_where_each_op_has_a_process_an_op_works_on_its_own_documents(workspace: PlayedWorkspace) -> None:
    workspace.plays.append(Play(PIECE))
    run = Work(workspace).questions(COMBINATION, RunOptions(), "run-1", "money", ["b.txt"])
    assert run.wait_for(["b.txt"], None).finished == ["b.txt"]
    assert run.ended == ["b.txt"]


def test_what_was_begun_is_left_when_the_corpus_has_changed(workspace: PlayedWorkspace) -> None:
    workspace.plays.append(Play(PIECE))
    with Work(workspace) as work:
        work.ask((COMBINATION,), RunOptions())
        path = workspace.settings.corpora / CORPUS / "corpus.yaml"
        path.write_text(path.read_text().replace("target_count: 2", "target_count: 1"))
        run = work.questions(COMBINATION, RunOptions(), work.run_ids[COMBINATION.key], work.spending_id)
        assert run.planned.limits.target_count == 1


def test_a_run_waits_for_the_parsing_that_was_announced(workspace: PlayedWorkspace, folder: Path) -> None:
    work = Work(workspace)
    work.announce([CORPUS])
    parsing = work.parsing(CORPUS, work.run_ids[CORPUS])
    worker = threading.Timer(0.05, work.parse)
    worker.start()
    told: list[str] = []
    result = parsing.text(lambda done, total, name: told.append(f"{done}/{total} {name}"))
    (manifest,) = parsing.visuals(quiet)
    worker.join()
    assert told[0] == "1/1 a.txt"
    assert is_unfinished(workspace.store, CORPUS, DOCUMENTS)
    assert workspace.store.read(CorpusIndex.key(CORPUS), CorpusIndex) == result.index
    assert workspace.store.read(VisualManifest.key(CORPUS, "a.txt"), VisualManifest) == manifest


def test_a_run_without_announced_parsing_parses_when_it_asks(
    workspace: PlayedWorkspace, folder: Path
) -> None:
    parsing = Work(workspace).parsing(CORPUS, "run-1")
    assert [one.id for one in parsing.text(quiet).index.documents] == ["a.txt"]
    assert [one.document_id for one in parsing.visuals(quiet)] == ["a.txt"]


def test_those_who_wait_get_the_error(workspace: PlayedWorkspace, folder: Path) -> None:
    (folder / "a.txt").unlink()
    folder.rmdir()
    work = Work(workspace)
    work.announce([CORPUS])
    work.parse()
    parsing = work.parsing(CORPUS, work.run_ids[CORPUS])
    for wait in (parsing.text, parsing.visuals):
        with pytest.raises(ConfigError, match="documents"):
            wait(quiet)
