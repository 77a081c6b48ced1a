"""The scores of one or two systems as a Markdown page."""

from collections.abc import Iterator, Sequence

from qagen_dagster.publishing.exporter import line, table
from qagen_dagster.records.evaluation import Comparison, Measure, Plan, ScoreReport, Scores, SystemScores

SHOWN = ("correct", "document_recall_at_5", "evidence_recall_at_5")  # measures in the tables of groups
_MEANINGS = {
    "correct": "`correct` is the share of right answers; an unanswered question counts as wrong. ",
    "key": "`key_facts` is the mean share of the key facts of the published answer that the system's answer states. ",
    "abstention": "`abstention` is the share of questions without an answer that the system does not answer, `over_abstention` the share "
    "of the others that it does not answer. `answerable_accuracy` is the share of right answers to the others. `balanced` is the harmonic "
    "mean of `answerable_accuracy` and `abstention`: it is 0 for a system that always abstains, and for a system that never does. ",
    "document": "`document_recall_at_5` is the share of questions whose document is among the first 5 documents; "
    "`document_mrr` is the mean of 1 / its rank. ",
    "evidence": "`evidence_recall_at_5` is the mean share of a question's quotes that the first 5 passages have; "
    "`evidence_mrr` is the mean of 1 / the rank of the first passage with a quote. ",
}


BOUNDS = (
    "`A to B; C of the N measured`: some questions were not measured, such as undecided answers. The share of all "
    "questions is A if these are wrong and B if they are right; it is C among the N others."
)


def score_markdown(report: ScoreReport) -> str:
    return "\n".join(_lines(report)) + "\n"


def shown_measure(measure: Measure | None) -> str:
    """A measure with its interval; "-" for None. If some questions were not measured, the bounds over all questions come first."""
    if measure is None:
        return "-"
    measured = f"{measure.value:.3f} ({measure.low:.2f} to {measure.high:.2f})"
    if not measure.not_measured:
        return measured
    return f"{measure.lower:.3f} to {measure.upper:.3f}; {measured} of the {measure.questions:,} measured"


def _lines(report: ScoreReport) -> Iterator[str]:
    systems = report.systems
    yield f"# Scores: {' and '.join(line(system.system) for system in systems)}\n"
    yield from table(
        ("set", "version", "questions"),
        ((one.combination, one.content_id, one.questions) for one in report.sets),
    )
    yield from table(
        ("measure", *(one.system for one in systems)), overall_rows([system.overall for system in systems])
    )
    measured = {name.partition("_")[0] for system in systems for name in system.overall.measures}
    yield "".join(words for name, words in _MEANINGS.items() if name in measured)
    if any(each.not_measured for system in systems for each in system.overall.measures.values()):
        yield BOUNDS + "\n"
    yield f"{effects(systems)}Judge of answers that code cannot decide: {line(report.judge_model) or 'none'}.\n"
    for by in systems[0].groups:
        yield from _grouping(by, systems)
    for comparison in report.comparisons:
        yield from _comparison(comparison, systems[0], systems[1])
    yield from (f"{line(question)}\n" for question in own_questions(systems))
    yield from (f"{planned(plan)}\n" for plan in report.plans)
    for one in systems:
        yield from _missed(one)


def effects(systems: Sequence[SystemScores]) -> str:
    """The meaning of the intervals, with the range of the design effects over all questions."""
    found = [each for system in systems for each in system.overall.measures.values() if each.design_effect]
    words = (
        "Intervals are 95 % and count documents, because questions about one document are not independent. "
    )
    if not found:
        return words
    values = [each.design_effect or 0 for each in found]
    documents = max(each.documents for each in found)
    return (
        f"{words}Over {documents:,} documents the variance is {min(values):.2f} to {max(values):.2f} times that of "
        "independent questions (design effect). "
    )


def planned(one: Plan) -> str:
    """The numbers of questions and documents that are needed to show a difference, in words."""
    return (
        f"{one.measure}: a difference of {one.difference:g} needs {one.questions:,} questions of {one.documents:,} documents "
        f"(four of five sets show it at p < .05; design effect {one.design_effect:.2f})."
    )


def own_questions(systems: Sequence[SystemScores]) -> Iterator[str]:
    """A warning for each system whose family of models wrote some questions, with a measure on the other questions and on these."""
    for one, own in ((each, each.own) for each in systems):
        if own is not None:
            text = (
                f"{one.system}: a model of its family ({own.family}) wrote {own.questions:,} of {one.overall.questions:,} questions; "
                f"{own.measure} without these is {shown_measure(own.others)}, on these {shown_measure(own.own)}"
            )
            known = own.preference is not None
            yield text + (f"; self-preference {own.preference:+d} (below 0: favoured)" if known else "")


def overall_rows(found: Sequence[Scores]) -> Iterator[tuple[object, ...]]:
    """The rows of counts, then of measures, over all questions. A row has a name, and a value for each system."""
    for name in dict.fromkeys(name for one in found for name in one.counts):
        yield (name, *(one.counts.get(name, "-") for one in found))
    for name in dict.fromkeys(name for one in found for name in one.measures):
        yield (name, *(shown_measure(one.measures.get(name)) for one in found))


def _grouping(by: str, systems: Sequence[SystemScores]) -> Iterator[str]:
    """The measures by group. If all questions are in one group, only the name of the group."""
    if len(systems[0].groups[by]) == 1:
        (only,) = systems[0].groups[by]
        yield f"All questions: {by} {line(only)}.\n"
        return
    names = [name for name in SHOWN if any(name in system.overall.measures for system in systems)]
    head = (by, "questions", *(f"{system.system}: {name}" for system in systems for name in names))
    yield f"## By {by}\n"
    yield from table(
        head,
        (
            (
                group,
                first.questions,
                *(
                    shown_measure(system.groups[by][group].measures.get(name))
                    for system in systems
                    for name in names
                ),
            )
            for group, first in systems[0].groups[by].items()
        ),
    )


def _comparison(one: Comparison, first: SystemScores, second: SystemScores) -> Iterator[str]:
    yield f"## {line(first.system)} against {line(second.system)}: {one.measure}\n"
    head = (
        "both",
        f"only {first.system}",
        f"only {second.system}",
        "neither",
        "left out",
        "p (by document, exact)",
        "p (Holm)",
    )
    counts = (one.both, len(one.only_first), len(one.only_second), one.neither, one.left_out)
    yield from table(head, [(*counts, f"{one.p_value:.4f}", f"{one.corrected_p_value or one.p_value:.4f}")])
    mine = {answer.question_id: answer for answer in first.answers}
    theirs = {answer.question_id: answer for answer in second.answers}
    for winner, ids in ((first, one.only_first), (second, one.only_second)):
        if ids:
            yield f"Only {line(winner.system)} ({len(ids)}):\n"
            rows = (
                (mine[id_].question, mine[id_].answer, mine[id_].given, theirs[id_].given, id_) for id_ in ids
            )
            yield from table(("question", "expected", first.system, second.system, "id"), rows)


def _missed(system: SystemScores) -> Iterator[str]:
    lists = {
        "Wrong or missing answers": [answer for answer in system.answers if answer.right is False],
        "Undecided answers": [answer for answer in system.answers if answer.right is None and answer.failure],
    }
    for title, answers in lists.items():
        if answers:
            yield f"## {title} of {line(system.system)} ({len(answers)})\n"
            rows = (
                (row.question, row.answer, row.given, row.explanation or row.failure, row.question_id)
                for row in answers
            )
            yield from table(("question", "expected", "given", "reason", "id"), rows)
