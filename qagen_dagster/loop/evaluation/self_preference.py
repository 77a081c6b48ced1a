"""Whether a set favours a system because a model of its family wrote questions: published work finds that models rank themselves first."""

import re
from collections.abc import Sequence

from qagen_dagster.english.words import listed
from qagen_dagster.loop.evaluation.intervals import mean_of
from qagen_dagster.loop.evaluation.system_scores import OUTCOMES
from qagen_dagster.models.providers import PROVIDERS
from qagen_dagster.records.evaluation import Measure, OwnQuestions, SystemScores

_SAME = {"gemma": "gemini", "qwq": "qwen"} | dict.fromkeys(
    listed("mixtral ministral magistral codestral devstral pixtral"), "mistral"
)
_KNOWN = listed("embedded deepseek gpt claude gemini llama mistral qwen phi command grok nova")
_FAMILY = re.compile(rf"(?<![a-z])(?:chat|code)?({'|'.join((*_KNOWN, *_SAME))})")
_OPENAI = re.compile(r"(?:^|[:/])o\d")


def family(model: str) -> str:
    """The family of a model: "gpt" for `openai:gpt-6-sol`, "llama" for `meta-llama/Llama-3.1-8B`; empty for an empty name.

    Unknown models are known by the first letters of their names.
    """
    name = model.casefold()
    found = _FAMILY.search(name)
    if found:
        return _SAME.get(found[1], found[1])
    if _OPENAI.search(name):
        return "gpt"
    provider, _, rest = name.partition(":")
    first = re.search(r"[^\W\d_]+", (rest if provider in PROVIDERS else name).rpartition("/")[2])
    return first[0] if first else ""


def with_own(systems: Sequence[SystemScores], models: Sequence[str]) -> tuple[SystemScores, ...]:
    """The scores, with those of questions that a model of the system's family wrote. `models` has the model of each system, or ""."""
    return tuple(
        one.model_copy(update={"own": _own(at, systems, family(model))})
        for at, (one, model) in enumerate(zip(systems, models, strict=True))
    )


def _own(at: int, systems: Sequence[SystemScores], name: str) -> OwnQuestions | None:
    measured = (one for one in OUTCOMES if all(one in each.overall.measures for each in systems))
    measure = next(measured, "")
    parts = [[_mean(one, measure, name, own=own) for one in systems] for own in (True, False)]
    (mine, others), several = (part[at] for part in parts), len(systems) > 1
    if not name or mine is None:
        return None
    ranks = [
        1 + sum(each is not None and each.value > value.value for each in part)
        for part, value in zip(parts, (mine, others), strict=True)
        if value is not None and several
    ]
    questions = sum(family(one.writer) == name for one in systems[at].answers)
    return OwnQuestions(
        family=name, questions=questions, measure=measure, own=mine, others=others, ranks=tuple(ranks)
    )


def _mean(system: SystemScores, measure: str, name: str, *, own: bool) -> Measure | None:
    answers = [one for one in system.answers if (family(one.writer) == name) is own]
    return mean_of(answers, OUTCOMES[measure]) if measure else None
