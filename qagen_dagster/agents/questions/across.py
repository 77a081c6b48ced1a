"""The generator of questions that need several documents: it is shown passages of documents that share something."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from qagen_dagster.agents.prompts import Prompt, load_prompt
from qagen_dagster.agents.questions.evidence.answer_support import unsupported
from qagen_dagster.agents.questions.evidence.computation import described, wrong
from qagen_dagster.agents.questions.evidence.quote_search import QuoteFinder
from qagen_dagster.agents.questions.evidence.submission_check import Fault, fault_of_question, fault_of_quotes
from qagen_dagster.agents.questions.evidence.widening import widened
from qagen_dagster.agents.questions.generator import Drafts, ask, listed, refused
from qagen_dagster.agents.questions.prompt_values import QAContext
from qagen_dagster.agents.spec import Terminal
from qagen_dagster.english.words import says_all
from qagen_dagster.models.base import Model
from qagen_dagster.records.base import Record
from qagen_dagster.records.document import Document
from qagen_dagster.records.questions.results import Candidate, Evidence, RejectionReason
from qagen_dagster.records.questions.submissions import DocumentQuote, DraftAcross, SubmitAcross
from qagen_dagster.toolkit.excerpt import Block, block, enclose, one_line, row

_LONGEST_ROW = 1_000  # characters of a line that are shown


@dataclass(frozen=True)
class Member:
    """A document of a group: its record, its lines, and the (first, last) lines of the passages that are shown."""

    document: Document
    lines: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]

    @property
    def title(self) -> str:
        return self.document.metadata.title or self.document.source

    @cached_property
    def finder(self) -> QuoteFinder:
        return QuoteFinder(self.document, self.lines)


def prompt() -> Prompt:
    return load_prompt("questions/across")


def propose(
    context: QAContext,
    model: Model,
    members: Sequence[Member],
    shared: Sequence[str],
    known: Sequence[str],
    rejected: Sequence[tuple[str, str]],
    wanted: int,
    sample: int,
) -> Drafts:
    """Ask for questions about a group of documents. The first of `members` is the document of `context`. Raises ModelError."""
    values = context.task_values(writes=True) | {
        "shared": one_line(", ".join(shared), 600) or "their subject",
        "documents": block(part for at, one in enumerate(members, 1) for part in (_shown(at, one), "")),
        "wanted": str(wanted),
        "known": listed(known),
        "rejected": refused(rejected),
    }

    def candidates_of(result: Record) -> list[Candidate]:
        drafts = SubmitAcross.model_validate(result).questions[:wanted]
        return [candidate_of(context, members, one) for one in drafts]

    terminal = Terminal("submit_across", SubmitAcross, items="questions")
    return ask(
        "questions across documents", prompt(), terminal, context, model, values, candidates_of, sample
    )


def candidate_of(context: QAContext, members: Sequence[Member], draft: DraftAcross) -> Candidate:
    """The draft as a candidate, with each quote in the words of its document, and with its fault, if any."""
    places = [_place(members, quote) for quote in draft.evidence]
    found = [one for one in places if one is not None]
    fault = (
        fault_of_question(context, draft.question, found)
        or fault_of_quotes(places, lambda at: _why_lost(members, draft.evidence[at]))
        or _fault(draft, found, members)
    )
    computed = described(draft.computation) if draft.computation else ""
    return Candidate.of(draft.question, draft.answer, found, draft.kind.value, fault, computation=computed)


def _place(members: Sequence[Member], quote: DocumentQuote) -> Evidence | None:
    """The place of a quote in its document. A place in the first document names no document."""
    if quote.document > len(members):
        return None
    one = members[quote.document - 1]
    found = one.finder.find(quote)
    if found is None:
        return None
    update = {"document_id": one.document.id if quote.document > 1 else None}
    return widened(one.lines, found).model_copy(update=update)


def _why_lost(members: Sequence[Member], quote: DocumentQuote) -> str:
    if quote.document > len(members):
        return f"there is no document {quote.document}"
    return members[quote.document - 1].finder.disagreement(quote)


def _fault(draft: DraftAcross, found: Sequence[Evidence], members: Sequence[Member]) -> Fault | None:
    if len({one.document_id for one in found}) < 2:
        return RejectionReason.NOT_MULTI_HOP, "all quotes are of one document"
    text, beside = "\n".join(one.quote for one in found), "\n".join(one.title for one in members)
    if draft.computation is not None:
        if why := wrong(draft.computation, draft.answer, f"{text}\n{beside}\n{draft.question}"):
            return RejectionReason.ANSWER_NOT_SUPPORTED, why
        beside = f"{beside}\n{described(draft.computation)}"
    why = unsupported(draft.question, draft.answer, text, "comparison", beside=beside)
    if why is not None:
        return RejectionReason.ANSWER_NOT_SUPPORTED, why
    enough = _enough(draft, found)
    return (RejectionReason.NOT_MULTI_HOP, enough) if enough else None


def _enough(draft: DraftAcross, found: Sequence[Evidence]) -> str:
    """The fault if the quotes of one document alone have the answer and all content words of the question; otherwise empty."""
    for name in dict.fromkeys(one.document_id for one in found):
        text = "\n".join(one.quote for one in found if one.document_id == name)
        own = unsupported(draft.question, draft.answer, text, "factual") is None
        if draft.computation is None and own and says_all(draft.question, text):
            return "the quotes of one document have the answer and every word of the question: the others are not needed"
    return ""


def _shown(number: int, one: Member) -> Block:
    passages, before = list[str](), 0
    for first, last in (*one.spans, (len(one.lines) + 1, len(one.lines))):
        passages += ["[...]"] if first > before + 1 else []
        passages += [
            row(at, line, _LONGEST_ROW) for at, line in enumerate(one.lines[first - 1 : last], first)
        ]
        before = last
    return block([f"Document {number}", enclose([f"title: {one_line(one.title, 300)}", *passages])])
