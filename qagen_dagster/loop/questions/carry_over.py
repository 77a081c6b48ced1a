"""Keeps the questions of a set while its corpus changes: the former result of a document is found, checked and carried over."""

from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from qagen_dagster.agents.questions.evidence.widening import look, similar_passage, surroundings
from qagen_dagster.agents.questions.prompt_values import QAContext
from qagen_dagster.loop.questions.document_work import DocumentWork
from qagen_dagster.loop.questions.state import Carried, Kept, Recheck
from qagen_dagster.records.document import Document, IndexEntry
from qagen_dagster.records.ids import Combination, Mode, content_hash
from qagen_dagster.records.questions.results import (
    CandidateDocument,
    CandidateSet,
    DocumentEnd,
    Evidence,
    GenerationResult,
    QAPair,
    RejectionReason,
    RetiredQA,
)
from qagen_dagster.records.questions.submissions import EvidenceQuote
from qagen_dagster.store import Store

REMOVED = "the document was removed"
_NO_TEXT = content_hash(b"")
_UNFINISHED = (DocumentEnd.BUDGET_EXHAUSTED, DocumentEnd.NOT_USABLE, DocumentEnd.NO_VISUALS)


@dataclass(frozen=True)
class EarlierSet:
    """The candidate set before a run. `made` is None if there is no set, or if models, prompts or the scenario have changed since."""

    store: Store
    documents: tuple[IndexEntry, ...]  # the present documents of the corpus
    made: CandidateSet | None

    @classmethod
    def read(
        cls, store: Store, combination: Combination, fingerprint: str, documents: tuple[IndexEntry, ...]
    ) -> "EarlierSet":
        made = store.find_valid(CandidateSet.key(combination), CandidateSet)
        return cls(store, documents, made if made is not None and made.fingerprint == fingerprint else None)

    def result_for(self, entry: IndexEntry) -> GenerationResult | None:
        """The former result of the document, even under another name; None if there is none."""
        line = self.lines.get(entry.id)
        return None if line is None else self._result(line)

    def retired(self) -> tuple[RetiredQA, ...]:
        """The questions of all documents that were removed."""
        if self.made is None:
            return ()
        used = {line.document_id for line in self.lines.values()}
        gone = (self._result(line) for line in self.made.documents if line.document_id not in used)
        lost = (one for result in gone if result is not None for one in all_retired(result, REMOVED))
        return (*self.made.retired, *lost)

    @cached_property
    def lines(self) -> dict[str, CandidateDocument]:
        """The lines of the former set for present documents, by the present ids of these documents.

        A file may have been renamed, and rows without ids may have moved in their file. So a document with a new name or new content
        gets the line of a former document that is gone and that had the same content.
        """
        left = {} if self.made is None else {line.document_id: line for line in self.made.documents}
        contents = {name: self._content_of(line) for name, line in left.items()}
        now = {entry.id: _content(entry.text_sha256, entry.version) for entry in self.documents}
        known = {name: left.pop(name) for name, content in now.items() if contents.get(name) == content}
        gone: defaultdict[str, deque[str]] = defaultdict(deque)
        for name in left:
            gone[contents[name]].append(name)
        for name in now:
            if name not in known and (names := gone[now[name]]):
                known[name] = left.pop(names.popleft())
        return {name: line for name, line in left.items() if name in now} | known

    def _content_of(self, line: CandidateDocument) -> str:
        # Sets of earlier versions of this program have the hash in their results only.
        result = None if line.text_sha256 else self._result(line)
        text_sha256 = line.text_sha256 if result is None else result.text_sha256
        return _content(text_sha256, line.document_version)

    def _result(self, line: CandidateDocument) -> GenerationResult | None:
        return None if line.result_key is None else self.store.find_valid(line.result_key, GenerationResult)


def _content(text_sha256: str, version: str) -> str:
    """A hash that is equal for documents with the same content: the hash of the text, or of the file if there is no text."""
    return version if text_sha256 in ("", _NO_TEXT) else text_sha256


def is_same_content(work: DocumentWork, earlier: GenerationResult) -> bool:
    """Whether the document has the same text as when `earlier` was made. In visual mode the file must be the same, too."""
    document = work.context.view.document
    same_file = earlier.document_version == document.version
    return earlier.text_sha256 == document.text_sha256 and (
        same_file or work.combination.mode is Mode.TEXTUAL
    )


def moved(work: DocumentWork, earlier: GenerationResult) -> GenerationResult:
    """The former result under the new name and version of the document, whose content is the same. The returned result has no calls."""
    document = work.context.view.document
    own = {"document_id": document.id}
    return earlier.model_copy(
        update={
            **own,
            "document_version": document.version,
            "accepted": tuple(_renamed(pair, work) for pair in earlier.accepted),
            "rejected": tuple(one.model_copy(update=own) for one in earlier.rejected),
            "stats": earlier.stats.model_copy(update={"document_path": work.source_document}),
            "calls": (),
        }
    )


def carried(work: DocumentWork, earlier: GenerationResult) -> Carried:
    """Decide for each question of the former version whether it is kept, rechecked or retired. No model is asked."""
    if is_same_content(work, earlier):
        pairs = (_renamed(pair, work) for pair in earlier.accepted)
        found = [_kept(pair, pair.evidence, earlier) for pair in pairs]
    else:
        found = [_examined(work.context, pair, earlier) for pair in earlier.accepted]
    return Carried(
        kept=tuple(one for one in found if isinstance(one, Kept)),
        recheck=tuple(one for one in found if isinstance(one, Recheck)),
        retired=(*earlier.retired, *(one for one in found if isinstance(one, RetiredQA))),
    )


def all_retired(earlier: GenerationResult, why: str) -> tuple[RetiredQA, ...]:
    """All questions of a document that cannot be used any more, as retired questions with the reason `why`."""
    lost = (_retired(pair, why, _quotes(pair), ()) for pair in earlier.accepted)
    return (*earlier.retired, *lost)


def is_finished(earlier: GenerationResult) -> bool:
    """Whether the work on the document ended for another reason than an exhausted budget or an unusable document."""
    return earlier.end not in _UNFINISHED


def _examined(context: QAContext, pair: QAPair, earlier: GenerationResult) -> Kept | Recheck | RetiredQA:
    # older results have no surroundings
    before = earlier.surroundings.get(pair.id) or ("",) * len(pair.evidence)
    found = [_place(context, place, old) for place, old in zip(pair.evidence, before, strict=True)]
    evidence = tuple(place for place, _ in found if place is not None)
    now = tuple(text for _, text in found)
    fault = _fault(context, pair, [place is None for place, _ in found])
    if fault:
        return _retired(pair, fault, _quotes(pair), now)
    if now == before and (context.mode is Mode.TEXTUAL or _looks_as_before(context, pair, earlier)):
        return _kept(pair, evidence, earlier)
    return Recheck(id=pair.id, candidate=pair.candidate(evidence), otherwise=_retired(pair, "", before, now))


def _place(context: QAContext, place: Evidence, before: str) -> tuple[Evidence | None, str]:
    """Returns (place of a quote in the present text, its surroundings), or (None, a similar passage) if the quote is gone.

    If the quote is at several places, a place with the surroundings `before` is preferred.
    """
    view = context.view
    if place.start_line is None and not view.has_text:
        return place, ""  # a picture of a page without text
    options = context.evidence.matches(EvidenceQuote(**place.shared(EvidenceQuote)), place.visual)
    if not options:
        return None, similar_passage(view.lines, place.quote)
    texts = [surroundings(view.document, view.lines, one) for one in options]
    best = texts.index(before) if before in texts else 0
    return options[best], texts[best]


def _fault(context: QAContext, pair: QAPair, lost: list[bool]) -> str:
    if any(lost):
        return f"quote {lost.index(True) + 1} of {len(lost)} is no longer in the document"
    labels = {visual.label for visual in context.view.visuals}
    missing = next((label for label in pair.labels if label not in labels), None)
    return "" if missing is None else f"no visual is labelled {missing!r} any more"


def _looks_as_before(context: QAContext, pair: QAPair, earlier: GenerationResult) -> bool:
    """Whether the visuals of a question look as before. False if their former look is unknown."""
    before = [earlier.looks.get(label, "") for label in pair.labels]
    visuals = {one.label: one for one in context.view.visuals}
    return (
        bool(before)
        and all(before)
        and before == [look(context.view, visuals[label]) for label in pair.labels]
    )


def _quotes(pair: QAPair) -> tuple[str, ...]:
    return tuple(place.quote for place in pair.evidence)


def _retired(pair: QAPair, why: str, before: tuple[str, ...], now: tuple[str, ...]) -> RetiredQA:
    return RetiredQA(
        **pair.shared(RetiredQA),
        reason=RejectionReason.EVIDENCE_NOT_FOUND,
        detail=why,
        before=before,
        now=now,
    )


def _kept(pair: QAPair, evidence: tuple[Evidence, ...], earlier: GenerationResult) -> Kept:
    attempt = pair.generation_metadata.attempt_number
    verdicts = (one for one in earlier.verdicts if (one.attempt, one.question) == (attempt, pair.question))
    return Kept(id=pair.id, candidate=pair.candidate(evidence), attempt=attempt, verdict=next(verdicts, None))


def _renamed(pair: QAPair, work: DocumentWork) -> QAPair:
    """The question with the present name and the present page numbers of its document."""
    document = work.context.view.document
    update = {
        "document_id": document.id,
        "source_document": work.source_document,
        "evidence": tuple(_paged(pair.evidence, document)),
    }
    return pair.model_copy(update=update)


def _paged(evidence: Iterable[Evidence], document: Document) -> Iterable[Evidence]:
    for place in evidence:
        line = place.start_line
        yield place if line is None else place.model_copy(update={"page": document.page_of(line)})
