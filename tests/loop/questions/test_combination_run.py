from __future__ import annotations

import pytest

from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.parallel import WorkOutcome
from qagen_dagster.loop.questions.plan import CombinationPlan, RunOptions, collect, plan, unfinished
from qagen_dagster.loop.questions.publication.publish import is_up_to_date
from qagen_dagster.loop.questions.validated_set import results_of
from qagen_dagster.models.budget import Allowance
from qagen_dagster.records.questions.results import DocumentEnd
from tests.loop.conftest import COMBINATION, PROFILE, PlayedWorkspace
from tests.support.play import Outcome, Play
from tests.support.shards import run_shard

PIECE = [Outcome.ACCEPTED, Outcome.WRONG, Outcome.ACCEPTED, Outcome.ACCEPTED, Outcome.EXHAUSTED]
WORKERS = 4


def run(
    workspace: PlayedWorkspace, play: Play, budget: Allowance | None = None, spending: str = "money"
) -> tuple[WorkOutcome[str], CombinationPlan]:
    workspace.plays.append(play)
    planned = plan(workspace, COMBINATION, RunOptions(**(budget.model_dump() if budget else {})))
    wanted = [entry.id for entry in planned.documents]
    return run_shard(workspace, planned, wanted, "run-1", spending_id=spending), planned


def accepted(workspace: PlayedWorkspace, planned: CombinationPlan) -> list[tuple[str, str]]:
    found = collect(workspace, planned, run_id="r", started="2024-01-01", ended="2024-01-02")
    return [(pair.id, pair.question) for result in results_of(workspace, found) for pair in result.accepted]


@pytest.mark.parametrize("calls", [0, 1, 4, 9, 14])
def test_a_budget_ends_the_work_and_the_next_run_goes_on(workspace: PlayedWorkspace, calls: int) -> None:
    first = Play(PIECE)
    outcome, planned = run(workspace, first, Allowance(max_calls=calls))
    assert calls <= len(first.log) <= calls + WORKERS - 1 if calls else first.log == []
    assert sorted([*outcome.stopped, *outcome.finished]) == ["a.txt", "b.txt", "c.txt"]
    assert outcome.stopped
    assert outcome.failed == {}
    assert unfinished(workspace, planned) == sorted(outcome.stopped)
    kept = accepted(workspace, planned)
    assert not is_up_to_date(workspace, COMBINATION, RunOptions())
    rest = Play(PIECE)
    outcome, planned = run(workspace, rest)
    assert outcome.stopped == []
    assert set(kept) <= set(accepted(workspace, planned))


def test_the_set_is_that_of_a_run_without_a_budget(workspace: PlayedWorkspace) -> None:
    run(workspace, Play(PIECE), Allowance(max_calls=5))
    run(workspace, Play(PIECE), Allowance(max_calls=6), "more-money")
    _, planned = run(workspace, Play(PIECE))
    pieced = accepted(workspace, planned)
    other = PlayedWorkspace(workspace.settings.__class__(**{**vars(workspace.settings), "profile": "mine"}))
    assert len(pieced) == 6
    assert [end.end for end in _ends(workspace, planned)] == [DocumentEnd.TARGET_REACHED] * 3
    assert accepted(other, plan(other, COMBINATION, RunOptions())) == pieced


def test_what_ended_early_is_collected_with_its_outcome(workspace: PlayedWorkspace) -> None:
    outcome, planned = run(workspace, Play(PIECE), Allowance(max_calls=8))
    ends = {one.document_id: one for one in _ends(workspace, planned)}
    for name in outcome.stopped:
        assert ends[name].end is DocumentEnd.BUDGET_EXHAUSTED
        assert "the run's max_calls 8 (made" in ends[name].end_detail
        assert ends[name].result_key is not None


def test_ops_of_one_run_share_its_budget(workspace: PlayedWorkspace) -> None:
    run(workspace, Play(PIECE), Allowance(max_calls=6))
    again = Play(PIECE)
    outcome, _ = run(workspace, again, Allowance(max_calls=6))
    assert again.log == []
    assert outcome.finished == []


def test_a_document_has_a_budget_of_its_own(workspace: PlayedWorkspace) -> None:
    profiles = workspace.settings.profiles
    assert profiles is not None
    text = PROFILE.format(generator="writer") + "budget: {document: {max_calls: 5}}\n"
    (profiles / "mine.yaml").write_text(text)
    play = Play(PIECE)
    outcome, planned = run(workspace, play)
    assert sorted(outcome.stopped) == ["a.txt", "b.txt", "c.txt"]
    assert len(play.log) == 15
    assert len(accepted(workspace, planned)) == 3
    outcome, _ = run(workspace, Play(PIECE), spending="another-run")
    assert len(outcome.stopped) == 3, "over all runs"


def test_money_is_not_counted_without_prices(workspace: PlayedWorkspace) -> None:
    profiles = workspace.settings.profiles
    assert profiles is not None
    paid = PROFILE.format(generator="writer").replace(
        "provider: scripted, model: reader", "provider: openai, model: o"
    )
    (profiles / "mine.yaml").write_text(paid)
    with pytest.raises(ConfigError, match="of openai:o"):
        plan(workspace, COMBINATION, RunOptions(max_usd=1))
    (profiles / "mine.yaml").write_text(paid + "budget: {run: {max_usd: 1}}\n")
    with pytest.raises(ConfigError, match="max_usd needs prices"):
        plan(workspace, COMBINATION, RunOptions())


def _ends(workspace: PlayedWorkspace, planned: CombinationPlan):
    return collect(workspace, planned, run_id="r", started="2024-01-01", ended="2024-01-02").documents
