"""What the work on one document in one combination needs: the models, and the document with its limits."""

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
from qagen_dagster.records.corpus_config import Strategy
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.records.questions.results import RejectedQA


@dataclass(frozen=True)
class QAModels:
    """The models of one combination.

    Attributes:
        answerer: only for the batch strategy. Without one, the generator answers.
        judge: only for the batch strategy. Without one, code alone grades answers.
        overlap: whether calls for one document may run at the same time.
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
        """The same models after `change` was applied to each."""
        roles = (*QUESTION_ROLES, Role.ANSWERER, Role.JUDGE)
        models = {role.value: getattr(self, role.value) for role in roles}
        return replace(self, **{name: change(model) for name, model in models.items() if model is not None})


def question_models(
    space: Workspace, profile: Profile, mode: Mode, strategy: Strategy = Strategy.AGENT
) -> QAModels:
    """The models of a strategy. Raises ConfigError for an unknown provider or a missing key."""
    build = {role: space.model(profile.spec(role, mode)) for role in QUESTION_ROLES}
    found = QAModels(
        build[Role.GENERATOR], build[Role.VALIDATOR], build[Role.DEDUPLICATOR], encode=space.encode
    )
    if strategy is not Strategy.BATCH:
        return found
    answerer = space.model(profile.spec(Role.ANSWERER, mode))
    return replace(found, answerer=answerer, judge=space.find_model(profile, Role.JUDGE, mode))


@dataclass(frozen=True)
class DocumentWork:
    """One document in one combination, with everything that decides its result.

    `fingerprint` is a hash of the configuration: models, prompts, corpus, scenario and version of the loop.
    """

    combination: Combination
    context: QAContext
    limits: QALimits
    fingerprint: str
    avoided: tuple[RejectedQA, ...] = ()  # questions that reviewers rejected; the generator is shown them

    @property
    def source_document(self) -> str:
        """The path of the document in its corpus folder."""
        return f"documents/{self.context.view.document.source}"
