"""`README.md`: the card of a set says what it is, how it was made, and what to expect of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from qagen_dagster.publishing.questions.diversity import SAMPLE, Diversity, diversity
from qagen_dagster.publishing.questions.eval_set import EvalSet, SetFacts
from qagen_dagster.records.questions.published import PublishedQuestion
from qagen_dagster.records.review import ReviewFacts

FILE = "README.md"
EXAMPLES = 5
_MARKUP = re.compile(r"([\\`*\[\]<>|#])")


class Card:
    """Markdown in UTF-8."""

    name = "card"

    def export(self, eval_set: EvalSet) -> dict[str, bytes]:
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
        return {FILE: "\n".join(line for part in parts for line in part).encode()}


def _title(eval_set: EvalSet) -> Iterator[str]:
    facts = eval_set.made
    yield f"# {_text(eval_set.corpus_name)}: {_text(facts.scenario_name if facts else eval_set.scenario)}, {eval_set.mode.value}"
    yield ""
    yield (
        f"{len(eval_set.questions)} questions with answers and verbatim evidence, generated from documents and validated. "
        f"First published {eval_set.timestamp:%Y-%m-%d}. `corpus.json` and `questions.jsonl` have the questions, `rejected.jsonl` the "
        "rejected candidates, `retired.jsonl` the questions that the documents no longer support."
    )
    yield ""
    if facts is not None:
        yield from _table(
            ("", ""),
            [
                ("corpus", eval_set.corpus_path),
                ("about", facts.corpus_context),
                ("scenario", eval_set.scenario),
                ("purpose", facts.scenario_description),
            ],
        )


def _made(facts: SetFacts) -> Iterator[str]:
    yield "## How it was made"
    yield ""
    rows: list[tuple[object, ...]] = [("profile", facts.profile), ("strategy", facts.strategy)]
    rows += [(f"model: {role}", model) for role, model in sorted(facts.models.items())]
    rows += [(f"prompt: {name}", known) for name, known in sorted(facts.prompts.items())]
    rows += [("cost", _cost(facts)), ("model calls", facts.calls)]
    rows += [("tokens", f"{facts.input_tokens} input, {facts.output_tokens} output")]
    yield from _table(("", ""), rows)


def _counts(eval_set: EvalSet) -> Iterator[str]:
    yield "## Counts"
    yield ""
    facts = eval_set.made
    rows: list[tuple[object, ...]] = []
    if facts is not None:
        rows += [(f"documents: {end}", count) for end, count in sorted(facts.documents_by_outcome.items())]
    rows += [("published questions", len(eval_set.questions))]
    reasons = Counter(one.rejection_reason.value for one in eval_set.rejected)
    rows += [(f"rejected: {reason}", count) for reason, count in sorted(reasons.items())]
    retired = Counter(one.reason.value for one in eval_set.retired)
    rows += [(f"retired: {reason}", count) for reason, count in sorted(retired.items())]
    yield from _table(("", "number"), rows)


def _types(eval_set: EvalSet) -> Iterator[str]:
    yield "## Planned and delivered"
    yield ""
    facts = eval_set.made
    found = Counter(one.question_type or "not known" for one in eval_set.questions)
    planned = {} if facts is None else facts.planned_by_type
    rows = [(kind, planned.get(kind, "any number"), found[kind]) for kind in sorted({*found, *planned})]
    total = "not known" if facts is None else facts.planned
    yield from _table(("question type", "planned", "published"), [*rows, ("all", total, found.total())])


def _grades(questions: Sequence[PublishedQuestion]) -> Iterator[str]:
    yield "## Grades of the answers"
    yield ""
    found = Counter(
        "not graded" if one.grade is None else one.grade.grade or "not measured" for one in questions
    )
    yield from _table(("grade", "answers"), sorted(found.items()))


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
    if facts.disagreed:
        rows.append(("reviewers disagree on", ", ".join(facts.disagreed)))
    yield from _table(("", ""), rows)
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
    heads = ("", *(f"{one.questions} questions" for one in columns))
    yield from _table(
        heads, [(words, *(_figure(one, name) for one in columns)) for name, words in names.items()]
    )


def _examples(questions: Sequence[PublishedQuestion]) -> Iterator[str]:
    yield "## Examples"
    yield ""
    count = min(EXAMPLES, len(questions))
    for number in range(count):
        one = questions[number * len(questions) // count]
        yield f"{number + 1}. **{_text(one.question)}** {_text(one.answer)}"
        for place in one.evidence:
            where = "" if place.start_line is None else f", lines {place.start_line}-{place.end_line}"
            yield f"   - {_text(one.source_document)}{where}: \u201c{_text(place.quote)}\u201d"
    yield ""


def _cost(facts: SetFacts) -> str:
    if facts.usd is None:
        return "unknown"
    more = f" and {facts.unknown_price_calls} calls of unknown price" if facts.unknown_price_calls else ""
    return f"${facts.usd:.4f}{more}"


def _figure(found: Diversity, name: str) -> str:
    value = getattr(found, name)
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.2f}"


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(_text(str(cell)) for cell in row)} |"
    yield ""


def _text(text: str) -> str:
    """Text of a document or a model as one line in which nothing is markup."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))
