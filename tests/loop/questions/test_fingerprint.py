from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

from qagen_dagster.agents import prompts
from qagen_dagster.configuration.profiles import QUESTION_ROLES, Profile, Role
from qagen_dagster.loop.questions.fingerprint import LOOP_VERSION, prompt_hashes, work_fingerprint
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.corpus_options import Audience, CorpusConfig, Strategy, Style
from qagen_dagster.records.ids import Mode, fingerprint

SPECS = {role: ModelSpec(provider="openai", model=f"m-{role.value}") for role in Role}
CORPUS = CorpusConfig.model_validate(
    {
        "name": "Probes",
        "corpus_context": "Manuals.",
        "scenarios": {
            "one": {"name": "One", "description": "First."},
            "two": {"name": "Two", "description": "Second."},
        },
    }
)
ALL = [(scenario, mode) for scenario in CORPUS.scenarios for mode in Mode]


def marks(profile: Profile, corpus: CorpusConfig = CORPUS) -> dict[tuple[str, Mode], str]:
    return {(scenario, mode): work_fingerprint(profile, corpus, scenario, mode) for scenario, mode in ALL}


def moved(profile: Profile, corpus: CorpusConfig = CORPUS) -> set[tuple[str, Mode]]:
    """The combinations whose fingerprint differs from the unchanged ones."""
    before, after = marks(Profile(roles=SPECS)), marks(profile, corpus)
    return {key for key in before if before[key] != after[key]}


def with_role(role: Role, **changed: Any) -> Profile:
    return Profile(roles=SPECS | {role: SPECS[role].model_copy(update=changed)})


def test_every_combination_has_its_own() -> None:
    found = marks(Profile(roles=SPECS))
    assert len(set(found.values())) == 4
    assert marks(Profile(roles=dict(reversed(SPECS.items())), description="words")) == found


@pytest.mark.parametrize("role", QUESTION_ROLES)
@pytest.mark.parametrize(
    "changed",
    [{"model": "m-other"}, {"temperature": 0.5}, {"options": {"top_p": 1}}, {"max_output_tokens": 99}],
)
def test_another_model_of_any_role_moves_all(role: Role, changed: dict[str, Any]) -> None:
    assert moved(with_role(role, **changed)) == set(ALL)


@pytest.mark.parametrize(
    "changed",
    [
        {"timeout_seconds": 5.0},
        {"usd_per_million_input": 9.0},
        {"max_attempts": 2},
        {"deadline_seconds": 1.0},
        {"api_key_env": "OTHER_KEY"},
    ],
)
def test_how_a_response_is_had_moves_nothing(changed: dict[str, Any]) -> None:
    assert moved(with_role(Role.GENERATOR, **changed)) == set()


def test_a_visual_override_moves_the_visual_ones_only() -> None:
    other = SPECS[Role.GENERATOR].model_copy(update={"model": "sees-better"})
    profile = Profile(roles=SPECS, visual={Role.GENERATOR: other})
    assert moved(profile) == {(scenario, Mode.VISUAL) for scenario in CORPUS.scenarios}


@pytest.mark.parametrize("role", QUESTION_ROLES)
def test_the_size_of_the_opening_moves_the_textual_ones_that_have_one(role: Role) -> None:
    textual = {(scenario, Mode.TEXTUAL) for scenario in CORPUS.scenarios}
    controlled = {
        (scenario, Mode.VISUAL) for scenario in CORPUS.scenarios
    }  # the text control of the validator
    wanted = {Role.DEDUPLICATOR: set[tuple[str, Mode]](), Role.VALIDATOR: textual | controlled}.get(
        role, textual
    )
    assert moved(with_role(role, opening_characters=4_000)) == wanted


def test_a_scenarios_words_move_its_own_combinations() -> None:
    second = CORPUS.scenarios["two"].model_copy(update={"description": "Otherwise."})
    corpus = CORPUS.model_copy(update={"scenarios": CORPUS.scenarios | {"two": second}})
    assert moved(Profile(roles=SPECS), corpus) == {("two", mode) for mode in Mode}


@pytest.mark.parametrize(
    "wording",
    [
        {"language": "en"},
        {"max_overlap": 0.5},
        {"audience": Audience.SEARCHER},
        {"style": {Style.KEYWORD: 1.0}},
        {"personas": ("A nurse.",)},
    ],
)
def test_each_option_of_the_wording_moves_its_own_scenario(wording: dict[str, Any]) -> None:
    second = CORPUS.scenarios["two"].model_copy(update=wording)
    corpus = CORPUS.model_copy(update={"scenarios": CORPUS.scenarios | {"two": second}})
    assert moved(Profile(roles=SPECS), corpus) == {("two", mode) for mode in Mode}


def test_the_corpus_words_move_all_and_limits_none() -> None:
    context = CORPUS.model_copy(update={"corpus_context": "Other manuals."})
    assert moved(Profile(roles=SPECS), context) == set(ALL)
    more = CORPUS.scenarios["one"].model_copy(update={"target_count": 99, "max_attempts": 500})
    corpus = CORPUS.model_copy(update={"scenarios": CORPUS.scenarios | {"one": more}})
    assert moved(Profile(roles=SPECS), corpus) == set()


def test_a_prompt_moves_the_modes_that_use_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for mode, names in {Mode.TEXTUAL: 8, Mode.VISUAL: 7}.items():
        assert len(prompt_hashes(mode)) == names
    before = marks(Profile(roles=SPECS))
    changed = tmp_path / "prompts"
    shutil.copytree(prompts.FOLDER, changed)
    with (changed / "questions/generator_visual.md").open("a", encoding="utf-8") as file:
        file.write("\nOne word more.")
    monkeypatch.setattr(prompts, "FOLDER", changed)
    prompts.load_prompt.cache_clear()
    after = marks(Profile(roles=SPECS))
    prompts.load_prompt.cache_clear()
    assert {key for key in before if before[key] != after[key]} == {
        (scenario, Mode.VISUAL) for scenario in CORPUS.scenarios
    }


BATCH = CORPUS.model_copy(
    update={
        "scenarios": {
            name: type(scenario).model_validate(
                {"name": name, "description": "Words.", "modes": ["textual"], "strategy": "batch"}
            )
            for name, scenario in CORPUS.scenarios.items()
        }
    }
)


def batch_mark(profile: Profile, **changed: Any) -> str:
    scenario = BATCH.scenarios["one"].model_dump() | changed
    scenarios = BATCH.scenarios | {"one": type(BATCH.scenarios["one"]).model_validate(scenario)}
    corpus = BATCH.model_copy(update={"scenarios": scenarios})
    return work_fingerprint(profile, corpus, "one", Mode.TEXTUAL)


@pytest.mark.parametrize("scenario", CORPUS.scenarios)
@pytest.mark.parametrize("mode", Mode)
def test_of_the_agent_strategy_it_is_what_it_was_before_there_was_another(scenario: str, mode: Mode) -> None:
    """Written out: results and journals of earlier versions must be found again."""
    models = {role.value: SPECS[role].identity() for role in QUESTION_ROLES}
    parts = [json.dumps(models, sort_keys=True), json.dumps(prompt_hashes(mode), sort_keys=True)]
    config = CORPUS.scenarios[scenario].model_copy(update={"text_control": mode is Mode.TEXTUAL})
    corpus = CORPUS.model_copy(update={"scenarios": CORPUS.scenarios | {scenario: config}})
    told = [CORPUS.name, CORPUS.corpus_context, config.name, config.description]
    expected = fingerprint([LOOP_VERSION, fingerprint(parts), *told])
    assert work_fingerprint(Profile(roles=SPECS), corpus, scenario, mode) == expected


def test_the_text_control_moves_the_visual_mode_of_its_scenario() -> None:
    off = CORPUS.scenarios["one"].model_copy(update={"text_control": False})
    corpus = CORPUS.model_copy(update={"scenarios": CORPUS.scenarios | {"one": off}})
    assert moved(Profile(roles=SPECS), corpus) == {("one", Mode.VISUAL)}
    more = set(prompt_hashes(Mode.VISUAL, control=True)) - set(prompt_hashes(Mode.VISUAL))
    assert more == {"validator_textual"}


@pytest.mark.parametrize("role", [Role.ANSWERER, Role.JUDGE])
def test_answerer_and_judge_move_the_batch_strategy_alone(role: Role) -> None:
    other = with_role(role, model="m-other")
    assert moved(other) == set()
    assert batch_mark(other) != batch_mark(Profile(roles=SPECS))
    without = Profile(roles={name: spec for name, spec in SPECS.items() if name is not role})
    assert moved(without) == set()
    assert batch_mark(without) != batch_mark(Profile(roles=SPECS))


def test_options_of_the_batch_strategy_move_it_and_how_many_of_what_does_not() -> None:
    same = batch_mark(Profile(roles=SPECS))
    assert batch_mark(Profile(roles=SPECS), batch={}) == same
    for more in ({"mix": {"causal": 2}}, {"complexity": "basic"}, {"question_types": ["temporal"]}):
        assert batch_mark(Profile(roles=SPECS), batch=more) == same
    others = [
        batch_mark(Profile(roles=SPECS), batch={"similarity": 0.9}),
        batch_mark(Profile(roles=SPECS), batch={"answer_regenerations": 1}),
        batch_mark(Profile(roles=SPECS), batch={"publish_ungrounded": True}),
        batch_mark(Profile(roles=SPECS), grading={"method": "keyword"}),
        work_fingerprint(Profile(roles=SPECS), CORPUS, "one", Mode.TEXTUAL),
    ]
    assert len({same, *others}) == 6


def test_the_batch_strategy_does_not_depend_on_the_explorers_prompt() -> None:
    agent, batch = (set(prompt_hashes(Mode.TEXTUAL, one)) for one in (Strategy.AGENT, Strategy.BATCH))
    assert agent - batch == {"generator_textual"}
    assert batch - agent == {
        "batch_document",
        "batch_questions",
        "batch_rewrite",
        "closed_book_several",
        "batch_answer",
        "judge",
    }
