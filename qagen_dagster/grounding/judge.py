"""Grades answers by a model, the judge, and chooses the part of a document that the judge sees.

The grades follow "QAGRedo Algorithm Report", section 4.3.3. If a document is long, the judge sees the first two sentences, the lines that
the answer quotes, and the passages that a search finds. A failure of the judge becomes a part of the grade, unless the judge must reply.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, zip_longest

from qagen_dagster.agents.next_step import Finish, GiveUp, GiveUpReason
from qagen_dagster.agents.prompts import Prompt, load_prompt
from qagen_dagster.agents.runner import call_summaries, run_agent
from qagen_dagster.agents.spec import AgentLimits, AgentSpec, Terminal
from qagen_dagster.english.sentences import claims
from qagen_dagster.english.words import content_stems
from qagen_dagster.errors import ContextOverflowError, ModelError, RequestRefusedError
from qagen_dagster.grounding.grade_by_code import GROUNDED_CONFIDENCE
from qagen_dagster.grounding.no_claim import is_generic
from qagen_dagster.grounding.source import Source
from qagen_dagster.models.base import Model
from qagen_dagster.models.messages import Request, Response
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.grading import AnswerGrade, JudgeVerdict, SentenceGrade, SentenceStatus, Verdict
from qagen_dagster.records.questions.submissions import GroundingVerdict
from qagen_dagster.records.run import CallSummary
from qagen_dagster.toolkit.excerpt import enclose, neutralise

WINDOWS = 12  # maximum sentences that the search finds for each claim, best first
LONGEST = 2_000  # maximum characters shown of one sentence; longer sentences are tables or lists
TABLE_ROWS = 40  # rows of a table that are shown with any of its rows
WHOLE = "The whole document, with line numbers; empty lines are left out:"
PARTS = (
    "Excerpts of a document of {lines} lines, with line numbers, found by a search for the words of the question and the "
    "answer{also}; [...] stands where lines are left out. The document says more than is shown: where nothing but the excerpts' silence "
    "speaks against a claim, the verdict is NOT_SUPPORTED with a confidence of at most 0.6. If the answer says that the document does "
    "not give something, the confidence is at most 0.6 as well."
)
QUOTED = ", with the passages that were quoted for it"
_DELIMITER = re.compile(r"<(?=[\s/\\]*(?:question|answer)\b)", re.IGNORECASE)


Lines = tuple[int, int]  # first and last line, 1-based and inclusive


@dataclass(frozen=True)
class Excerpt:
    """The part of a document that a prompt shows, and the sentence that describes this part."""

    scope: str
    document: str


def shown(source: Source, question: str, answer: str, budget: int, quoted: Sequence[Lines] = ()) -> Excerpt:
    """Up to `budget` characters of the document, not counting line numbers. `quoted` lines and the lines beside them are chosen first."""
    lines = source.text.split("\n")
    if len(source.text) <= budget:
        kept = ((number, " ".join(line.split())) for number, line in enumerate(lines, 1))
        return Excerpt(WHOLE, enclose([f"{number}| {as_data(line)}" for number, line in kept if line]))
    rows = list(_rows(source, _chosen(source, question, answer, budget, quoted)))
    also = QUOTED if quoted else ""
    return Excerpt(PARTS.format(lines=len(lines), also=also), enclose(rows))


def as_data(text: str) -> str:
    """The text with its delimiters escaped, so that it cannot end its block."""
    return _DELIMITER.sub(r"<\\", neutralise(text))


def _chosen(
    source: Source, question: str, answer: str, budget: int, quoted: Sequence[Lines] = ()
) -> list[int]:
    """The numbers of the sentences to show, in the document's order. Sentences are chosen up to `budget` characters:
    the sentences on and around quoted lines, the first two of the document, then the best for each claim in turn."""
    chosen: dict[int, None] = {}
    used = 0
    near = [number for first, last in quoted for number in source.sentences_on(first - 1, last + 1)]
    for first in (*near, 0, 1, *_wanted(source, question, answer)):
        if first in chosen or not 0 <= first < len(source.sentences):
            continue
        for number in _with_its_table(source, first):
            if number in chosen:
                continue
            length = min(LONGEST, len(source.sentences[number].text))
            if used + length > budget:
                return sorted(chosen)
            chosen[number] = None
            used += length
    return sorted(chosen)


def _with_its_table(source: Source, number: int) -> list[int]:
    """The sentence's number. For a row of a table, also the numbers of the caption and the other rows, because they are read together."""
    if not _is_row(source, number):
        return [number]
    first = last = number
    while first > 0 and _is_row(source, first - 1) and number - first < TABLE_ROWS:
        first -= 1
    while last + 1 < len(source.sentences) and _is_row(source, last + 1) and last - first < TABLE_ROWS:
        last += 1
    caption = range(max(0, first - 2), first) if first else ()
    return [number, *caption, *range(first, last + 1)]


def _is_row(source: Source, number: int) -> bool:
    return source.sentences[number].text.startswith("|")


def _wanted(source: Source, question: str, answer: str) -> Iterator[int]:
    texts = [question, *(claim.text for claim in claims(answer))]
    for rank in zip_longest(*(list(_passages(source, text)) for text in texts)):
        for passage in rank:
            yield from passage or ()


def _passages(source: Source, text: str) -> Iterator[Iterable[int]]:
    """The sentences that share the most words with `text`, each alone, then each with its neighbours."""
    windows = source.candidates(content_stems(text), WINDOWS)
    best = [window.first for window in windows if window.size == 1][:WINDOWS]
    yield from (range(number, number + 1) for number in best)
    yield from (range(number - 1, number + 2) for number in best)


def _rows(source: Source, chosen: list[int]) -> Iterator[str]:
    ends = list(accumulate(len(line) + 1 for line in source.text.split("\n")))
    previous = -1
    for number in chosen:
        if number != previous + 1:
            yield "[...]"
        sentence = source.sentences[number]
        text = " ".join(sentence.text[:LONGEST].split())
        hidden = len(sentence.text) - LONGEST
        note = f" [{hidden} characters left out]" if hidden > 0 else ""
        yield f"{bisect_right(ends, sentence.start) + 1}| {as_data(text)}{note}"
        previous = number
    if previous + 1 < len(source.sentences):
        yield "[...]"


ROLE = "judge"
TERMINAL = "submit_verdict"
# Maximum characters of the document that are shown; if the model refuses a prompt, the next smaller number is tried.
BUDGETS = (100_000, 24_000, 6_000)
BESIDE_QUOTES = 3_000  # characters shown in addition to the quotes of an answer that has quotes
SHORT = 16_000  # characters of a document that is shown whole even if there are quotes
NO_JUDGE = "no judge is bound"


@dataclass(frozen=True)
class Judge:
    """The model that judges an answer, and the data on the answer that only a judge needs.

    `attempt` distinguishes repeated gradings of the same answer, so that each gets its own verdict. `quoted` holds the lines of the
    answer's evidence. The judge of a long document then sees these lines, the lines near them, and the lines that a search finds. With
    `must_reply`, a failure of the model is raised, unless the prompt is too long for the model.
    """

    model: Model
    document_id: str = ""
    attempt: int = 1
    quoted: Sequence[Lines] = ()
    must_reply: bool = False

    def most(self, source: Source) -> int:
        """The maximum number of characters of the document to show."""
        lines = source.text.split("\n") if self.quoted else ()
        quotes = sum(len(line) for first, last in self.quoted for line in lines[first - 1 : last])
        short = not self.quoted or len(source.text) <= SHORT
        return BUDGETS[0] if short else min(BUDGETS[0], quotes + BESIDE_QUOTES)


@dataclass(frozen=True)
class Judged:
    """The outcome of asking the judge: a verdict, or the reason why there is none."""

    verdict: JudgeVerdict | None
    failure: str
    calls: tuple[CallSummary, ...] = ()


def judge_prompt() -> Prompt:
    return load_prompt("grading/judge")


def grade_by_judge(question: str, answer: str, source: Source, judge: Judge | None) -> AnswerGrade:
    """Grade `answer` by the judge's verdict. Without a verdict nothing is measured, and the grade keeps the reason.

    The confidence of the grade is the confidence that the answer is grounded: for NOT_SUPPORTED, one minus the judge's confidence.
    """
    pieces = [claim.text for claim in claims(answer)]
    if not pieces:
        return AnswerGrade(is_grounded=None, confidence=None, method="llm")
    judged = ask_judge(question, answer, source, judge)
    if judged.verdict is None:
        return AnswerGrade(
            is_grounded=None,
            confidence=None,
            method="llm (no judge)" if judge is None else "llm (judge failed)",
            sentences=tuple(
                SentenceGrade(sentence=piece, status=SentenceStatus.NOT_MEASURED, reason=judged.failure)
                for piece in pieces
            ),
            judge_failure=judged.failure,
            calls=judged.calls,
        )
    return grade_of_verdict(pieces, judged.verdict, judged.calls)


def grade_of_verdict(pieces: list[str], verdict: JudgeVerdict, calls: tuple[CallSummary, ...]) -> AnswerGrade:
    """The grade that follows from a verdict alone. `pieces` are the sentences of the answer."""
    supported = verdict.verdict is Verdict.SUPPORTED
    confidence = verdict.confidence if supported else round(1 - verdict.confidence, 6)
    return AnswerGrade(
        is_grounded=supported and confidence >= GROUNDED_CONFIDENCE,
        confidence=confidence,
        method="llm",
        issues=() if supported else (judge_issue(verdict),),
        sentences=tuple(_judged(piece, supported, verdict.reason) for piece in pieces),
        llm_verdict=verdict,
        calls=calls,
    )


def _judged(piece: str, supported: bool, reason: str) -> SentenceGrade:
    if is_generic(piece):
        return SentenceGrade(sentence=piece, status=SentenceStatus.GENERIC)
    if supported:
        return SentenceGrade(sentence=piece, status=SentenceStatus.SUPPORTED)
    return SentenceGrade(sentence=piece, status=SentenceStatus.NOT_FOUND, reason=reason)


def judge_issue(verdict: JudgeVerdict) -> str:
    """The verdict in one line for a person."""
    return f"Judge: {verdict.verdict.value} ({verdict.confidence:.2f}): {verdict.reason or 'no reason given'}"


def ask_judge(question: str, answer: str, source: Source, judge: Judge | None) -> Judged:
    """Ask the judge, with one turn to repair an unreadable reply. If the prompt may be too long, ask again with less of the document.

    Raises ModelError only if the judge must reply.
    """
    if judge is None:
        return Judged(None, NO_JUDGE)
    model = RecordingModel(judge.model)
    end: Finish | GiveUp | ModelError = GiveUp(GiveUpReason.MAX_TURNS, "")
    most = judge.most(source)
    for budget in (most, *(less for less in BUDGETS if less < min(most, len(source.text)))):
        part = shown(source, question, answer, budget, judge.quoted)
        values = {"scope": part.scope, "document": part.document, "question": question, "answer": answer}
        try:
            end = run_agent(_spec(), model, {}, values, sample=judge.attempt).end
        except ModelError as error:
            end = error
        too_long = isinstance(end, GiveUp) and end.reason is GiveUpReason.CONTEXT_OVERFLOW
        if not too_long and not isinstance(end, RequestRefusedError):  # a refusal may mean "too long"
            break
    if judge.must_reply and model.error is not None and not isinstance(model.error, ContextOverflowError):
        raise model.error
    calls = model.calls(ROLE, judge.document_id, judge.attempt)
    if isinstance(end, ModelError):
        return Judged(None, f"{type(end).__name__.removesuffix('Error')}: {end}", calls)
    if isinstance(end, GiveUp):
        return Judged(None, str(end), calls)
    submitted = GroundingVerdict.model_validate(end.result)
    reason = " ".join(submitted.reason.split())
    verdict = JudgeVerdict(verdict=Verdict(submitted.verdict), confidence=submitted.confidence, reason=reason)
    return Judged(verdict, "", calls)


def _spec() -> AgentSpec:
    return AgentSpec(
        name="grounding judge",
        role=ROLE,
        prompt=judge_prompt(),
        tools=(),
        terminals=(Terminal(TERMINAL, GroundingVerdict),),
        limits=AgentLimits(max_turns=2, max_tool_calls=8, max_nudges=1),
        reads_text=True,
    )


class RecordingModel:
    """A `Model` that keeps its responses, because responses before an error are paid, too. `error` is the error of the last call, or None
    if that call had a response."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.responses: list[Response] = []
        self.error: ModelError | None = None

    @property
    def spec(self) -> ModelSpec:
        return self._model.spec

    def respond(self, request: Request) -> Response:
        try:
            response = self._model.respond(request)
        except ModelError as error:
            self.error = error
            raise
        self.error = None
        self.responses.append(response)
        return response

    def calls(self, role: str, document_id: str, attempt: int) -> tuple[CallSummary, ...]:
        """The summaries of the responses so far, for the account of costs."""
        return call_summaries(self.responses, role, self.spec, document_id, attempt)
