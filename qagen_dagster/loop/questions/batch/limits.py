"""The limits of the batch strategy: how many questions of each type a document should give, and which grades are accepted."""

from __future__ import annotations

from qagen_dagster.loop.questions.state import QALimits
from qagen_dagster.records.corpus import BatchOptions, QuestionType, ScenarioConfig
from qagen_dagster.records.grading import AnswerGrade, Method
from qagen_dagster.records.ids import digest

DOUBTFUL = 0.5  # score of an undecided sentence; below, the document lacks most of it
Wanted = tuple[tuple[QuestionType, int], ...]


class BatchLimits(QALimits):
    """When work on a document by the batch strategy ends. `target_count` is the sum of the mix if there is one."""

    options: BatchOptions
    method: Method

    def wanted(self, document_id: str) -> Wanted:
        """The number of questions of each type, in order, without types that have 0.

        Without a mix the target is spread evenly. The remainder goes to other types from document to document, so that a corpus has
        about the same number of each.
        """
        if self.options.mix is not None:
            return tuple(self.options.mix.items())
        types = tuple(dict.fromkeys(self.options.question_types or self.options.complexity.question_types))
        each, more = divmod(self.target_count, len(types))
        first = int(digest(document_id)[:8], 16) % len(types)
        counts = {kind: each + ((place - first) % len(types) < more) for place, kind in enumerate(types)}
        return tuple((kind, count) for kind, count in counts.items() if count)


def batch_limits(scenario: ScenarioConfig, target_count: int | None) -> BatchLimits:
    """The limits of a scenario. A mix replaces the target."""
    options = scenario.batch or BatchOptions()
    target = sum(options.mix.values()) if options.mix is not None else target_count or scenario.target_count
    return BatchLimits(
        target_count=target,
        max_consecutive_failures=scenario.max_consecutive_failures,
        max_attempts=scenario.max_attempts or max(10, 4 * target),
        options=options,
        method=scenario.grading.method,
    )


def fault_of(grade: AnswerGrade, least: float, *, whole: bool = True, computed: bool = False) -> str | None:
    """Why a text is not grounded enough; None when it is, or when nothing could be measured.

    An answer must be grounded as a `whole`. A question states little, so only its confidence counts. An answer that is undecided
    is asked for again only if the document lacks most of what a sentence of it says, unless code has `computed` it from the quotes.
    """
    if grade.confidence is None and computed:
        return None
    if grade.confidence is None:
        doubtful = [one.score is not None and one.score < DOUBTFUL for one in grade.sentences]
        return "; ".join(grade.issues) if any(doubtful) else None
    if grade.confidence >= least and (grade.is_grounded is not False or not whole):
        return None
    told = "; ".join(grade.issues) or "the document does not say this"
    if not whole:
        return told
    if grade.is_grounded is False:
        return f"{told} (every sentence must be grounded)"
    return f"{told} (confidence {grade.confidence:.2f} is below {least:.2f})"


def rank_of(grade: AnswerGrade | None) -> tuple[bool, bool, float]:
    """Sort key of attempts, best last: graded, grounded, confident."""
    if grade is None:
        return False, False, 0.0
    return True, grade.is_grounded is not False, grade.confidence or 0.0
