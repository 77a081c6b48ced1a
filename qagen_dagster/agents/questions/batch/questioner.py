"""The generator of the batch strategy writes many typed questions at once, or one question that replaces another.

The file `question_types.md` describes each type: its meaning, an instruction, a pattern, and an example about an invented document. A
scenario's options choose the types.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from qagen_dagster.agents.next_step import Finish
from qagen_dagster.agents.prompts import Prompt, load_prompt
from qagen_dagster.agents.questions.batch import one_reply
from qagen_dagster.agents.questions.batch.one_reply import Reply, Task, ask
from qagen_dagster.agents.questions.batch.shown_text import BUDGETS, Reading
from qagen_dagster.agents.questions.generator import listed, refused
from qagen_dagster.agents.questions.mix import Mix
from qagen_dagster.agents.questions.prompt_values import QAContext
from qagen_dagster.agents.spec import Terminal, without_tools
from qagen_dagster.errors import ConfigError, ToolError
from qagen_dagster.models.base import Model
from qagen_dagster.records.base import Record
from qagen_dagster.records.corpus_options import Complexity, QuestionType
from qagen_dagster.records.ids import digest
from qagen_dagster.records.questions.batch import DraftQuestion, NotPossible, SubmitQuestions, SubmitRewrite
from qagen_dagster.records.run import CallSummary
from qagen_dagster.toolkit.excerpt import block

_FILE = Path(__file__).with_name("question_types.md")


@dataclass(frozen=True)
class Guide:
    """The description of one question type."""

    means: str
    ask: str
    fails: str  # when a question is not of the type
    pattern: str
    example: str
    answer: str


@dataclass(frozen=True)
class Guides:
    """The contents of `question_types.md`. `bad` are unwanted questions; the first of them is unwanted only if lookups are unwanted."""

    rules: str
    complexity: str
    document: str
    bad: tuple[str, ...]
    types: dict[QuestionType, Guide]
    hash: str


_GENERAL = ("rules", "complexity", "document", "bad")  # the sections that describe no type
_LINES = ("means", "ask", "not", "pattern", "example", "answer")  # of a type, in the order of `Guide`
_NO_TYPE = (
    "is no question type: add it to QuestionType in records/corpus_options.py, and to _DERIVED_TYPES in "
    "agents/questions/evidence/answer_support.py if its answers are not words of the quotes"
)
_NOT_DESCRIBED = f"has no section (a question type has the lines {', '.join(_LINES)})"


@cache
def guides() -> Guides:
    """Read `question_types.md`. Raises ConfigError unless it has each general section and each question type once, with all lines."""
    text = _FILE.read_text(encoding="utf-8")
    parts = [part.partition("\n") for part in ("\n" + text).split("\n## ")[1:]]
    sections = [(name.strip(), body.strip()) for name, _, body in parts]
    texts = _exactly(sections, (*_GENERAL, *(kind.value for kind in QuestionType)), _NO_TYPE, _NOT_DESCRIBED)
    return Guides(
        rules=texts["rules"],
        complexity=texts["complexity"],
        document=texts["document"],
        bad=tuple(texts["bad"].splitlines()),
        types={kind: _guide(kind, texts[kind.value]) for kind in QuestionType},
        hash=digest(text)[:16],
    )


def _guide(kind: QuestionType, body: str) -> Guide:
    parts = [line.partition(":") for line in body.splitlines()]
    lines = [(name, value.strip()) for name, _, value in parts]
    texts = _exactly(lines, _LINES, f"is no line of {kind.value}", f"is missing in {kind.value}")
    return Guide(*(texts[name] for name in _LINES))


def _exactly(
    found: Sequence[tuple[str, str]], wanted: Sequence[str], unknown: str, missing: str
) -> dict[str, str]:
    """The texts by name. Raises ConfigError that names the unknown, missing or repeated names."""
    counts = Counter(name for name, _ in found)
    faults = [f"{name!r} {unknown}" for name in counts if name not in wanted]
    faults += [f"{name!r} {missing}" for name in wanted if name not in counts]
    faults += [f"{name!r} is there twice" for name, count in counts.items() if count > 1]
    if faults:
        raise ConfigError("; ".join(faults), file=_FILE)
    return dict(found)


def in_words(types: Sequence[QuestionType]) -> str:
    """The definition, instruction and pattern of each type, as text."""
    known = guides().types
    return "\n".join(
        f"{kind.value}: {known[kind].means}\n  Ask {known[kind].ask}\n  Pattern: {known[kind].pattern}"
        for kind in types
    )


def wanted_in_words(left: Mix) -> str:
    """The kinds that are left of a mix, and the meanings of its types."""
    known, names = guides().types, {name for counts in left.counts for name, count in counts.items() if count}
    meant = {kind: Complexity.of(kind) for kind in known if names & {kind, Complexity.of(kind)}}
    return "\n".join(
        (*left.told(), *(f"{kind} ({level}): {known[kind].means}" for kind, level in meant.items()))
    )


def rule_of(question_type: str) -> str:
    """The rule by which the validator judges a question of the type; empty if no rule describes the type."""
    guide = {kind.value: guide for kind, guide in guides().types.items()}.get(question_type)
    if guide is None:
        return ""
    return f"{question_type}: {guide.means} Its questions ask {guide.ask} It fails the type if this holds: {guide.fails}"


def rules(types: Sequence[QuestionType]) -> str:
    """The rules for all questions, including the rules on complexity if a type asks for more than a lookup."""
    if not {*types} - {QuestionType.FACTUAL}:
        return guides().rules
    note = "Besides, for every type but factual:\n" if QuestionType.FACTUAL in types else ""
    return f"{guides().rules}\n{note}{guides().complexity}"


def examples(types: Sequence[QuestionType]) -> str:
    """Good examples of the types, then bad examples, about the invented document."""
    known = guides()
    good = [f"- {kind.value}: {known.types[kind].example} ({known.types[kind].answer})" for kind in types]
    bad = known.bad if QuestionType.FACTUAL not in types else known.bad[1:]
    return "\n".join((f'"{known.document}"', "Good, with their answers:", *good, "Bad:", *bad))


ROLE = "generator"
SPARE = 3  # maximum questions of a type that are kept in reserve
_SHOWN_KNOWN = 200  # maximum of each kind in a prompt, so that prompts stay short
_SHOWN_REJECTED = 20
_NOTHING = "Give at least one question, or name every type under not_possible with the reason."


@dataclass(frozen=True)
class Told:
    """The earlier questions that the generator's prompt lists: accepted and pending questions, and rejected questions with the reasons.

    `of_these` states what the requested questions must have besides their types.
    """

    known: Sequence[tuple[str, QuestionType]] = ()
    rejected: Sequence[tuple[str, str]] = ()
    of_these: Sequence[str] = ()

    @property
    def known_with_types(self) -> list[str]:
        return [f"{question} [{kind.value}]" for question, kind in self.known[-_SHOWN_KNOWN:]]


@dataclass(frozen=True)
class Questions:
    """The result of one round: questions, types that the document has no material for, or the reason why there are neither."""

    questions: tuple[DraftQuestion, ...]
    not_possible: tuple[NotPossible, ...]
    failure: str
    parts: tuple[int, ...]  # the parts that were shown
    calls: tuple[CallSummary, ...]
    was_cut: bool = False  # at the output limit


class Rewritten(Record):
    """The generator was asked for another wording of a question.

    If `question` is empty, the wording stays as it is. Then `failure` may say why, and `refused` is a new wording that was not accepted.
    If the old wording cannot be used any more, `dropped` states the reason.
    """

    kind: Literal["rewritten"] = "rewritten"
    question: str
    failure: str = ""
    refused: str = ""
    dropped: str = ""
    calls: tuple[CallSummary, ...] = ()


def prompt() -> Prompt:
    return load_prompt("questions/batch/questions")


def rewrite_prompt() -> Prompt:
    return load_prompt("questions/batch/rewrite")


def reserve(count: int) -> int:
    """The number of questions of a type to request beyond `count`: a quarter, at most SPARE. A round for each rejected one costs more."""
    return min(SPARE, -(-count // 4))


def asked_for(wanted: Mapping[QuestionType, int], most: int) -> dict[QuestionType, int]:
    """The number of questions to request of each type: `wanted` and a reserve, evenly reduced if the total exceeds `most`."""
    full = {kind: count + reserve(count) for kind, count in wanted.items()}
    rows = sorted(((place, kind) for kind in full for place in range(full[kind])), key=lambda one: one[0])
    taken = Counter(kind for _, kind in rows[:most])
    return {kind: taken[kind] for kind in full if taken[kind]}


def propose(
    context: QAContext,
    model: Model,
    reading: Reading,
    asked: Mapping[QuestionType, int],
    told: Told,
    round_: int,
) -> Questions:
    """Ask for the `asked` number of questions of each type. `round_` counts from 1. Raises ModelError."""
    terminal = Terminal("submit_questions", SubmitQuestions, _refuse_nothing, items="questions")
    spec = without_tools("batch question generator", ROLE, prompt(), terminal, max_nudges=1)
    types = list(asked)
    values = context.task_values(writes=True) | {
        "types": in_words(types),
        "rules": rules(types),
        "examples": examples(types),
        "wanted": block(
            (
                *(f"- {kind.value}: {count}" for kind, count in asked.items()),
                *(f"- of these, apart from a reserve: {one}" for one in told.of_these),
            )
        ),
        "known": listed(told.known_with_types),
        "rejected": refused(told.rejected[-_SHOWN_REJECTED:]),
    }
    choices = [reading.choose(round_, budget) for budget in BUDGETS]
    reply = ask(spec, model, context, reading, Task(choices, attempt=0, sample=round_), values)
    return _questions(reply, asked)


def rewrite(
    context: QAContext, model: Model, reading: Reading, rejected: "Rejection", told: Told, task: Task
) -> Rewritten:
    """Ask for one question that replaces a rejected question; `task` holds the parts to show. Raises ModelError."""
    terminal = Terminal("submit_rewrite", SubmitRewrite)
    spec = without_tools("batch question corrector", ROLE, rewrite_prompt(), terminal, max_nudges=1)
    values = context.task_values(writes=True)
    values = {name: values[name] for name in ("scenario_name", "scenario_description")} | {
        "types": in_words([rejected.question_type]),
        "rules": rules([rejected.question_type]),
        "question": rejected.question,
        "reason": rejected.reason,
        "tried": refused(rejected.tried[-_SHOWN_REJECTED:]),
        "known": listed(told.known_with_types),
    }
    reply = ask(spec, model, context, reading, task, values)
    if isinstance(reply.run.end, Finish):
        submitted = SubmitRewrite.model_validate(reply.run.end.result)
        return Rewritten(question=one_reply.untagged(submitted.question)[0], calls=reply.calls)
    found = one_reply.questions(reply.texts, rejected.question_type)
    if found:
        return Rewritten(question=found[0].question, calls=reply.calls)
    return Rewritten(question="", failure=reply.failure, calls=reply.calls)


@dataclass(frozen=True)
class Rejection:
    """A question that is to be replaced."""

    question: str
    question_type: QuestionType
    reason: str
    tried: Sequence[tuple[str, str]] = ()  # earlier replacements, with the reasons why they were rejected


def _questions(reply: Reply, asked: Mapping[QuestionType, int]) -> Questions:
    if isinstance(reply.run.end, Finish):
        submitted = SubmitQuestions.model_validate(reply.run.end.result)
        drafts, impossible, failure = submitted.questions, submitted.not_possible, ""
    else:
        default = next(iter(asked)) if len(asked) == 1 else None
        drafts, impossible = one_reply.questions(reply.texts, default), ()
        failure = "" if drafts else reply.failure
    return Questions(_of_use(drafts, asked), impossible, failure, reply.parts, reply.calls, reply.run.was_cut)


def _of_use(drafts: Sequence[DraftQuestion], asked: Mapping[QuestionType, int]) -> tuple[DraftQuestion, ...]:
    """The nonempty questions without their tags, for each type at most SPARE more than requested."""
    kept: list[DraftQuestion] = []
    left = {kind: count + SPARE for kind, count in asked.items()}
    for draft in drafts:
        text = one_reply.untagged(draft.question)[0]
        if text and left.get(draft.question_type, 0):
            left[draft.question_type] -= 1
            kept.append(draft.model_copy(update={"question": text}))
    return tuple(kept)


def _refuse_nothing(result: Record) -> None:
    submitted = SubmitQuestions.model_validate(result)
    if not submitted.questions and not submitted.not_possible:
        raise ToolError(_NOTHING)
