"""The configuration of a combination: the wanted one, and the one that its candidate set was made with."""

from __future__ import annotations

from qagen_dagster.loop.configuration import Configuration, model_settings
from qagen_dagster.loop.questions.fingerprint import specs_of
from qagen_dagster.loop.questions.plan import RunOptions, plan_without_documents
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import Combination
from qagen_dagster.records.questions.history import PLAN, RunPlan
from qagen_dagster.records.questions.results import CandidateDocument, CandidateSet

_TEXTS = {  # the fields of a RunPlan, by the names of parts
    "strategy": "strategy",
    "corpus name": "corpus_name",
    "corpus_context": "corpus_context",
    "scenario name": "scenario_name",
    "scenario description": "scenario_description",
}


def wanted_questions(
    space: Workspace, combination: Combination, options: RunOptions | None = None
) -> Configuration:
    """The configuration with which a run would make the combination. Raises ConfigError if its profile cannot be used."""
    planned = plan_without_documents(space, combination, options or RunOptions())
    config, scenario = planned.corpus.config, planned.corpus.scenario(combination.scenario)
    specs = specs_of(planned.profile, combination.mode, planned.strategy)
    parts = {
        "profile": planned.profile_name,
        **planned.models,
        **_prompts(planned.prompts),
        "target_count": str(planned.limits.target_count),
        "strategy": scenario.strategy.value,
        "corpus name": config.name,
        "corpus_context": config.corpus_context,
        "scenario name": scenario.name,
        "scenario description": scenario.description,
    }
    options_of_loop = scenario.model_dump(
        mode="json",
        include={
            "max_consecutive_failures",
            "max_attempts",
            "batch",
            "closed_book",
            "mix",
            "language",
            "max_overlap",
        },
    )
    settings = {f"scenario {name}": str(value) for name, value in options_of_loop.items()}
    settings |= {"embedder": planned.profile.embedder.name} if scenario.search_meaning else {}
    return Configuration(planned.configuration, parts, model_settings(specs) | settings)


def made_questions(space: Workspace, combination: Combination, wanted: Configuration) -> Configuration | None:
    """The configuration of the stored candidate set; None if there is none.

    If the plan of its run was not stored, as by older versions, the texts are taken from `wanted`.
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
