"""Published question sets on the review page: the rows, and each question's evidence in its document, visuals and lineage."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from qagen_dagster.catalog import queries
from qagen_dagster.configuration.profiles import Role
from qagen_dagster.errors import DocumentError, StoreError
from qagen_dagster.formats.base import PageImage
from qagen_dagster.ingest.corpus_files import stored_text, visual_image
from qagen_dagster.loop.catalog import CATALOG, catalog_file
from qagen_dagster.loop.evaluation.run_questions import latest_report
from qagen_dagster.loop.judges import judge_agreements, stored_lines
from qagen_dagster.loop.questions.publication.published_rows import PublishedRows
from qagen_dagster.loop.review_decisions import BY_REVIEWERS, decisions_of, made_by_edits
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.publishing.questions.set_files import REJECTED_FILE, RETIRED_FILE
from qagen_dagster.records.corpus_options import PublishOptions
from qagen_dagster.records.decisions import Agreement
from qagen_dagster.records.document import IndexEntry, VisualManifest, VisualType, merged_lines
from qagen_dagster.records.evaluation import EvaluationReport, Kind
from qagen_dagster.records.ids import Combination, question_id
from qagen_dagster.records.questions.published import (
    CorpusGenerationResult,
    LatestVersion,
    PublishedQuestion,
    PublishedVisual,
    RejectedLine,
    RejectedQuestion,
    RetiredQuestion,
)
from qagen_dagster.records.questions.results import CandidateSet, Evidence, ValidatedSet
from qagen_dagster.web import review_set

CONTEXT = 6  # lines before and after a quote
MOST_LINES = 2_000  # lines after the first one in a response
_UNKNOWN = "unknown"
Question = PublishedQuestion | RejectedQuestion | RetiredQuestion


def attempt_of(one: Question) -> int:
    """The number of the attempt that proposed the question; 0 if the number is unknown."""
    if isinstance(one, PublishedQuestion):
        return one.generation_metadata.attempt_number
    return one.attempt_number if isinstance(one, RejectedQuestion) else 0


def windows(evidence: Iterable[Evidence], count: int) -> list[tuple[int, int]]:
    """The first and the last line of each window. A window is a quote with its context. Windows that touch are joined."""
    spans = ((one.start_line, one.end_line or one.start_line) for one in evidence if one.start_line)
    wide = ((max(1, start - CONTEXT), min(count, end + CONTEXT)) for start, end in spans)
    return merged_lines((first, last) for first, last in wide if first <= last)


def marked(
    lines: Sequence[str], evidence: Iterable[Evidence], first: int, last: int
) -> tuple[review_set.Line, ...]:
    """Lines `first` to `last` (1-based) with the quotes of `evidence` marked. A quote that is not on its lines is not marked."""
    inside = {number: bytearray(len(lines[number - 1])) for number in range(first, last + 1)}
    for place in evidence:
        if place.start_line is None:
            continue
        block = "\n".join(lines[place.start_line - 1 : place.end_line])
        start = block.find(place.quote)
        if start < 0:
            continue
        end = start + len(place.quote)
        for number, line in enumerate(lines[place.start_line - 1 : place.end_line], place.start_line):
            left, right = max(0, start), min(len(line), end)
            if number in inside and left < right:
                inside[number][left:right] = b"\1" * (right - left)
            start, end = start - len(line) - 1, end - len(line) - 1
    return tuple(
        review_set.Line(number=number, pieces=_pieces(lines[number - 1], flags))
        for number, flags in inside.items()
    )


def _pieces(line: str, flags: bytearray) -> tuple[str, ...]:
    pieces: list[str] = []
    at, flag = 0, 0
    for place, value in enumerate(flags):
        if value != flag:
            pieces.append(line[at:place])
            at, flag = place, value
    return (*pieces, line[at:])


def _why(question: Question) -> Iterator[str]:
    if isinstance(question, RejectedQuestion):
        yield question.rejection_detail
        if question.duplicate_of:
            yield f"Duplicate of: {question.duplicate_of}"
    elif isinstance(question, RetiredQuestion):
        yield question.detail


def _facts(known: queries.Row) -> dict[str, str]:
    return {
        "generator": known.generator_model,
        "validator": known.validator_model,
        "profile": known.profile or _UNKNOWN,
        "run": known.run_id or _UNKNOWN,
        "document version": known.document_version or _UNKNOWN,
        "attempt": str(known.attempt),
        "model calls": str(known.calls),
        "tokens": queries.told_tokens(known),
        "cost": _UNKNOWN if known.usd is None else f"${known.usd:.4f}",
    }


Costs = Mapping[tuple[str, int], float | None]


def question_source(space: Workspace, combination: Combination) -> review_set.SetSource:
    def state() -> object:
        """The set's version, its panel, and the time of the catalog, which has the costs; None if nothing is published."""
        latest = space.store.get(LatestVersion.key(combination))
        panel = space.store.hash_of(EvaluationReport.key(combination, Kind.PANEL))
        catalog = space.store.local_path(CATALOG)
        made = catalog.stat().st_mtime_ns if catalog is not None and catalog.is_file() else 0
        return None if latest is None else (latest, panel, made)

    return review_set.SetSource(combination.key, state, lambda: QuestionSet(space, combination))


class QuestionSet(review_set.ReviewSet):
    """The questions of one published set: first accepted, then rejected, then retired questions.

    If a question was proposed several times with the same answer, its proposals have the same id, and it is listed once.
    """

    versioned = True

    def __init__(self, space: Workspace, combination: Combination) -> None:
        """Raises StoreError when the set cannot be read."""
        super().__init__(combination.key, combination.key)
        self._space, self._combination = space, combination
        made = space.store.find_valid(CandidateSet.key(combination), CandidateSet)
        # Rejected and retired questions are shown with the generator of the set, because their records do not name a model.
        self._generator = "" if made is None else made.models.get(Role.GENERATOR.value, "")
        self._costs = _costs(space, combination)
        self._questions = _questions(space, combination)
        report = latest_report(space.store, combination, Kind.PANEL)
        self._panel = {} if report is None else {one.question_id: one for one in report.questions}

    def judges(self, accepted: Mapping[str, bool]) -> Iterable[Agreement]:
        judged = (one for one in self._questions.values() if not isinstance(one, RetiredQuestion))
        return judge_agreements(self._space.store, self._combination, accepted, judged)

    def make_rows(self) -> Iterator[review_set.Row]:
        places = review_set.places_of(self._generated())
        return (self._row(key, one, places.get(key)) for key, one in self._questions.items())

    @cached_property
    def _documents(self) -> dict[str, IndexEntry]:
        return {entry.id: entry for entry in self._space.index(self._combination.corpus).documents}

    def detail(self, question_id: str) -> review_set.Detail:
        one, entry = self._asked(question_id)
        lines, note = self._text(entry)
        spans, panel = windows(one.evidence, len(lines)), self._panel.get(question_id)
        doubt = ""
        if panel is not None and panel.other:
            doubt = f"{panel.suspicion:.0%} of the strong answerers of the panel answer: {panel.other}"
        return review_set.Detail(
            id=question_id,
            source=entry.source if entry is not None else one.source_document,
            line_count=len(lines),
            notes=tuple(text for text in (*_why(one), note, doubt) if text),
            passages=tuple(marked(lines, one.evidence, first, last) for first, last in spans),
            quotes=() if spans else tuple(place.quote for place in one.evidence),
            pictures=tuple(self._pictures(one)),
            verdict=one.verdict if isinstance(one, PublishedQuestion | RejectedQuestion) else None,
            grade=one.grade if isinstance(one, PublishedQuestion) else None,
        )

    def lineage(self, question_id: str) -> review_set.Lineage:
        """Models, run, cost and calls of the question, as `qagen show` shows them."""
        one, _ = self._asked(question_id)
        facts: dict[str, str] = {}
        try:
            with catalog_file(self._space.store) as file:
                if isinstance(one, PublishedQuestion):
                    known = queries.question(file, question_id)
                    facts, calls = _facts(known), known.model_calls
                else:
                    calls = queries.attempt_calls(file, self.key, one.document_id, attempt_of(one))
        except StoreError as error:
            return review_set.Lineage(note=str(error))
        return review_set.Lineage(
            facts=facts, calls=review_set.calls_of((call.stage, call) for call in calls)
        )

    def lines(self, question_id: str, first: int, last: int) -> tuple[review_set.Line, ...]:
        """The lines from `first` to `last` of the document, but at most `MOST_LINES` after the first one."""
        one, entry = self._asked(question_id)
        lines, _ = self._text(entry)
        first, last = max(1, first), min(last, len(lines), first + MOST_LINES)
        return marked(lines, one.evidence, first, last)

    def picture(self, question_id: str, page: int, label: str) -> PageImage | None:
        """The page with a frame around the visual called `label`; None if the document has no pages.

        Raises DocumentError if the corpus no longer has the document, and as `visual_image` does.
        """
        one, entry = self._asked(question_id)
        if entry is None:
            raise DocumentError("corrupt", f"{one.source_document} is no longer in the corpus")
        whole = PublishedVisual(label="", type=VisualType.PAGE, page=page, box=None)
        visual = next((each for each in self._visuals(one) if each.label == label), whole)
        corpus = self._space.corpus(self._combination.corpus)
        return visual_image(corpus, entry, self._space.parsers(), visual, whole_page=True)

    def _asked(self, question_id: str) -> tuple[Question, IndexEntry | None]:
        """A question, and its document or None if the corpus no longer has the document. Raises StoreError for an unknown question."""
        self.find(question_id)
        question = self._questions[question_id]
        return question, self._documents.get(question.document_id)

    def _text(self, entry: IndexEntry | None) -> tuple[list[str], str]:
        """The lines of a document, and a note; the note says why there are no lines, and is empty otherwise."""
        if entry is None:
            return [], "The document is no longer in the corpus."
        try:
            text = stored_text(self._space.store, self._combination.corpus, entry)
        except StoreError as error:
            return [], str(error)
        return text.split("\n") if text else [], "" if text else "The document has no text."

    def _pictures(self, question: Question) -> Iterator[review_set.Picture]:
        """The pages with the visuals of the question, then the other pages of its evidence, which are closed at first."""
        visuals = [(each.page, each.label) for each in self._visuals(question) if each.page is not None]
        for page, label in visuals:
            yield review_set.Picture(label=label, page=page, title=f"Page {page} with {label}")
        shown = {page for page, _ in visuals}
        for page in dict.fromkeys(place.page for place in question.evidence if place.page not in shown):
            if page is not None:
                yield review_set.Picture(label="", page=page, title=f"Page {page}", is_open=False)

    def _visuals(self, question: Question) -> tuple[PublishedVisual, ...]:
        if isinstance(question, PublishedQuestion) and question.visuals:
            return question.visuals
        labels = {place.visual for place in question.evidence if place.visual}
        key = VisualManifest.key(self._combination.corpus, question.document_id) if labels else None
        manifest = None if key is None else self._space.store.find_valid(key, VisualManifest)
        known = manifest.visuals if manifest is not None else ()
        return tuple(
            PublishedVisual(**each.shared(PublishedVisual)) for each in known if each.label in labels
        )

    def _generated(self) -> set[str]:
        """The ids of the questions that the set had before reviewers changed the set."""
        found = {
            key
            for key, question in self._questions.items()
            if isinstance(question, PublishedQuestion)
            or (isinstance(question, RejectedQuestion) and question.rejection_reason in BY_REVIEWERS)
        }
        decisions = decisions_of(self._space, self.key).values()
        return found - made_by_edits(self._combination, (one for some in decisions for one in some))

    def _row(self, question_id: str, one: Question, place: int | None) -> review_set.Row:
        model, grade, attempt = self._generator, "", attempt_of(one)
        if isinstance(one, PublishedQuestion):
            outcome, reason, model = review_set.ACCEPTED, "", one.generation_metadata.generator_model
            grade = one.grade.grade.value if one.grade is not None and one.grade.grade is not None else ""
        elif isinstance(one, RejectedQuestion):
            outcome, reason = review_set.REJECTED, one.rejection_reason.value
        else:
            outcome, reason = "retired", one.reason.value
        return review_set.Row(
            id=question_id,
            set_key=self.key,
            document=one.document_id,
            outcome=outcome,
            question=one.question,
            answer=one.answer,
            type=one.question_type or "",
            origin="" if isinstance(one, RetiredQuestion) else one.origin,
            reason=reason,
            grade=grade,
            model=model,
            attempt=attempt,
            usd=self._costs.get((one.document_id, attempt)),
            place=place,
            suspicion=self._panel[question_id].suspicion if question_id in self._panel else 0.0,
        )


def _costs(space: Workspace, combination: Combination) -> Costs:
    try:
        with catalog_file(space.store) as file:
            return queries.attempt_costs(file, combination.key)
    except StoreError:  # there is no catalog yet
        return {}


def _questions(space: Workspace, combination: Combination) -> dict[str, Question]:
    published = space.store.read(CorpusGenerationResult.key(combination), CorpusGenerationResult)
    found: dict[str, Question] = {
        one.id: one for one in (*published.questions, *_waiting(space, combination))
    }
    for line in stored_lines(space.store, combination, REJECTED_FILE, RejectedLine):
        found.setdefault(question_id(combination, line.document_id, line.question, line.answer), line)
    for retired in stored_lines(space.store, combination, RETIRED_FILE, RetiredQuestion):
        found.setdefault(retired.id, retired)
    return found


def _waiting(space: Workspace, combination: Combination) -> tuple[PublishedQuestion, ...]:
    """The validated questions, if the scenario does not publish all of them, because some may wait for a decision; else none."""
    if space.corpus(combination.corpus).scenario(combination.scenario).publish == PublishOptions():
        return ()
    validated = space.store.find_valid(ValidatedSet.key(combination), ValidatedSet)
    return () if validated is None else PublishedRows(space, combination, validated).questions()
