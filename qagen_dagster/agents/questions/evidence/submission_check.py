"""The evidence check: looks up the quotes and labels of a submission in the document and makes it a candidate.

It also refuses questions that point at a text which their reader does not see (`english/wording.py`).
"""

from collections.abc import Callable, Sequence

from qagen_dagster.agents.questions.evidence import answer_support
from qagen_dagster.agents.questions.evidence.computation import described, wrong
from qagen_dagster.agents.questions.evidence.widening import head_of_table, headings, widened
from qagen_dagster.agents.questions.mix import Mix
from qagen_dagster.agents.questions.prompt_values import QAContext
from qagen_dagster.agents.questions.wording_limits import fault_of
from qagen_dagster.english.wording import pointer
from qagen_dagster.errors import ToolError
from qagen_dagster.models.messages import ToolCall
from qagen_dagster.records.base import Record
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.questions.results import Candidate, Evidence, RejectionReason
from qagen_dagster.records.questions.submissions import EvidenceQuote, SubmitQA, SubmitVisualQA
from qagen_dagster.toolkit.excerpt import label_key, shown_label

Fault = tuple[RejectionReason, str]


def fault_of_question(context: QAContext, question: str, evidence: list[Evidence]) -> Fault | None:
    """The fault of a question that cannot be asked as it is worded; None if it has none."""
    if words := pointer(question):
        detail = f"the question says {words!r}, but its reader does not know which text is meant"
        return RejectionReason.NOT_SELF_CONTAINED, detail
    if language := context.other_language(question):
        return RejectionReason.IRRELEVANT, f"the question must be in the language {language!r}"
    worded = fault_of(context.scenario, question, "\n".join(one.quote for one in evidence))
    return (RejectionReason.IRRELEVANT, worded) if worded else None


def fault_of_quotes(places: Sequence[Evidence | None], why: Callable[[int], str]) -> Fault | None:
    """The fault of the first quote that was not found, with the reason `why(index)`; None if all quotes were found."""
    if None not in places:
        return None
    lost = places.index(None)
    detail = f"quote {lost + 1} of {len(places)} is not in the document as one piece: {why(lost)}"
    return RejectionReason.EVIDENCE_NOT_FOUND, detail


def unwanted(candidate: Candidate, left: Mix) -> Candidate:
    """The candidate. If it has no fault, and no more questions of its kind are wanted, it gets the fault NOT_WANTED."""
    why = "" if candidate.gate is not None else left.refusal(candidate)
    if not why:
        return candidate
    return candidate.model_copy(update={"gate": RejectionReason.NOT_WANTED, "gate_detail": why})


_SEVERAL = "multi_hop"
_MOST_UNWANTED = 3  # maximum submissions of unwanted kinds that are reported to the model


class EvidenceCheck:
    """Checks the evidence of submissions. The first fault is reported to the model; the loop rejects later faults. `graded`: the answers
    are graded afterwards. `left`: the kinds of questions that are still wanted. An unwanted kind is reported up to _MOST_UNWANTED times."""

    def __init__(self, context: QAContext, *, graded: bool = False, left: Mix | None = None) -> None:
        self._context = context
        self._graded = graded
        self._left = left
        self._told: list[bool] = []  # for each reported fault, whether the question was unwanted

    def viewed_page(self, call: ToolCall) -> int | None:
        """The page that a call of `view_page` showed, by its number or by the visual on it; None for other calls."""
        page, label = call.arguments.get("page_number"), call.arguments.get("visual")
        if call.name != "view_page" or isinstance(page, int):
            return page if call.name == "view_page" else None
        visuals = self._context.view.visuals
        return next((one.page for one in visuals if label_key(one.label) == label_key(str(label))), None)

    def reject_once(self, result: Record) -> None:
        """Raise ToolError for the first submission that fails, and for the first few of an unwanted kind. Later submissions pass."""
        if not isinstance(result, SubmitQA):
            return
        candidate = self.candidate_of(result)
        not_wanted = candidate.gate is RejectionReason.NOT_WANTED
        if candidate.gate and self._told.count(not_wanted) < (_MOST_UNWANTED if not_wanted else 1):
            self._told.append(not_wanted)
            raise ToolError(
                f"Not accepted: {candidate.gate_detail}. Correct it and submit once more; if that is refused too, "
                "the question is dropped."
            )

    def candidate_of(self, submission: SubmitQA) -> Candidate:
        """The submission with its evidence in the words of the document, and with its fault, if any."""
        known = {label_key(visual.label): visual for visual in reversed(self._context.view.visuals)}
        visuals = submission.visuals if isinstance(submission, SubmitVisualQA) else ()
        unknown = next((label for label in visuals if label_key(label) not in known), None)
        chosen = [known[key] for key in dict.fromkeys(map(label_key, visuals)) if key in known]
        shown = chosen[0] if chosen else None
        label = shown.label if shown else None
        places = [self._context.evidence.find(quote, label) for quote in submission.evidence]
        evidence = self._whole([place for place in places if place is not None])
        fault = self._fault(submission, unknown, places, evidence)
        if not evidence and fault is None and shown is not None:
            evidence = [
                Evidence(
                    quote=quote.quote, start_line=None, end_line=None, page=shown.page, visual=shown.label
                )
                for quote in submission.evidence
            ]
        evidence = [*self._heads(evidence), *evidence]
        labels, computed = tuple(visual.label for visual in chosen), submission.computation
        candidate = Candidate.of(
            submission.question,
            submission.answer,
            evidence,
            submission.question_type,
            fault,
            visuals=labels,
            computation=described(computed) if computed else "",
        )
        return candidate if self._left is None else unwanted(candidate, self._left)

    def _whole(self, evidence: list[Evidence]) -> list[Evidence]:
        """The evidence with whole sentences and rows, each once. Unchanged in visual mode, as text of figures has no sentences."""
        if self._context.mode is Mode.VISUAL:
            return evidence
        whole = list(dict.fromkeys(widened(self._context.view.lines, place) for place in evidence))
        return [one for one in whole if not any(one is not other and one.within(other) for other in whole)]

    def _heads(self, evidence: list[Evidence]) -> list[Evidence]:
        """The header rows of quoted tables as evidence, unless these rows are quoted, too. Empty in visual mode."""
        lines, found = self._context.view.lines, dict[int, Evidence]()
        for place in evidence if self._context.mode is Mode.TEXTUAL else ():
            head = head_of_table(lines, place.start_line) if place.start_line is not None else None
            if head is None or any(
                (one.start_line or 0) <= head[1] and head[0] <= (one.end_line or 0) for one in evidence
            ):
                continue
            quote = EvidenceQuote(quote="\n".join(lines[head[0] - 1 : head[1]]), start_line=head[0])
            row = self._context.evidence.find(quote, None)
            if row is not None:
                found[head[0]] = row
        return list(found.values())

    def _beside(self, evidence: list[Evidence]) -> str:
        """The title of the document, and the titles of sections and the header rows of tables above the evidence."""
        view = self._context.view
        starts = {place.start_line for place in evidence if place.start_line is not None}
        above = [one for line in sorted(starts) for one in headings(view.document, line)]
        above += [head.quote for head in self._heads(evidence)]
        return "\n".join((view.document.metadata.title or "", *above))

    def _fault(
        self,
        submission: SubmitQA,
        unknown: str | None,
        places: Sequence[Evidence | None],
        evidence: list[Evidence],
    ) -> Fault | None:
        """The first fault: an `unknown` label, the wording of the question, a quote that was not found, or an unsupported answer."""
        visual_mode = self._context.mode is Mode.VISUAL
        if unknown is not None:
            known = ", ".join(shown_label(visual.label) for visual in self._context.view.visuals[:30])
            detail = f"no visual is labelled {unknown[:80]!r} (labels: {known})"
            return RejectionReason.EVIDENCE_NOT_FOUND, detail
        if fault := fault_of_question(self._context, submission.question, evidence):
            return fault
        if not (visual_mode and not self._context.view.document.line_count):
            finder = self._context.evidence
            lost = fault_of_quotes(places, lambda at: finder.disagreement(submission.evidence[at]))
            if lost is not None:
                return lost
        return self._unsupported(submission, evidence)

    def _unsupported(self, submission: SubmitQA, evidence: list[Evidence]) -> Fault | None:
        visual_mode = self._context.mode is Mode.VISUAL
        text = "\n".join(place.quote for place in evidence)
        kind, beside, computation = submission.question_type, self._beside(evidence), submission.computation
        if computation is not None:
            known = None if visual_mode else f"{text}\n{beside}\n{submission.question}"
            items = [
                one
                for step in (*computation.steps, computation)
                for one in answer_support.numbers_of(step.items)
            ]
            why = wrong(computation, submission.answer, known) or answer_support.unhedged(
                submission.question, submission.answer, items, text, computed=True
            )
            if why:
                return RejectionReason.ANSWER_NOT_SUPPORTED, why
            kind, beside = "computed", f"{beside}\n{described(computation)}"
        if visual_mode:
            return None
        if submission.question_type == _SEVERAL and len(evidence) == 1 and not self._graded:
            return (
                RejectionReason.NOT_MULTI_HOP,
                f"the type is {_SEVERAL}, but one passage is the whole evidence",
            )
        document = "\n".join(self._context.view.lines)
        why = answer_support.without_subject(
            submission.question, f"{text}\n{beside}", document
        ) or answer_support.unsupported(
            submission.question, submission.answer, text, kind, graded=self._graded, beside=beside
        )
        return None if why is None else (RejectionReason.ANSWER_NOT_SUPPORTED, why)
