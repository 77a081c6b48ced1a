"""The fingerprint of the configuration that the results of a combination depend on.

Timeouts, prices and retries are left out, because they do not change a response.
"""

import json
from collections.abc import Collection
from typing import Any

from qagen_dagster.agents import answering as excerpts_answerer
from qagen_dagster.agents import evaluation
from qagen_dagster.agents.questions import across, deduplicator, generator, no_answer, validator
from qagen_dagster.agents.questions.batch import answerer, one_reply, questioner
from qagen_dagster.configuration.profiles import QUESTION_ROLES, Profile, Role
from qagen_dagster.grounding import claim_rules, judge
from qagen_dagster.index.search import index_fingerprint
from qagen_dagster.models.spec import OPENING_CHARACTERS, ModelSpec
from qagen_dagster.records.corpus_options import (
    BatchOptions,
    Complexity,
    CorpusConfig,
    QuestionType,
    ScenarioConfig,
    Span,
    Strategy,
)
from qagen_dagster.records.ids import Mode, fingerprint

LOOP_VERSION = "12"  # increase if the same responses would give another result
BATCH_VERSION = "14"  # the same for the batch strategy, including the grading of its answers
PROOF_VERSION = "1"  # the same for questions that are proved by a search in the corpus
IMPORT_VERSION = "1"  # the same for imported questions
_OPENED = (Role.GENERATOR, Role.VALIDATOR)
_WORDING = {"language", "max_overlap", "audience", "style", "personas"}
_QUOTAS = frozenset({"mix", "complexity", "question_types"})  # these are limits, like the target


def prompt_hashes(
    mode: Mode,
    strategy: Strategy = Strategy.AGENT,
    *,
    control: bool = False,
    closed: bool = True,
    staged: Collection[str] = (),
) -> dict[str, str]:
    """The hashes of the prompts that a mode and a strategy use, by name.

    `control` adds the prompts of the text control, and `closed` the prompts of the closed-book call. In textual mode, `staged`
    adds the prompts for questions without an answer and for questions across documents, if it names these kinds.
    """
    staged = staged if mode is Mode.TEXTUAL else ()
    spans = strategy is Strategy.ACROSS or Span.ACROSS in staged
    asking = (one_reply.beginning_prompt(), questioner.prompt(), questioner.rewrite_prompt())
    batch = (*asking, answerer.prompt(), judge.judge_prompt())
    prompts = (
        *(batch if strategy is Strategy.BATCH else ()),
        *((generator.prompt_for(mode),) if strategy is Strategy.AGENT else ()),
        *((across.prompt(),) if spans else ()),
        *(
            (validator.blind_prompt(mode), *validator.compare_prompts())
            if strategy is not Strategy.ACROSS
            else ()
        ),
        deduplicator.prompt(),
        *(evaluation.prompts() if closed else ()),
        *((evaluation.several_prompt(),) if closed and strategy is Strategy.BATCH else ()),
        *((no_answer.prompt(),) if {*staged} - {Span.ACROSS} else ()),
        *((excerpts_answerer.several_prompt(),) if spans or staged else ()),
        *((validator.blind_prompt(Mode.TEXTUAL), evaluation.marking_prompt()) if control else ()),
        *((excerpts_answerer.prompt(), evaluation.marking_prompt()) if mode is Mode.TEXTUAL else ()),
    )
    return {prompt.name: prompt.hash for prompt in prompts}


def specs_of(profile: Profile, mode: Mode, strategy: Strategy = Strategy.AGENT) -> dict[Role, ModelSpec]:
    """The models of a strategy in a mode, by role."""
    more = (Role.ANSWERER, Role.JUDGE) if strategy is Strategy.BATCH else ()
    found = {role: profile.find(role, mode) for role in (*QUESTION_ROLES, *more)}
    return {role: spec for role, spec in found.items() if spec is not None}


def has_text_control(config: ScenarioConfig, mode: Mode, validator: ModelSpec) -> bool:
    """Whether the validator checks that questions need a picture. A validator that sees no pictures cannot check this."""
    sees = validator.images and validator.provider != "embedded"
    return mode is Mode.VISUAL and config.text_control and sees


def prompts_of(profile: Profile, config: ScenarioConfig, mode: Mode) -> dict[str, str]:
    """The hashes of the prompts of a scenario in a mode, by name."""
    return prompt_hashes(
        mode,
        config.strategy,
        control=has_text_control(config, mode, profile.spec(Role.VALIDATOR, mode)),
        closed=config.closed_book,
        staged=config.staged,
    )


def has_types(config: ScenarioConfig) -> bool:
    """Whether the mix counts types of questions or presets of types. If so, the validator judges the type of each question."""
    return any(isinstance(kind, QuestionType | Complexity) for kind in config.mix or {})


def model_fingerprint(profile: Profile, config: ScenarioConfig, mode: Mode) -> str:
    """A hash of the models, their settings and the prompts of a scenario in a mode."""
    strategy = config.strategy
    control = has_text_control(config, mode, profile.spec(Role.VALIDATOR, mode))
    specs = specs_of(profile, mode, strategy)
    models = {
        role.value: spec.identity() | _opening(role, spec, mode, control=control)
        for role, spec in specs.items()
    }
    writers = [
        f"{name} {share} {json.dumps(spec.identity(), sort_keys=True)}"
        for name, (spec, share) in profile.writing(config.writers, mode).items()
    ]
    prompts = prompts_of(profile, config, mode)
    return fingerprint([json.dumps(models, sort_keys=True), json.dumps(prompts, sort_keys=True), *writers])


def _opening(role: Role, spec: ModelSpec, mode: Mode, *, control: bool) -> dict[str, Any]:
    """The size of the document's opening, as a setting of a model. Empty if the role sees no opening, or if the size is the default."""
    shown = role is Role.VALIDATOR if control else mode is Mode.TEXTUAL and role in _OPENED
    other = spec.opening_characters != OPENING_CHARACTERS
    return {"opening_characters": spec.opening_characters} if shown and other else {}


def work_fingerprint(profile: Profile, corpus: CorpusConfig, scenario: str, mode: Mode) -> str:
    """A hash of everything that the journal of a document depends on, except the document itself.

    The limits of the loop are left out, so that a run with a higher target resumes the same journal.
    """
    config = corpus.scenarios[scenario]
    texts = [corpus.name, corpus.corpus_context, config.name, config.description]
    batch = _batch(config) if config.strategy is Strategy.BATCH else []
    meaning = (
        ["search_meaning", index_fingerprint(profile.embedder, corpus.index)] if config.search_meaning else []
    )
    models_hash = model_fingerprint(profile, config, mode)
    wording = config.model_dump_json(include=_WORDING, exclude_defaults=True)
    proofs = [PROOF_VERSION] if config.strategy is Strategy.ACROSS else []
    worded = [wording] if wording != "{}" else []
    typed = [questioner.guides().hash] if has_types(config) else []
    return fingerprint([LOOP_VERSION, models_hash, *texts, *batch, *meaning, *worded, *proofs, *typed])


def _batch(config: ScenarioConfig) -> list[str]:
    options = config.batch or BatchOptions()
    return [
        BATCH_VERSION,
        questioner.guides().hash,
        options.model_dump_json(exclude=set(_QUOTAS)),
        config.grading.method.value,
        claim_rules.VERSION,
    ]
