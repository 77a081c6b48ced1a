"""Plans a combination, collects the results of its documents, and compares its wanted configuration with its stored configuration.

The name of a stored result contains a fingerprint of everything that the result depends on. So a result that has the wanted name is reused.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from qagen_dagster.agents.questions.batch import answerer
from qagen_dagster.configuration.corpora import Corpus
from qagen_dagster.configuration.profiles import Profile, Role
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.configuration import Configuration, model_names, model_settings
from qagen_dagster.loop.questions.carry_over import EarlierSet
from qagen_dagster.loop.questions.document_journal import DocumentJournal
from qagen_dagster.loop.questions.document_work import RULES, answering_role, question_models
from qagen_dagster.loop.questions.fingerprint import (
    IMPORT_VERSION,
    PROOF_VERSION,
    prompts_of,
    specs_of,
    work_fingerprint,
)
from qagen_dagster.loop.questions.stopping import QALimits, mix_of, staged_of, wanted_limits
from qagen_dagster.loop.shared_budget import effective_budget
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Allowance, Budget
from qagen_dagster.models.call_cost import FREE_PROVIDERS
from qagen_dagster.records.corpus_options import ScenarioConfig, Staged, Strategy, Style
from qagen_dagster.records.document import CorpusIndex, IndexEntry
from qagen_dagster.records.ids import Combination, Mode, fingerprint
from qagen_dagster.records.questions import results
from qagen_dagster.records.questions.imported import QuestionLog
from qagen_dagster.records.questions.results import (
    CandidateDocument,
    CandidateSet,
    DocumentEnd,
    GenerationResult,
)
from qagen_dagster.records.questions.run_results import PLAN, RESULTS, RunDocument, RunPlan, RunResults

_QUESTIONS = {Style.QUESTION: 1.0}
_TEXTS = {  # the fields of a RunPlan, by the names of parts
    "strategy": "strategy",
    "corpus name": "corpus_name",
    "corpus_context": "corpus_context",
    "scenario name": "scenario_name",
    "scenario description": "scenario_description",
}


class RunOptions(Allowance):
    """The options of a run. None keeps the configured value. The limits replace the profile's budget of a run.

    Attributes:
        num_documents: the number of documents to work on, the first ones in the order of their ids.
        shard_size: documents per op.
        replace: whether the run may replace a published set that `why_kept` would keep, and may publish an empty set.
    """

    profile: str | None = None
    target_count: int | None = None
    num_documents: int | None = None
    shard_size: int | None = None
    replace: bool = False

    @property
    def given(self) -> dict[str, Any]:
        """The options that are set, by name."""
        found = {name: getattr(self, name) for name in RunOptions.model_fields}
        return {name: value for name, value in found.items() if value is not None and value is not False}


@dataclass(frozen=True)
class CombinationPlan:
    """One combination: its documents, and everything that decides its results."""

    combination: Combination
    corpus: Corpus
    profile_name: str
    profile: Profile
    limits: QALimits
    fingerprint: str
    documents: tuple[IndexEntry, ...]
    budget: Budget = field(default_factory=Budget)
    texts: str = ""  # a hash of the texts of the whole corpus, if questions depend on a search in it
    log: QuestionLog | None = None  # the imported questions

    @property
    def scenario(self) -> ScenarioConfig:
        return self.corpus.scenario(self.combination.scenario)

    @property
    def strategy(self) -> Strategy:
        return self.scenario.strategy

    @property
    def models(self) -> dict[str, str]:
        """`provider:model` by role."""
        mode = self.combination.mode
        writers = self.profile.writing(self.scenario.writers, mode)
        named = {f"writer {name}": spec.name for name, (spec, _) in writers.items()}
        return model_names(specs_of(self.profile, mode, self.strategy)) | named

    @property
    def prompts(self) -> dict[str, str]:
        """The hashes of the prompts, by name."""
        return prompts_of(self.profile, self.scenario, self.combination.mode)

    def record(self, run_id: str, started: str) -> RunPlan:
        """The record of the plan that a run keeps."""
        corpus, scenario = self.corpus.config, self.scenario
        return RunPlan(
            **dict(self.combination),
            run_id=run_id,
            started=started,
            profile=self.profile_name,
            models=self.models,
            prompts=self.prompts,
            fingerprint=self.fingerprint,
            target_count=self.limits.target_count,
            strategy=self.strategy,
            corpus_name=corpus.name,
            corpus_context=corpus.corpus_context,
            scenario_name=scenario.name,
            scenario_description=scenario.description,
        )

    @property
    def configuration(self) -> str:
        """A hash of models, prompts, corpus, scenario and limits."""
        return fingerprint([self.fingerprint, self.limits.model_dump_json(), *self._mix])

    @property
    def _mix(self) -> list[str]:
        mode = self.combination.mode
        groups = [self.scenario.staged if mode is Mode.TEXTUAL else {}, *self.scenario.mix_groups(mode)]
        return [f"{kind.value} {share}" for kinds in groups for kind, share in kinds.items()]

    def staged(self, document_id: str) -> dict[Staged, int]:
        """How many questions of each kind in `Staged` (without an answer, or across documents) a document should give."""
        return staged_of(self.scenario, self.combination.mode, self.limits.target_count, document_id)

    def earlier(self, workspace: Workspace) -> EarlierSet:
        """The results of the former candidate set, if models, prompts and scenario are the same."""
        return EarlierSet.read(workspace.store, self.combination, self.fingerprint, self.documents)

    def result_key(self, entry: IndexEntry) -> str:
        return GenerationResult.key(self.combination, entry.id, self._result(entry))

    def partial_key(self, entry: IndexEntry) -> str:
        """The key of the result of a document whose budget was exhausted."""
        return GenerationResult.partial_key(self.combination, entry.id, self._result(entry))

    def _result(self, entry: IndexEntry) -> str:
        parts = [self.fingerprint, entry.version, entry.text_sha256, self.limits.model_dump_json()]
        more = [] if self.log is None else [self._imported, *self.missing(entry.id)]
        return fingerprint([*parts, *self._mix, *([self.texts] if self.texts else []), *more])

    @property
    def _imported(self) -> str:
        """A hash of the imported questions and of the configuration that answers them."""
        mode = self.combination.mode
        spec = self.profile.spec(answering_role(self.profile, mode, self.strategy), mode)
        known = "" if self.log is None else self.log.digest
        return fingerprint(
            [IMPORT_VERSION, known, json.dumps(spec.identity(), sort_keys=True), answerer.prompt().hash]
        )

    def missing(self, document_id: str) -> tuple[str, ...]:
        """The questions that people asked and the set did not cover, to be shown to the generator of a document."""
        return () if self.log is None else self.log.missing.get(document_id, ())

    def import_work(self, entry: IndexEntry) -> str:
        """A hash of everything that the answers to imported questions depend on."""
        return fingerprint([self.proof_work(entry), self._imported])

    def proof_work(self, entry: IndexEntry) -> str:
        """A hash of everything that proofs depend on: the configuration, the document, and the texts of the corpus."""
        return fingerprint([self.fingerprint, entry.version, entry.text_sha256, PROOF_VERSION, self.texts])

    def journal(self, entry: IndexEntry, workspace: Workspace) -> DocumentJournal:
        work = fingerprint([self.fingerprint, entry.version, entry.text_sha256])
        key = GenerationResult.journal_key(self.combination, entry.id, work)
        return DocumentJournal(workspace.store, key, work)


def plan(workspace: Workspace, combination: Combination, options: RunOptions) -> CombinationPlan:
    """Resolve configuration and documents.

    Raises StoreError and ConfigError. A model of the profile that cannot do what the scenario's strategy needs also raises ConfigError.
    """
    planned = plan_without_documents(workspace, combination, options)
    documents = workspace.index(combination.corpus).documents[: options.num_documents]
    return replace(planned, documents=documents)


def plan_without_documents(
    workspace: Workspace, combination: Combination, options: RunOptions
) -> CombinationPlan:
    """As `plan`, but without documents."""
    corpus = workspace.corpus(combination.corpus)
    scenario = corpus.scenario(combination.scenario)
    name = workspace.profile_name(combination, options.profile)
    profile = workspace.profile(name)
    _check_models(scenario, profile, name, combination.mode)
    log = workspace.store.find_valid(QuestionLog.key(combination), QuestionLog)
    searches = scenario.searches_corpus and combination.mode is Mode.TEXTUAL
    return CombinationPlan(
        combination=combination,
        corpus=corpus,
        profile_name=name,
        profile=profile,
        limits=wanted_limits(workspace, combination, name, options.target_count, replace=options.replace),
        fingerprint=work_fingerprint(profile, corpus.config, combination.scenario, combination.mode),
        documents=(),
        budget=effective_budget(profile, options.limits),
        texts=_texts(workspace, combination.corpus) if log or searches else "",
        log=log,
    )


def _texts(workspace: Workspace, corpus: str) -> str:
    if workspace.store.find_head(CorpusIndex.key(corpus), CorpusIndex, IndexEntry) is None:
        return ""
    return fingerprint(sorted(f"{one.id} {one.text_sha256}" for one in workspace.entries(corpus)))


def check_usable(workspace: Workspace, combination: Combination, options: RunOptions) -> None:
    """Raise ConfigError for a profile that cannot be used for the combination. No document is read."""
    planned = plan_without_documents(workspace, combination, options)
    question_models(workspace, planned.profile, combination.mode, planned.strategy)


def finished(workspace: Workspace, planned: CombinationPlan, entry: IndexEntry) -> GenerationResult | None:
    """The result of a document; None if there is none, or if it is damaged and must be remade."""
    return workspace.store.find_valid(planned.result_key(entry), GenerationResult)


def unfinished(workspace: Workspace, planned: CombinationPlan) -> list[str]:
    """The ids of the documents without a result, in order."""
    return [entry.id for entry in planned.documents if finished(workspace, planned, entry) is None]


def _check_models(scenario: ScenarioConfig, profile: Profile, name: str, mode: Mode) -> None:
    """Raise ConfigError if the profile lacks a writer of the scenario, or if a model cannot see pages in visual mode. Raise it also if an
    embedded model would have to write text, as for the strategy batch, a style or personas.
    """
    writers = [spec for spec, _ in profile.writing(scenario.writers, mode).values()]
    worded = "personas" if scenario.personas else "style" if scenario.style not in (None, _QUESTIONS) else ""
    if worded and RULES in {one.provider for one in (profile.spec(Role.GENERATOR, mode), *writers)}:
        raise ConfigError(f"{worded}: needs a model that writes; a generator of profile {name} applies rules")
    for role in (Role.GENERATOR, Role.ANSWERER) if scenario.strategy is Strategy.BATCH else ():
        if RULES in {one.provider for one in (profile.spec(role, mode), *writers)}:
            raise ConfigError(
                f"strategy: batch needs a model that writes; profile {name} has none for {role.value}"
            )

    if why := why_blind(profile, name, mode):
        raise ConfigError(why)


def why_blind(profile: Profile, name: str, mode: Mode) -> str | None:
    """Why the generator or the validator cannot see pages in visual mode; None if both can. Embedded models read captions and tables."""
    for role in (Role.GENERATOR, Role.VALIDATOR) if mode is Mode.VISUAL else ():
        spec = profile.spec(role, mode)
        if not spec.images and spec.provider not in FREE_PROVIDERS:
            return (
                f"visual mode needs a {role.value} that sees pictures, and {spec.name} of profile {name} has images: false: "
                f"bind a model that accepts pictures under `visual`, or use --mode textual"
            )
    return None


def blind_combinations(
    space: Workspace, combinations: Iterable[Combination], profile: str | None
) -> dict[Combination, str]:
    """The combinations whose models cannot look at pages, each with the reason. Raises ConfigError."""
    names = {one: space.profile_name(one, profile) for one in combinations}
    reasons = {one: why_blind(space.profile(name), name, one.mode) for one, name in names.items()}
    return {one: text for one, text in reasons.items() if text is not None}


def keep_plan(workspace: Workspace, planned: CombinationPlan, run_id: str, started: str) -> None:
    """Store the plan of a run, so that the catalog has it even if the run fails."""
    workspace.store.write(planned.combination.history_key(run_id, PLAN), planned.record(run_id, started))


def collect(
    workspace: Workspace, planned: CombinationPlan, *, run_id: str, started: str, ended: str
) -> CandidateSet:
    """Collect the results of all documents in the candidate set of the combination, and store it.

    The history of the run also gets one record for each document.
    """
    key = planned.combination
    found = (_line(workspace, planned, entry) for entry in planned.documents)  # one result at a time
    lines = [(line, RunDocument.of(run_id, line, result)) for line, result in found]
    limits = planned.limits.shared(CandidateSet, mix=mix_of(planned.limits))
    candidates = CandidateSet(
        **planned.record(run_id, started).shared(CandidateSet, **limits),
        configuration=planned.configuration,
        ended=ended,
        documents=tuple(line for line, _ in lines),
        retired=planned.earlier(workspace).retired(),
    )
    run_results = RunResults(**dict(key), run_id=run_id, documents=tuple(document for _, document in lines))
    workspace.store.write(key.history_key(run_id, RESULTS), run_results)
    workspace.store.write(CandidateSet.run_key(run_id, key), candidates)
    workspace.store.write(CandidateSet.key(key), candidates)
    return candidates


def _line(
    workspace: Workspace, planned: CombinationPlan, entry: IndexEntry
) -> tuple[CandidateDocument, GenerationResult | None]:
    key, result = planned.result_key(entry), finished(workspace, planned, entry)
    if result is None:
        key = planned.partial_key(entry)
        result = workspace.store.find_valid(key, GenerationResult)
    line = CandidateDocument(
        document_id=entry.id,
        document_version=entry.version,
        text_sha256=entry.text_sha256,
        result_key=None if result is None else key,
        end=DocumentEnd.MODEL_ERROR if result is None else result.end,
        end_detail="no result was stored" if result is None else result.end_detail,
        accepted=0 if result is None else len(result.accepted),
        rejected=0 if result is None else len(result.rejected),
    )
    return line, result


def wanted_questions(
    space: Workspace, combination: Combination, options: RunOptions | None = None
) -> Configuration:
    """The configuration with which a run would make the combination now. Raises ConfigError for an unusable profile."""
    planned = plan_without_documents(space, combination, options or RunOptions())
    specs = specs_of(planned.profile, combination.mode, planned.strategy)
    run_plan = planned.record(run_id="", started="")
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
    parts = _parts(run_plan) | {"target_count": str(run_plan.target_count)} | _run_texts(run_plan)
    return Configuration(planned.configuration, parts, model_settings(specs) | settings)


def made_questions(space: Workspace, combination: Combination, wanted: Configuration) -> Configuration | None:
    """The configuration of the stored candidate set; None if there is none.

    Older versions did not store the plan of a run. Then the texts are taken from `wanted`.
    """
    made = space.store.find_head(CandidateSet.key(combination), CandidateSet, CandidateDocument)
    if made is None:
        return None
    run_plan = space.store.find_valid(combination.history_key(made.run_id, PLAN), RunPlan)
    texts = {name: wanted.parts[name] for name in _TEXTS} if run_plan is None else _run_texts(run_plan)
    parts = _parts(made) | texts | {"target_count": str(made.target_count)}
    return Configuration(made.configuration, parts)


def _parts(one: RunPlan | CandidateSet) -> dict[str, str]:
    prompts = {f"prompt {name}": value[:12] for name, value in one.prompts.items()}
    return {"profile": one.profile, **one.models, **prompts}


def _run_texts(one: RunPlan) -> dict[str, str]:
    return {name: str(getattr(one, field)) for name, field in _TEXTS.items()}


def results_of(workspace: Workspace, candidates: results.CandidateSet) -> Iterator[results.GenerationResult]:
    """The results of the documents in a candidate set, in document order. Raises StoreError.

    They are read one at a time, because all results of a large corpus together would take too much memory.
    """
    for document in candidates.documents:
        if document.result_key is not None:
            yield workspace.store.read(document.result_key, results.GenerationResult)
