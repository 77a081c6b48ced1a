"""Guesses the amounts of a document when there are no past runs, from a model of the agent loop with round numbers.

The result is an order of magnitude for the first run. The sizes of prompts and tools are the real ones. The numbers of attempts and
turns are assumed below.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from qagen_dagster.agents.answering import answerer as excerpts_answerer
from qagen_dagster.agents.evaluation import closed_book
from qagen_dagster.agents.prompts import Prompt
from qagen_dagster.agents.questions import deduplicator, generator, validator
from qagen_dagster.agents.spec import Terminal
from qagen_dagster.configuration.profiles import Role
from qagen_dagster.loop.estimate.forecast import Use
from qagen_dagster.loop.questions.fingerprint import has_text_control
from qagen_dagster.loop.questions.state import QALimits
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.budget import FREE_PROVIDERS
from qagen_dagster.models.messages import ToolSpec
from qagen_dagster.models.rate_limits import PICTURE_TOKENS, TOKEN_CHARACTERS
from qagen_dagster.records.corpus import CorpusConfig, ScenarioConfig
from qagen_dagster.records.document import Document, Outcome
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.questions.submissions import (
    Comparison,
    DuplicateVerdict,
    ReportExhausted,
    SubmitQA,
    SubmitVisualQA,
)
from qagen_dagster.toolkit.document_view import DocumentView
from qagen_dagster.toolkit.search_passages import Meaning
from qagen_dagster.toolkit.toolbox import MAX_CHARACTERS, toolbox

FACTOR = 3.0  # the range: from a third to three times
CHARACTERS_PER_QUESTION = 250  # a text shorter than this times the target runs out of questions
PASS_RATE = 0.75  # accepted share of the attempts
COMPARED = 0.7  # share of attempts with an accepted question so similar that the model is asked
UNEQUAL = 0.5  # share of blind answers that a model has to compare
MENDED = 0.5  # share of the rejected candidates that the generator may correct
SEVERAL = 0.2  # share of an agent's accepted questions that must need several passages
CARD_TOKENS = 150  # the description of its document that an agent gets
ACCEPTED_TOKENS = 40  # an accepted question in the generator's prompt
FOUND_TOKENS = 400  # the result of a search
CALL_TOKENS = 60  # a tool call
SUBMIT_TOKENS = 150  # a result with quotes
VERDICT_TOKENS = 30  # a result without quotes
THOUGHT_TOKENS = 150  # per turn, of a model on a server
_CACHING = ("openai", "anthropic")  # providers that cache what many requests begin with


@dataclass(frozen=True)
class Task:
    """The settings that all documents of a combination share."""

    corpus: CorpusConfig
    scenario: ScenarioConfig
    mode: Mode
    limits: QALimits

    @cached_property
    def told(self) -> int:
        """Tokens of corpus and scenario in the prompts."""
        texts = (
            self.corpus.name, self.corpus.corpus_context, self.scenario.name, self.scenario.description,
        )  # fmt: skip
        return sum(map(len, texts)) // TOKEN_CHARACTERS

    @cached_property
    def _tools(self) -> tuple[ToolSpec, ...]:
        blank = Document(id="-", source="-", format="-", outcome=Outcome.PARSED, source_sha256="")
        meaning: Meaning | None = (lambda _query, _most: ()) if self.scenario.search_meaning else None
        return tuple(tool.spec for tool in toolbox(DocumentView(blank, ()), self.mode, meaning).values())

    def generator_tokens(self) -> int:
        submission = SubmitVisualQA if self.mode is Mode.VISUAL else SubmitQA
        ends = (
            Terminal("submit_qa", submission).spec(),
            Terminal("report_exhausted", ReportExhausted).spec(),
        )
        return self.told + CARD_TOKENS + prompt_tokens(generator.prompt_for(self.mode), (*self._tools, *ends))

    def blind_tokens(self) -> int:
        ends = (Terminal("submit_answer", validator.answer_record(self.mode)).spec(),)
        told = self.told if self.mode is Mode.TEXTUAL else 0
        return told + CARD_TOKENS + prompt_tokens(validator.blind_prompt(self.mode), (*self._tools, *ends))

    def text_tokens(self) -> int:
        """Tokens of the prompt and the tools of the text control."""
        return replace(self, mode=Mode.TEXTUAL).blind_tokens()

    def comparison_tokens(self) -> int:
        ends = (Terminal("submit_comparison", Comparison).spec(),)
        return self.told + 2 * SUBMIT_TOKENS + prompt_tokens(validator.compare_prompt(), ends)

    def duplicate_tokens(self, known: float) -> float:
        """Tokens of a comparison with `known` questions."""
        ends = (Terminal("submit_duplicate_verdict", DuplicateVerdict).spec(),)
        return prompt_tokens(deduplicator.prompt(), ends) + (1 + known) * ACCEPTED_TOKENS


def expected_questions(size: float, target: int) -> float:
    """The expected number of accepted questions of a document of `size` characters."""
    return min(float(target), size / CHARACTERS_PER_QUESTION)


def guess(task: Task, size: float, models: dict[Role, ModelSpec]) -> dict[str, Use]:
    """The amounts of each role for one document of `size` characters."""
    target = task.limits.target_count
    questions = expected_questions(size, target)
    tries = min(questions / PASS_RATE, float(task.limits.max_attempts))
    # The further below the target, the more likely is one more attempt that finds nothing.
    proposals = min(questions / PASS_RATE + 1 - questions / target, float(task.limits.max_attempts))
    compared = COMPARED * max(0.0, tries - 1)
    start = task.generator_tokens() + ACCEPTED_TOKENS * questions / 2
    proposal = conversation(start, size, models[Role.GENERATOR], task.mode, 3)
    blind, judged = validation(task, size, models[Role.VALIDATOR])
    mended = corrections(tries - questions, models[Role.GENERATOR])
    hidden = hidden_passages(task, models[Role.VALIDATOR]).times(SEVERAL * questions)
    pair = one_call(
        task.duplicate_tokens(questions / 2),
        written(VERDICT_TOKENS, models[Role.DEDUPLICATOR]),
        models[Role.DEDUPLICATOR],
    )
    return {
        Role.GENERATOR.value: proposal.times(proposals + mended / proposal.calls),
        Role.VALIDATOR.value: blind.times(tries)
        .plus(judged.times(UNEQUAL * (tries + mended)))
        .plus(text_control(task, size, models[Role.VALIDATOR]).times(questions))
        .plus(hidden),
        Role.DEDUPLICATOR.value: pair.times(compared),
    }


def validation(task: Task, size: float, spec: ModelSpec) -> tuple[Use, Use]:
    """The amounts of the two steps of one validation: the blind answer, and the comparison in one turn."""
    blind = conversation(task.blind_tokens(), size, spec, task.mode, 2)
    return blind, one_call(task.comparison_tokens(), written(VERDICT_TOKENS, spec), spec)


def text_control(task: Task, size: float, spec: ModelSpec) -> Use:
    """The amounts of one text control, whose answer a model compares where code cannot. Embedded models need none."""
    if not has_text_control(task.scenario, task.mode, spec):
        return Use()
    answered = conversation(task.text_tokens(), size, spec, Mode.TEXTUAL, 2)
    return answered.plus(marking(spec).times(UNEQUAL))


def corrections(rejected: float, generator: ModelSpec) -> float:
    """How many of the rejected candidates are corrected. Embedded models correct none."""
    return 0.0 if generator.provider in FREE_PROVIDERS else MENDED * rejected


def hidden_passages(task: Task, spec: ModelSpec) -> Use:
    """The amounts of hiding two passages of one question in turn: two answers, one of which a model compares."""
    if task.mode is Mode.VISUAL:
        return Use()
    ends = (Terminal("submit_document_answer", excerpts_answerer.SubmittedAnswer).spec(),)
    given = SUBMIT_TOKENS + prompt_tokens(excerpts_answerer.prompt(), ends)
    answered = one_call(given, written(VERDICT_TOKENS, spec), spec)
    return answered.times(2).plus(marking(spec).times(UNEQUAL))


def marking(spec: ModelSpec) -> Use:
    """The amounts of comparing an answer of a control with the proposed one."""
    return one_call(prompt_tokens(closed_book.marking_prompt(), ()), written(VERDICT_TOKENS, spec), spec)


def comparison(task: Task, spec: ModelSpec) -> Use:
    """The amounts of one comparison with similar questions of other documents."""
    return one_call(task.duplicate_tokens(3), written(VERDICT_TOKENS, spec), spec)


def conversation(start: float, size: float, spec: ModelSpec, mode: Mode, turns: int) -> Use:
    """Turns that read, look and search, then submit. Each turn sends the whole conversation again.

    A model on a server sees the text in its first message. It comes from the cache of a provider that is known to have one.
    """
    local = spec.provider in FREE_PROVIDERS
    turns = 2 if local else turns
    opened = 0.0 if local or mode is Mode.VISUAL else min(size, spec.opening_characters) / TOKEN_CHARACTERS
    document = 0.0 if opened else min(size, MAX_CHARACTERS) / TOKEN_CHARACTERS
    pictures = PICTURE_TOKENS if mode is Mode.VISUAL else 0
    total, said = Use(), start + opened
    for turn in range(turns + (mode is Mode.VISUAL)):
        last = turn == turns - 1 + (mode is Mode.VISUAL)
        output = written(SUBMIT_TOKENS if last else CALL_TOKENS, spec)
        total = total.plus(one_call(said, output, spec))
        said += output + ((document + pictures) if turn == 0 else FOUND_TOKENS)
    return total._replace(cached_tokens=opened * total.calls) if spec.provider in _CACHING else total


def written(tokens: float, spec: ModelSpec) -> float:
    return tokens if spec.provider in FREE_PROVIDERS else tokens + THOUGHT_TOKENS


def one_call(input_tokens: float, output_tokens: float, spec: ModelSpec) -> Use:
    """One call. A server needs a second or two to start and writes about 60 tokens per second."""
    seconds = 0.05 if spec.provider in FREE_PROVIDERS else 1.5 + output_tokens / 60
    return Use(calls=1.0, input_tokens=input_tokens, output_tokens=output_tokens, seconds=seconds)


def prompt_tokens(prompt: Prompt, tools: Iterable[ToolSpec]) -> int:
    size = len(prompt.system) + len(prompt.user)
    size += sum(len(one.description) + len(json.dumps(one.parameters)) for one in tools)
    return size // TOKEN_CHARACTERS
