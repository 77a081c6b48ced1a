"""The configuration of a combination: the wanted one, and the one that its candidate set was made with."""

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
    specs = specs_of(planned.profile, combination.mode, planned.strategy)
    asked = planned.record(run_id="", started="")
    options_of_loop = planned.scenario.model_dump(
        mode="json",
        include={
            "max_consecutive_failures",
            "max_attempts",
            "batch",
            "closed_book",
            "mix",
            "language",
            "max_overlap",
            "audience",
            "style",
            "personas",
        },
    )
    settings = {f"scenario {name}": str(value) for name, value in options_of_loop.items()}
    settings |= {"embedder": planned.profile.embedder.name} if planned.scenario.search_meaning else {}
    parts = _parts(asked) | {"target_count": str(asked.target_count)} | _texts(asked)
    return Configuration(planned.configuration, parts, model_settings(specs) | settings)


def made_questions(space: Workspace, combination: Combination, wanted: Configuration) -> Configuration | None:
    """The configuration of the stored candidate set; None if there is none.

    If the plan of its run was not stored, as by older versions, the texts are taken from `wanted`.
    """
    made = space.store.find_head(CandidateSet.key(combination), CandidateSet, CandidateDocument)
    if made is None:
        return None
    asked = space.store.find_valid(combination.history_key(made.run_id, PLAN), RunPlan)
    texts = {name: wanted.parts[name] for name in _TEXTS} if asked is None else _texts(asked)
    parts = _parts(made) | texts | {"target_count": str(made.target_count)}
    return Configuration(made.configuration, parts)


def _parts(one: RunPlan | CandidateSet) -> dict[str, str]:
    prompts = {f"prompt {name}": value[:12] for name, value in one.prompts.items()}
    return {"profile": one.profile, **one.models, **prompts}


def _texts(one: RunPlan) -> dict[str, str]:
    return {name: str(getattr(one, field)) for name, field in _TEXTS.items()}
