"""`README.md`: the card of a set says what it is, how it was made, and what to expect of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from qagen_dagster.publishing.markdown import line, table
from qagen_dagster.publishing.questions.diversity import SAMPLE, Diversity, diversity
from qagen_dagster.publishing.questions.eval_set import EvalSet, SetFacts
from qagen_dagster.records.questions.published import PublishedQuestion
from qagen_dagster.records.questions.results import DocumentEnd, Evidence
from qagen_dagster.records.review import ReviewFacts

FILE = "README.md"
EXAMPLES = 5
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


def export(eval_set: EvalSet) -> dict[str, bytes]:
    """Markdown in UTF-8."""
    parts = (
        _title(eval_set),
        _made(eval_set.made) if eval_set.made is not None else (),
        _counts(eval_set),
        _types(eval_set),
        _grades(eval_set.questions),
        _review(eval_set.review) if eval_set.review is not None else (),
        _diversity(eval_set.questions),
        _examples(eval_set.published().questions),
    )
    return {FILE: "\n".join(row for part in (*parts, [_FILES]) for row in part).encode()}


def without_files(text: str) -> str:
    """A card for questions that leave without the files of the set."""
    return text.removesuffix(_FILES)


def _title(eval_set: EvalSet) -> Iterator[str]:
    facts = eval_set.made
    yield f"# {line(eval_set.corpus_name)}: {line(facts.scenario_name if facts else eval_set.scenario)}, {eval_set.mode.value}"
    yield ""
    yield (
        f"{len(eval_set.questions)} questions with answers and verbatim evidence, generated from documents and validated. "
        f"First published {eval_set.timestamp:%Y-%m-%d} by qagen_dagster. "
        "Line numbers count from 1 in the parsed text of a document."
    )
    yield ""
    if facts is not None:
        yield f"- Corpus `{eval_set.corpus_path}`: {line(facts.corpus_context)}"
        yield f"- Scenario `{eval_set.scenario}`: {line(facts.scenario_description)}"
        yield ""


def _made(facts: SetFacts) -> Iterator[str]:
    yield "## How it was made"
    yield ""
    rows: list[tuple[object, ...]] = [("profile", facts.profile), ("strategy", facts.strategy)]
    rows += [(f"model: {role}", model) for role, model in sorted(facts.models.items())]
    rows += [(f"prompt: {name}", known) for name, known in sorted(facts.prompts.items())]
    rows += [("cost", _cost(facts)), ("model calls", f"{facts.calls:,}")]
    rows += [("tokens", f"{facts.input_tokens:,} input, {facts.output_tokens:,} output")]
    yield from table(("property", "value"), rows)


def _counts(eval_set: EvalSet) -> Iterator[str]:
    yield "## Counts"
    yield ""
    facts = eval_set.made
    rows: list[tuple[object, ...]] = []
    if facts is not None:
        ends = facts.documents_by_outcome
        rows += [(f"documents {words}", ends[end]) for end, words in _ENDS.items() if end in ends]
    rows += [("published questions", len(eval_set.questions))]
    reasons = Counter(one.rejection_reason.value for one in eval_set.rejected)
    rows += [(f"candidates rejected: {reason}", count) for reason, count in sorted(reasons.items())]
    retired = Counter(one.reason.value for one in eval_set.retired)
    rows += [(f"questions retired: {reason}", count) for reason, count in sorted(retired.items())]
    yield from table(("what", "number"), rows)


def _types(eval_set: EvalSet) -> Iterator[str]:
    yield "## Planned and delivered"
    yield ""
    facts = eval_set.made
    found = Counter(one.question_type or "not known" for one in eval_set.questions)
    planned = {} if facts is None else facts.planned_by_type
    rows = [(kind, planned.get(kind, "any number"), found[kind]) for kind in sorted({*found, *planned})]
    total = "not known" if facts is None else facts.planned
    yield from table(("question type", "planned", "published"), [*rows, ("all", total, found.total())])


def _grades(questions: Sequence[PublishedQuestion]) -> Iterator[str]:
    yield "## Grades of the answers"
    yield ""
    found = Counter(
        "not graded" if one.grade is None else one.grade.grade or "not measured" for one in questions
    )
    yield "How far the document supports an answer, from A (best) to F. It is not measured where that is undecided."
    yield ""
    yield from table(("grade", "answers"), sorted(found.items()))


def _review(facts: ReviewFacts) -> Iterator[str]:
    yield "## Review"
    yield ""
    rows: list[tuple[object, ...]] = [(f"questions: {state}", n) for state, n in sorted(facts.states.items())]
    rows += [(f"judged by {name}", count) for name, count in sorted(facts.reviewers.items())]
    for one in facts.agreements:
        known = "not defined" if one.kappa is None else f"{one.kappa:.2f}"
        rows.append(
            (f"Cohen's kappa of {one.first} and {one.second}", f"{known} ({one.both} judged by both)")
        )
    yield from table(("property", "value"), rows)
    if facts.disagreed:
        yield f"Reviewers disagree on {', '.join(facts.disagreed)}."
        yield ""
    if facts.interval is not None:
        low, high = facts.interval
        yield (
            f"Of a random sample of {facts.sampled} generated questions, reviewers accepted {facts.sample_accepted} as they were. "
            f"The 95 % interval (Wilson) of this share for all generated questions is {low:.2f} to {high:.2f}."
        )
        yield ""


def _diversity(questions: Sequence[PublishedQuestion]) -> Iterator[str]:
    yield "## Diversity of the questions"
    yield ""
    ordered = [one.question for one in sorted(questions, key=lambda one: one.id)]
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
        f"self-repetition. Compare sets with as many questions only: a set of more than {SAMPLE} has a column with {SAMPLE} of them."
    )
    yield ""
    heads = ("figure", *(f"{one.questions} questions" for one in columns))
    yield from table(
        heads, [(words, *(_figure(one, name) for one in columns)) for name, words in names.items()]
    )


def _examples(questions: Sequence[PublishedQuestion]) -> Iterator[str]:
    yield "## Examples"
    yield ""
    count = min(EXAMPLES, len(questions))
    for number in range(count):
        one = questions[number * len(questions) // count]
        yield f"{number + 1}. **{line(one.question)}** {line(one.answer)}"
        for place in one.evidence:
            row = "" if one.row is None else f", row {line(one.row)}"
            yield f"   - {line(one.source_document)}{row}{_lines(place)}: \u201c{line(place.quote)}\u201d"
    yield ""


def _lines(place: Evidence) -> str:
    if place.start_line is None:
        return ""
    several = place.end_line != place.start_line
    return f", lines {place.start_line}-{place.end_line}" if several else f", line {place.start_line}"


def _cost(facts: SetFacts) -> str:
    if facts.usd is None:
        return "unknown"
    more = f" and {facts.unknown_price_calls:,} calls of unknown price" if facts.unknown_price_calls else ""
    return f"${facts.usd:,.4f}{more}" if facts.usd else f"$0{more}"


def _figure(found: Diversity, name: str) -> str:
    value = getattr(found, name)
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.2f}"
