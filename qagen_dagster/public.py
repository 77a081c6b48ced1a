"""What other programs import from `qagen_dagster`: published sets and scores. What Dagster needs is in
`defs/questions/downstream.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from qagen_dagster.configuration.corpora import load_corpora
from qagen_dagster.loop.evaluation.score import Judge, given_output, profile_judge, read_output, score_systems
from qagen_dagster.loop.questions.publication.published_set import LATEST, PublishedSet, read_published
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Allowance
from qagen_dagster.publishing.score_markdown import score_markdown
from qagen_dagster.records.evaluation import ScoreReport, SystemOutput
from qagen_dagster.records.ids import Combination
from qagen_dagster.settings import load_settings
from qagen_dagster.store import Store

__all__ = ["PublishedSet", "combinations", "published", "score", "score_markdown"]
Answers = Path | str | Iterable[Mapping[str, object]]


def published(combination: str, version: str = LATEST, *, assets: str | Path | None = None) -> PublishedSet:
    """The published set of `corpus/scenario/mode`.

    Args:
        combination: the partition key.
        version: "latest", or the content id of a version.
        assets: root of the store. Default: QAGEN_ASSETS, else assets/.

    Raises StoreError when there is no such set, and ValueError when `combination` is not a partition key.
    """
    root = load_settings().assets if assets is None else assets
    return read_published(Store(root), Combination.from_key(combination), version)


def combinations() -> list[str]:
    """The partition keys of all combinations that are configured in the corpora folder, published or not."""
    corpora = load_corpora(load_settings().corpora).corpora
    return [one.key for corpus in corpora.values() for one in corpus.combinations()]


def score(
    sets: PublishedSet | Sequence[PublishedSet],
    answers: Answers,
    against: Answers | None = None,
    *,
    profile: str | None = None,
    max_usd: float | None = None,
) -> ScoreReport:
    """The scores of a system on published questions; with `against` also those of a second system, compared with the first.

    Args:
        sets: one published set or several.
        answers: a JSON Lines file, or its rows: `id`, and `answer`, `passages` or both.
        against: the same for the second system.
        profile: the profile whose judge compares answers where code cannot decide. Default: nobody is asked.
        max_usd: what the judge may cost. Default: the profile's budget.

    Raises ConfigError.
    """
    several = (sets,) if isinstance(sets, PublishedSet) else tuple(sets)
    known = [question.id for one in several for question in one]
    given = {"answers": answers} if against is None else {"answers": answers, "against": against}
    outputs = [_output(name, rows, known) for name, rows in given.items()]
    budget = None if max_usd is None else Allowance(max_usd=max_usd)
    judge = Judge() if profile is None else profile_judge(Workspace(load_settings()), profile, budget)
    return score_systems(several, outputs, judge)


def _output(name: str, rows: Answers, known: Sequence[str]) -> SystemOutput:
    if isinstance(rows, (str, Path)):
        return read_output(Path(rows), known)
    return given_output(name, rows, known)
