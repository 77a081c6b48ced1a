from __future__ import annotations

from qagen_dagster.loop.questions.combination import RunOptions, plan
from qagen_dagster.loop.questions.head_start import HeadStart
from qagen_dagster.loop.questions.run_shard import run_shard
from qagen_dagster.records.ids import Combination, Mode
from tests.loop.conftest import COMBINATION, PlayedWorkspace
from tests.loop.questions.test_run_shard import PIECE
from tests.support.play import Play

UNKNOWN = Combination(corpus="probes", scenario="nothing", mode=Mode.TEXTUAL)


def test_the_run_waits_for_the_documents_that_were_begun(workspace: PlayedWorkspace) -> None:
    play = Play(PIECE)
    workspace.plays.append(play)
    with HeadStart() as ahead:
        ahead.ask(workspace, (UNKNOWN, COMBINATION), RunOptions())
        assert list(ahead.run_ids) == [COMBINATION.key]
        planned = plan(workspace, COMBINATION, RunOptions())
        names = [entry.id for entry in planned.documents]
        outcome = run_shard(workspace, planned, names, ahead.run_ids[COMBINATION.key])
        assert sorted(outcome.finished) == names
        assert ahead.document_counts() == (3, 3)
    asked = len(play.log)
    assert run_shard(workspace, planned, names, "later").reused == names
    assert len(play.log) == asked


def test_after_its_end_nothing_is_asked(workspace: PlayedWorkspace) -> None:
    play = Play(PIECE)
    workspace.plays.append(play)
    with HeadStart() as ahead:
        pass
    ahead.ask(workspace, (COMBINATION,), RunOptions())
    assert ahead.document_counts() == (0, 3)
    assert play.log == []
