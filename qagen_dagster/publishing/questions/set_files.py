"""The files of a published set, as bytes by name: `corpus.json`, the JSON Lines files, and `README.md`, the card of the set.

Nothing is written to disk. `docs/published-sets.md` has the formulas of diversity and their sources.
"""

import gzip
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import AwareDatetime, Field

from qagen_dagster.english.wording import Wording, style_of, wording
from qagen_dagster.publishing.exporter import json_file, json_lines, line, table
from qagen_dagster.records.base import Record
from qagen_dagster.records.decisions import ReviewFacts
from qagen_dagster.records.document import Rights
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.questions.published import (
    CorpusGenerationResult,
    PublishedQuestion,
    RejectedQuestion,
)
from qagen_dagster.records.questions.results import DocumentEnd, Evidence, RetiredQA

SAMPLE = 50  # questions; sets of different sizes are compared by samples of this size
_LONGEST = 4  # maximum number of words of an n-gram
_OPENING = 3  # words at the beginning of a question
_WORD = re.compile(r"\w+")


class Diversity(Record):
    """The figures on the diversity of some questions. A figure is None if there are too few words."""

    questions: int
    mean_words: float
    ngram_diversity: float | None
    compression_ratio: float | None
    self_repetition: float | None
    distinct_openings: int


def diversity(questions: Sequence[str]) -> Diversity:
    """The figures on the diversity of questions. They do not depend on the order of the questions."""
    texts = sorted(questions)
    words = [_WORD.findall(text.casefold()) for text in texts]
    data = " ".join(texts).encode()
    return Diversity(
        questions=len(texts),
        mean_words=sum(map(len, words)) / len(words) if words else 0.0,
        ngram_diversity=_ngram_diversity([word for each in words for word in each]),
        compression_ratio=len(data) / len(gzip.compress(data, mtime=0)) if data else None,
        self_repetition=_self_repetition(words),
        distinct_openings=len({tuple(each[:_OPENING]) for each in words}),
    )


def _ngram_diversity(words: Sequence[str]) -> float | None:
    if len(words) < _LONGEST:
        return None
    found = [_ngrams(words, size) for size in range(1, _LONGEST + 1)]
    return sum(len(set(ngrams)) / len(ngrams) for ngrams in found)


def _self_repetition(words: Sequence[Sequence[str]]) -> float | None:
    each = [set(_ngrams(one, _LONGEST)) for one in words]
    holders = Counter(ngram for ngrams in each for ngram in ngrams)
    scores = [math.log(1 + sum(holders[ngram] - 1 for ngram in ngrams)) for ngrams in each]
    return sum(scores) / len(scores) if scores else None


def _ngrams(words: Sequence[str], size: int) -> list[tuple[str, ...]]:
    return [tuple(words[start : start + size]) for start in range(len(words) - size + 1)]


class SetFacts(Record):
    """The facts on how a set was made: configuration, plan and spending. `planned_by_type` is empty if no types were planned."""

    corpus_context: str
    scenario_name: str
    scenario_description: str
    profile: str
    strategy: str
    models: dict[str, str]  # role -> provider:model
    prompts: dict[str, str]  # prompt name -> hash
    documents_by_outcome: dict[str, int]
    planned: int
    planned_by_type: dict[str, int]
    calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    unknown_price_calls: int
    shortfalls: tuple[str, ...] = ()  # what documents did not give, with the reasons
    closed_book: bool = True  # whether the validator was also asked the questions without their documents
    audience: str | None = None  # whose wording the questions imitate; None: nobody's


class EvalSet(Record):
    """The accepted and rejected questions of one combination, and the facts that describe the set to a reader."""

    corpus_name: str
    corpus_path: str
    scenario: str
    mode: Mode
    questions: tuple[PublishedQuestion, ...]
    rejected: tuple[RejectedQuestion, ...] = ()
    retired: tuple[RetiredQA, ...] = ()
    made: SetFacts | None = None
    review: ReviewFacts | None = None  # None: nobody decided on its questions
    rights: dict[str, Rights] = Field(default_factory=dict)  # of the documents of its questions
    evaluated: dict[str, float] = Field(default_factory=dict)  # metrics of relevance labels and of the panel
    timestamp: AwareDatetime  # of the set, not of the export, so that the same set gives the same bytes

    def published(self) -> CorpusGenerationResult:
        """The set in its published form, ordered by document, place in the document, and id."""
        questions = tuple(sorted(self.questions, key=_place))
        shown = {"questions": questions, "timestamp": self.timestamp.isoformat()}
        return CorpusGenerationResult(**self.shared(CorpusGenerationResult, **shown))


def _place(question: PublishedQuestion) -> tuple[str, str, int, str]:
    lines = [span.start_line for span in question.evidence if span.start_line is not None]
    return (question.source_document, question.document_id, min(lines, default=0), question.id)


CORPUS_FILE = "corpus.json"


def corpus_json(eval_set: EvalSet) -> dict[str, bytes]:
    return {CORPUS_FILE: json_file(eval_set.published().model_dump(mode="json"))}


def schema() -> dict[str, Any]:
    """JSON schema (draft 2020-12) of `corpus.json`, derived from the record."""
    derived = CorpusGenerationResult.model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **derived}


QUESTIONS_FILE, REJECTED_FILE, RETIRED_FILE = "questions.jsonl", "rejected.jsonl", "retired.jsonl"


def jsonl_files(eval_set: EvalSet) -> dict[str, bytes]:
    """The JSON Lines files. Questions are in the order of `corpus.json`. Rejected and retired questions have their reasons."""
    return {
        QUESTIONS_FILE: _lines(eval_set, eval_set.published().questions),
        REJECTED_FILE: _lines(eval_set, eval_set.rejected),
        RETIRED_FILE: _lines(eval_set, eval_set.retired),
    }


def _lines(eval_set: EvalSet, records: Iterable[Record]) -> bytes:
    origin = {"corpus_name": eval_set.corpus_name, "scenario": eval_set.scenario, "mode": eval_set.mode.value}
    return json_lines({**record.model_dump(mode="json"), **origin} for record in records)


CARD_FILE = "README.md"
EXAMPLES = 5
_SHOWN_MISSING = 20
_FILES = """\
## Files

| file | content |
|---|---|
| `corpus.json`, `questions.jsonl` | the questions, as one JSON document and as one line per question |
| `rejected.jsonl` | the candidates that were not published, with their reasons |
| `retired.jsonl` | the questions that the documents no longer support, with their reasons |
"""
_ENDS = {
    DocumentEnd.TARGET_REACHED: "with all the questions that were wanted",
    DocumentEnd.EXHAUSTED_REPORTED: "with fewer: the generator found nothing more to ask",
    DocumentEnd.CONSECUTIVE_FAILURES: "with fewer: too many candidates in a row failed",
    DocumentEnd.MAX_ATTEMPTS: "with fewer: the attempts were used up",
    DocumentEnd.NO_VISUALS: "without a table, figure or page to look at",
    DocumentEnd.NOT_USABLE: "that cannot be used, for example because they have no text",
    DocumentEnd.BUDGET_EXHAUSTED: "not finished: the budget ended",
    DocumentEnd.MODEL_ERROR: "not finished: a model failed",
}


def card_file(eval_set: EvalSet) -> dict[str, bytes]:
    sections = {
        "How it was made": _made(eval_set.made) if eval_set.made is not None else (),
        "Counts": _counts(eval_set),
        "Planned and delivered": _types(eval_set),
        "Grades of the answers": _grades(eval_set.questions),
        "Review": _review(eval_set.review) if eval_set.review is not None else (),
        "Relevance labels and panel": _evaluated(eval_set.evaluated) if eval_set.evaluated else (),
        "Diversity of the questions": _diversity(eval_set.questions),
        "Licences of the documents": _rights(eval_set.rights),
        "Examples": _examples(eval_set.published().questions),
    }
    lines = [*_title(eval_set)]
    for title, rows in sections.items():
        if found := [*rows]:
            lines += [f"## {title}", "", *found]
    return {CARD_FILE: "\n".join((*lines, _FILES)).encode()}


def without_files(text: str) -> str:
    """The card `text` without its section on files, for exports that do not have these files."""
    return text.removesuffix(_FILES)


def _title(eval_set: EvalSet) -> Iterator[str]:
    facts = eval_set.made
    yield f"# {line(eval_set.corpus_name)}: {line(facts.scenario_name if facts else eval_set.scenario)}, {eval_set.mode.value}\n"
    yield (
        f"{len(eval_set.questions)} questions with answers and verbatim evidence, generated from documents and validated. "
        f"First published {eval_set.timestamp:%Y-%m-%d} by qagen_dagster. "
        "Line numbers count from 1 in the parsed text of a document.\n"
    )
    if facts is not None:
        yield f"- Corpus `{eval_set.corpus_path}`: {line(facts.corpus_context)}"
        yield f"- Scenario `{eval_set.scenario}`: {line(facts.scenario_description)}\n"


def _made(facts: SetFacts) -> Iterator[str]:
    rows: list[tuple[object, ...]] = [("profile", facts.profile), ("strategy", facts.strategy)]
    rows += [] if facts.audience is None else [("audience", facts.audience)]
    rows += [] if facts.closed_book else [("closed-book check", "off")]
    rows += [(f"model: {role}", model) for role, model in sorted(facts.models.items())]
    rows += [(f"prompt: {name}", hashed) for name, hashed in sorted(facts.prompts.items())]
    rows += [("cost", _cost(facts)), ("model calls", f"{facts.calls:,}")]
    counted = facts.input_tokens or not facts.unknown_price_calls
    rows += [
        ("tokens", f"{facts.input_tokens:,} input, {facts.output_tokens:,} output" if counted else "unknown")
    ]
    yield from table(("property", "value"), rows)


def _counts(eval_set: EvalSet) -> Iterator[str]:
    facts = eval_set.made
    rows: list[tuple[object, ...]] = []
    if facts is not None:
        ends = facts.documents_by_outcome
        rows += [(f"documents {words}", ends[end]) for end, words in _ENDS.items() if end in ends]
    rows += [("published questions", len(eval_set.questions))]
    writers = Counter(question.writer for question in eval_set.questions)
    rows += [(f"of which {name} wrote", count) for name, count in sorted(writers.items()) if len(writers) > 1]
    verdicts = [question.verdict for question in eval_set.questions if question.verdict is not None]
    unjudged = Counter(name for one in verdicts for name, value in one if value is None)
    rows += [(f"of which nobody judged: {name}", count) for name, count in unjudged.items()]
    reasons = Counter(one.rejection_reason.value for one in eval_set.rejected)
    rows += [(f"candidates rejected: {reason}", count) for reason, count in sorted(reasons.items())]
    retired = Counter(one.reason.value for one in eval_set.retired)
    rows += [(f"questions retired: {reason}", count) for reason, count in sorted(retired.items())]
    yield from table(("what", "number"), rows)


def _types(eval_set: EvalSet) -> Iterator[str]:
    facts = eval_set.made
    found = Counter(question.question_type or "not known" for question in eval_set.questions)
    total = found.total()
    planned = {} if facts is None else facts.planned_by_type
    for one in eval_set.questions:
        _, level, *others = one.kinds
        found.update({*others, *([] if one.question_type in planned else [level])} & planned.keys())
    rows = [(kind, planned.get(kind, "any number"), found[kind]) for kind in sorted({*found, *planned})]
    all_planned = "not known" if facts is None else facts.planned
    yield from table(("question type", "planned", "published"), [*rows, ("all", all_planned, total)])
    missing = () if facts is None else facts.shortfalls
    yield from (f"- Missing: {line(one)}" for one in missing[:_SHOWN_MISSING])
    if missing:
        more = len(missing) - _SHOWN_MISSING
        yield from ([f"- {more:,} more shortfalls"] if more > 0 else [])
        yield ""


def _grades(questions: Sequence[PublishedQuestion]) -> Iterator[str]:
    found = Counter(
        "not graded" if one.grade is None else one.grade.grade or "not measured" for one in questions
    )
    yield "A grade says how far the document supports an answer, from A (best) to F. It is not measured if this is undecided.\n"
    yield from table(("grade", "answers"), sorted(found.items()))


def _review(facts: ReviewFacts) -> Iterator[str]:
    rows: list[tuple[object, ...]] = [(f"questions: {state}", n) for state, n in sorted(facts.states.items())]
    rows += [(f"judged by {name}", count) for name, count in sorted(facts.reviewers.items())]
    yield from table(("property", "value"), [*rows, *agreement_rows(facts)])
    if facts.disagreed:
        yield f"Reviewers disagree on {', '.join(facts.disagreed)}.\n"
    if facts.interval is not None:
        low, high = facts.interval
        yield (
            f"Of a random sample of {facts.sampled} generated questions, reviewers accepted {facts.sample_accepted} as they were. "
            f"The 95 % interval (Wilson) of this share for all generated questions is {low:.2f} to {high:.2f}.\n"
        )


def agreement_rows(facts: ReviewFacts) -> Iterator[tuple[str, str]]:
    """Names and values of the agreement among reviewers, and of the agreement of models with reviewers."""
    if facts.alpha is not None:
        yield f"Krippendorff's alpha of {len(facts.reviewers)} reviewers", f"{facts.alpha:.2f}"
    for one in facts.agreements:
        ends = one.interval and f", 95 % interval {one.interval[0]:.2f} to {one.interval[1]:.2f}"
        known = "not defined" if one.kappa is None else f"{one.kappa:.2f}{ends or ''}"
        alone = one.both - one.same - one.only_first
        cells = f"; good for both: {one.good}, for the model alone: {one.only_first}, for reviewers alone: {alone}"
        name = f"Cohen's kappa of {one.first} and {one.second}{one.criterion and f', {one.criterion}'}"
        yield name, f"{known} ({one.both} judged by both{cells if one.criterion else ''})"


def _rights(rights: Mapping[str, Rights]) -> Iterator[str]:
    found = Counter((one.licence, one.attribution) for one in rights.values())
    rows = sorted((licence or "not known", who or "", count) for (licence, who), count in found.items())
    yield from table(("licence", "attribution", "documents"), rows)
    if unknown := unlicensed(rights):
        yield f"No licence is known of: {', '.join(map(line, unknown))}\n"


def unlicensed(rights: Mapping[str, Rights]) -> list[str]:
    """The ids of the documents without a known licence."""
    return sorted(key for key, one in rights.items() if one.licence is None)


def _evaluated(metrics: Mapping[str, float]) -> Iterator[str]:
    yield "`right` is the share of the questions that an answerer of the panel gets right.\n"
    yield from table(("property", "value"), ((name, f"{value:g}") for name, value in metrics.items()))


def _diversity(questions: Sequence[PublishedQuestion]) -> Iterator[str]:
    ordered = [one.question for one in sorted(questions, key=lambda question: question.id)]
    columns = [diversity(ordered)]
    if len(ordered) > SAMPLE:
        columns.append(diversity(ordered[:SAMPLE]))
    names = {
        "mean_words": "mean words per question",
        "ngram_diversity": "n-gram diversity (NGD)",
        "compression_ratio": "compression ratio",
        "self_repetition": "self-repetition",
        "distinct_openings": "distinct openings of three words",
    }
    yield (
        "More varied questions have a higher n-gram diversity and more distinct openings, and a lower compression ratio and "
        f"self-repetition. Compare only equal numbers of questions: a set of more than {SAMPLE} has a column with {SAMPLE} of them.\n"
    )
    yield from _wording(questions)
    heads = ("figure", *(f"{column.questions} questions" for column in columns))
    yield from table(
        heads, [(words, *(_figure(column, name) for column in columns)) for name, words in names.items()]
    )


# Means of 632 questions of people who saw the text (XQuAD, beside the sentence with the answer), and of 120 searches (Cranfield).
_PEOPLE = {"readers": Wording(0.66, 0.13, 5.2), "searchers": Wording(0.39, 0.03, 9.6)}
_WORDED = {
    "shared": "content words that stand in the evidence",
    "copied": "runs of three words copied from it",
    "words": "content words per question",
}


def _wording(questions: Sequence[PublishedQuestion]) -> Iterator[str]:
    """Lines on the similarity of questions to their evidence, with figures for questions of people, and on the styles of the questions."""
    each = [wording(one.question, "\n".join(place.quote for place in one.evidence)) for one in questions]
    if not each:
        return
    means = Wording(*(sum(values) / len(each) for values in zip(*each, strict=True)))
    columns = {"this set": means, **_PEOPLE}
    shown = {name: "{:.1f}" if name == "words" else "{:.0%}" for name in _WORDED}
    rows = [
        (words, *(shown[name].format(getattr(column, name)) for column in columns.values()))
        for name, words in _WORDED.items()
    ]
    yield from table(("wording (means)", *columns), rows)
    styles = Counter(found.value for one in questions if (found := style_of(one.question)) is not None)
    yield f"Styles: {', '.join(f'{count / len(each):.0%} {style}' for style, count in styles.most_common())}.\n"


def _examples(questions: Sequence[PublishedQuestion]) -> Iterator[str]:
    count = min(EXAMPLES, len(questions))
    for number in range(count):
        one = questions[number * len(questions) // count]
        yield f"{number + 1}. **{line(one.question)}** {line(one.answer)}"
        for place in one.evidence:
            row = "" if one.row is None else f", row {line(one.row)}"
            yield f"   - {line(one.source_document)}{row}{_line_numbers(place)}: \u201c{line(place.quote)}\u201d"
    yield ""


def _line_numbers(place: Evidence) -> str:
    if place.start_line is None:
        return ""
    several = place.end_line != place.start_line
    return f", lines {place.start_line}-{place.end_line}" if several else f", line {place.start_line}"


def _cost(facts: SetFacts) -> str:
    if facts.usd is None:
        return "unknown"
    more = f" and {facts.unknown_price_calls:,} calls of unknown cost" if facts.unknown_price_calls else ""
    return f"${facts.usd:,.4f}{more}" if facts.usd else f"$0{more}"


def _figure(found: Diversity, name: str) -> str:
    value = getattr(found, name)
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.2f}"


SET_FILES: tuple[Callable[[EvalSet], dict[str, bytes]], ...] = (corpus_json, jsonl_files, card_file)
