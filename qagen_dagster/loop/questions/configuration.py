"""The configuration of a combination: the wanted one, and the one that its candidate set was made with."""

from __future__ import annotations

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.loop.configuration import Configuration, model_names, model_settings
from qagen_dagster.loop.questions.fingerprint import has_text_control, prompt_hashes, specs_of
from qagen_dagster.loop.questions.limits import wanted_limits
from qagen_dagster.loop.questions.plan import RunOptions, effective_fingerprint
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import Combination
from qagen_dagster.records.questions.history import PLAN, RunPlan
from qagen_dagster.records.questions.results import CandidateDocument, CandidateSet

_TEXTS = {  # the name of a part: its field in a RunPlan
    "strategy": "strategy",
    "corpus name": "corpus_name",
    "corpus_context": "corpus_context",
    "scenario name": "scenario_name",
    "scenario description": "scenario_description",
}


def wanted_questions(
    space: Workspace, combination: Combination, options: RunOptions | None = None
) -> Configuration:
    """The configuration with which a run would make the combination. Raises ConfigError when its profile cannot be used."""
    chosen = options or RunOptions()
    corpus = space.corpus(combination.corpus)
    scenario = corpus.scenario(combination.scenario)
    name = space.profile_name(combination, chosen.profile)
    specs = specs_of(space.profile(name), combination.mode, scenario.strategy)
    limits = wanted_limits(space, combination, name, chosen.target_count, replace=chosen.replace)
    control = has_text_control(scenario, combination.mode, specs[Role.VALIDATOR])
    parts = {
        "profile": name,
        **model_names(specs),
        **_prompts(prompt_hashes(combination.mode, scenario.strategy, control=control)),
        "target_count": str(limits.target_count),
        "strategy": scenario.strategy.value,
        "corpus name": corpus.config.name,
        "corpus_context": corpus.config.corpus_context,
        "scenario name": scenario.name,
        "scenario description": scenario.description,
    }
    told = scenario.model_dump(mode="json", include={"max_consecutive_failures", "max_attempts", "batch"})
    settings = {f"scenario {name}": str(value) for name, value in told.items()}
    settings |= {"embedder": space.profile(name).embedder.name} if scenario.search_meaning else {}
    version = effective_fingerprint(space, combination, chosen)
    return Configuration(version, parts, model_settings(specs) | settings)


def made_questions(space: Workspace, combination: Combination, wanted: Configuration) -> Configuration | None:
    """The configuration of the stored candidate set; None if there is none.

    Parts that its run did not keep are taken from `wanted`.
    """
    made = space.store.find_head(CandidateSet.key(combination), CandidateSet, CandidateDocument)
    if made is None:
        return None
    asked = space.store.find_valid(combination.history_key(made.run_id, PLAN), RunPlan)
    known = {"profile": made.profile, **made.models, **_prompts(made.prompts)}
    texts = {name: wanted.parts[name] for name in _TEXTS}
    if asked is not None:
        found = asked.model_dump(mode="json")
        texts = {name: found[field] for name, field in _TEXTS.items()}
    return Configuration(made.configuration, known | texts | {"target_count": str(made.target_count)})


def _prompts(hashes: dict[str, str]) -> dict[str, str]:
    return {f"prompt {name}": value[:12] for name, value in hashes.items()}
