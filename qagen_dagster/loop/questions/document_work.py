"""The work on one document in one combination, as a value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from qagen_dagster.agents.questions.context import QAContext
from qagen_dagster.configuration.profiles import QUESTION_ROLES, Profile, Role
from qagen_dagster.loop.questions.limits import QALimits
from qagen_dagster.loop.shared_budget import metered
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models import embedders
from qagen_dagster.models.base import Model
from qagen_dagster.models.budget import Meter
from qagen_dagster.models.embedders import Encode
from qagen_dagster.records.corpus import Strategy
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.records.questions.results import RejectedQA


@dataclass(frozen=True)
class QAModels:
    """The models of one combination. The batch strategy needs two more. Without an answerer the generator answers.

    `overlap`: calls for one document may run at the same time.
    """

    generator: Model
    validator: Model
    deduplicator: Model
    answerer: Model | None = None
    judge: Model | None = None
    encode: Encode = embedders.encode
    overlap: bool = True

    def metered(self, meter: Meter, *, overlap: bool = True) -> QAModels:
        """The same models, whose calls `meter` checks and records."""
        return replace(self.changed(lambda model: metered(model, meter)), overlap=overlap)

    def changed(self, change: Callable[[Model], Model]) -> QAModels:
        """Each of the models as `change` returns it."""
        return replace(
            self,
            generator=change(self.generator),
            validator=change(self.validator),
            deduplicator=change(self.deduplicator),
            answerer=None if self.answerer is None else change(self.answerer),
            judge=None if self.judge is None else change(self.judge),
        )


def question_models(
    space: Workspace, profile: Profile, mode: Mode, strategy: Strategy = Strategy.AGENT
) -> QAModels:
    """The models of a strategy. Raises ConfigError for an unknown provider or a missing key."""
    build = {role: space.model(profile.spec(role, mode)) for role in QUESTION_ROLES}
    found = QAModels(
        build[Role.GENERATOR], build[Role.VALIDATOR], build[Role.DEDUPLICATOR], encode=space.encode
    )
    if strategy is Strategy.AGENT:
        return found
    answerer = space.model(profile.spec(Role.ANSWERER, mode))
    return replace(found, answerer=answerer, judge=space.find_model(profile, Role.JUDGE, mode))


@dataclass(frozen=True)
class DocumentWork:
    """One document in one combination, with everything that decides its result.

    `fingerprint` covers the configuration: models, prompts, corpus and scenario, code.
    """

    combination: Combination
    context: QAContext
    limits: QALimits
    fingerprint: str
    avoided: tuple[RejectedQA, ...] = ()  # rejected by reviewers; the generator is told

    @property
    def source_document(self) -> str:
        """The path of the document in its corpus folder."""
        return f"documents/{self.context.view.document.source}"
