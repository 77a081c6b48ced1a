"""Several models share the writing of a set, and the set says who wrote what."""

from __future__ import annotations

from collections import Counter

import pytest
from pydantic import ValidationError

from qagen_dagster.configuration.profiles import Profile
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.questions.document_work import QAModels
from qagen_dagster.loop.questions.plan import RunOptions, collect, plan, results_of
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.corpus_options import ScenarioConfig
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.questions.results import QAPair
from tests.loop.conftest import COMBINATION, CORPUS, PROFILE, PlayedWorkspace
from tests.support.models import FakeModel
from tests.support.play import Outcome, Play
from tests.support.shards import run_shard

WRITERS = "writers:\n  second: {provider: scripted, model: scribe}\n"


def models(*shares: float) -> QAModels:
    writers = tuple((FakeModel([], f"w{number}"), share) for number, share in enumerate(shares))
    return QAModels(FakeModel([], "g"), FakeModel([], "v"), FakeModel([], "d"), writers=writers)


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.2, 0.8), (0.25, 0.25, 0.5), (1.0,)])
def test_attempts_and_documents_follow_the_shares(shares: tuple[float, ...]) -> None:
    several = models(*shares)
    for chosen in (
        Counter(several.writing("a.txt", attempt).generator.spec.model for attempt in range(200)),
        Counter(several.writing(f"{number}.txt").generator.spec.model for number in range(2000)),
    ):
        for number, share in enumerate(shares):
            assert chosen[f"w{number}"] / chosen.total() == pytest.approx(share, abs=0.04)
    assert several.writing("a.txt", 3).generator is several.writing("a.txt", 3).generator


def test_without_writers_the_generator_writes() -> None:
    alone = models()
    assert alone.writing("a.txt", 7) is alone


def shared(workspace: PlayedWorkspace, writers: str) -> None:
    corpus = workspace.settings.corpora / "probes" / "corpus.yaml"
    corpus.write_text(CORPUS.replace("target_count: 2", f"target_count: 4\n    writers: {writers}"))
    folder = workspace.settings.profiles
    assert folder is not None
    (folder / "mine.yaml").write_text(PROFILE.format(generator="writer") + WRITERS)


class Named(PlayedWorkspace):
    """Its writers play the same piece under their own names."""

    def model(self, spec: ModelSpec) -> FakeModel:
        played = super().model(spec)
        assert isinstance(played, FakeModel)
        return FakeModel(played.respond, spec.model)


def test_a_set_has_questions_of_each_writer_and_says_so(workspace: PlayedWorkspace) -> None:
    fingerprint = plan(workspace, COMBINATION, RunOptions()).fingerprint
    shared(workspace, "{generator: 0.5, second: 0.5}")
    space = Named(workspace.settings)
    space.plays.append(Play([Outcome.ACCEPTED] * 8))
    planned = plan(space, COMBINATION, RunOptions())
    assert planned.fingerprint != fingerprint
    assert planned.models["writer second"] == "scripted:scribe"
    run_shard(space, planned, [entry.id for entry in planned.documents], "run-1")
    found = collect(space, planned, run_id="r", started="2024-01-01", ended="2024-01-02")
    pairs: list[QAPair] = [pair for result in results_of(space, found) for pair in result.accepted]
    writers = Counter(pair.generation_metadata.generator_model for pair in pairs)
    assert len(pairs) == 12
    assert writers.keys() == {"scripted:writer", "scripted:scribe"}
    assert 4 <= writers["scripted:scribe"] <= 8
    assert {call.model for result in results_of(space, found) for call in result.calls if call.role == "generator"} == set(writers)  # fmt: skip


def test_a_writer_that_the_profile_lacks_is_named(workspace: PlayedWorkspace) -> None:
    shared(workspace, "{generator: 0.5, third: 0.5}")
    with pytest.raises(ConfigError, match=r"no writer third \(it has generator, second\)"):
        plan(workspace, COMBINATION, RunOptions())


@pytest.mark.parametrize("writers", [{"a": 0.5}, {"a": 0.7, "b": 0.7}, {"a": 1, "b": 0}, {}])
def test_shares_are_one_in_all(writers: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        ScenarioConfig.model_validate({"name": "n", "description": "d", "writers": writers})


def test_a_writer_is_not_the_validator() -> None:
    spec = {"provider": "openai", "model": "m"}
    roles = {"generator": {"provider": "openai", "model": "g"}, "validator": spec, "deduplicator": spec}
    with pytest.raises(ValidationError, match="same model"):
        Profile.model_validate({"roles": roles, "writers": {"second": spec}})
    one = Profile.model_validate(
        {"roles": roles, "writers": {"second": {"provider": "openai", "model": "w"}}}
    )
    assert one.writing({"second": 1}, Mode.TEXTUAL)["second"][0].model == "w"
