"""A bank of exam items on the review page."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from qagen_dagster.configuration.profiles import Role
from qagen_dagster.errors import ConfigError
from qagen_dagster.formats.base import PageImage
from qagen_dagster.latex.engine import compile_document, find_engine
from qagen_dagster.loop.exams.bank import FILES, Bank, gather, item_texts
from qagen_dagster.loop.exams.code_checks import flaws_of
from qagen_dagster.loop.exams.responses import latest_statistics, sittings
from qagen_dagster.loop.exams.review import edited_item, fields_of
from qagen_dagster.loop.exams.state_machine import finding_of
from qagen_dagster.loop.figures import Drawing, draw_figures, first_page
from qagen_dagster.loop.review_decisions import edit_on
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.publishing.exams.pages import one_question
from qagen_dagster.publishing.markup import paragraphs, with_mathml
from qagen_dagster.records.decisions import exam_key
from qagen_dagster.records.exams import submissions
from qagen_dagster.records.exams.bank import (
    REVIEW_STAGE,
    ExamItem,
    ItemBank,
    Proof,
    ProofStatus,
    RejectedItem,
    SlotResult,
    item_id,
)
from qagen_dagster.records.exams.config import StyleThresholds
from qagen_dagster.records.exams.paper import ItemStatistics, Sitting
from qagen_dagster.records.run import cost_of
from qagen_dagster.web import review_set
from qagen_dagster.web.review_set import Entry, Section

_PROOFS = {
    ProofStatus.PROVEN: "proven: the checkable form gives the value of the key and of no other option",
    ProofStatus.REFUTED: "refuted: the value of the checkable form is not that of the key, or several options have that value",
    ProofStatus.UNPROVEN: "not proven: the form or the options could not be read as values, or the form does not use everything that the stem gives or asks for",
    ProofStatus.ABSENT: "not proven: there is no checkable form",
}


@dataclass(frozen=True)
class Ended:
    """The result of an ended slot, with its item, accepted or rejected."""

    result: SlotResult
    given: ExamItem | RejectedItem


def exam_source(space: Workspace, exam: str) -> review_set.SetSource:
    def state() -> object:
        files = tuple(space.store.get(ItemBank.file_key(exam, name)) for name in FILES[:2])
        return None if files[0] is None else (*files, *space.store.list(Sitting.folder(exam)))

    def read() -> review_set.ReviewSet:
        return ExamBank(space, gather(space, exam), latest_statistics(sittings(space, exam)))

    return review_set.SetSource(exam_key(exam), state, read)


class ExamBank(review_set.ReviewSet):
    """The items of the bank of an exam, and the slots that gave no item."""

    def __init__(self, space: Workspace, bank: Bank, statistics: Mapping[str, ItemStatistics]) -> None:
        super().__init__(exam_key(bank.bank.exam), bank.bank.name)
        self._space, self._bank, self._statistics = space, bank, statistics

    def make_rows(self) -> Iterator[review_set.Row]:
        judged = [
            key
            for key, ended in self._ended.items()
            if isinstance(ended.given, ExamItem) or ended.given.stage == REVIEW_STAGE
        ]
        places = review_set.places_of(judged)
        return (self._row(key, one, places.get(key)) for key, one in self._ended.items())

    def detail(self, question_id: str) -> review_set.Detail:
        self.find(question_id)
        ended = self._ended[question_id]
        given = ended.given
        edited = (f"edited by {given.edited}",) if isinstance(given, ExamItem) and given.edited else ()
        notes = given.reasons if isinstance(given, RejectedItem) else edited
        title = f"{given.schema_id} {given.schema_title}, {given.difficulty.value}"
        sections = (*_sections(ended), *_flaws(given), *_answers(self._statistics.get(question_id)))
        texts = item_texts([given]).values() if isinstance(given, ExamItem) else ()
        figures = draw_figures(self._space, map(Drawing, texts))
        compiled = (review_set.COMPILED,) if isinstance(given, ExamItem) and find_engine() else ()
        sections = review_set.with_pictures(sections, figures)
        return review_set.Detail(
            id=question_id, source=title, notes=notes, sections=sections, pictures=compiled
        )

    def picture(self, question_id: str, page: int, label: str) -> PageImage | None:
        self.find(question_id)
        given, engine = self._ended[question_id].given, find_engine()
        if not isinstance(given, ExamItem) or engine is None:
            return None
        return first_page(self._space, compile_document(engine, one_question(given)).pdf)

    def fields(self, question_id: str) -> dict[str, str]:
        return fields_of(self._editable(question_id).question_package)

    def edited(self, question_id: str, fields: Mapping[str, str]) -> review_set.Edited:
        item = self._editable(question_id)
        found = edited_item(self._space, item, fields)
        if found.question_package == item.question_package:
            raise ConfigError("the edit changes nothing")
        return review_set.Edited(
            new_question=found.question.stem,
            new_answer=_answer(found.question),
            new_item=found.model_dump_json(),
        )

    def _editable(self, question_id: str) -> ExamItem:
        """The item with the edit that applies to it, even if the bank does not have that edit yet."""
        self.find(question_id)
        given = self._ended[question_id].given
        if isinstance(given, RejectedItem):
            raise ConfigError("only items of the bank can be edited")
        edit = edit_on(self._space, self.key, question_id)
        return given if edit is None else ExamItem.model_validate_json(edit.new_item)

    def lineage(self, question_id: str) -> review_set.Lineage:
        self.find(question_id)
        ended = self._ended[question_id]
        facts = {**ended.given.models, "run": ended.result.run_id, "attempts": str(ended.given.attempts)}
        return review_set.Lineage(
            facts=facts, calls=review_set.calls_of(("item", call) for call in ended.result.calls)
        )

    @cached_property
    def _ended(self) -> dict[str, Ended]:
        """The ended slots by the id of their item, accepted items first. A slot without a question has its own name as its key."""
        accepted = {item.id: item for item in self._bank.bank.items}
        rejected = {(one.exam, one.schema_id, one.difficulty, one.slot): one for one in self._bank.rejected}
        found: dict[str, Ended] = {}
        lost: dict[str, Ended] = {}
        for result in self._bank.results:
            part = result.part
            given = rejected.get((part.exam, part.schema_id, part.difficulty, result.slot))
            if given is not None:
                key = f"{given.schema_id}-{given.difficulty.value}-slot-{result.slot}"
                if given.question_package is not None:
                    key = item_id(given.schema_id, given.difficulty, given.question_package.question)
                lost.setdefault(key, Ended(result, given))
            elif result.item is not None and result.item.id in accepted:
                found[result.item.id] = Ended(result, result.item)
        return {**found, **{key: one for key, one in lost.items() if key not in found}}

    def _row(self, question_id: str, ended: Ended, place: int | None) -> review_set.Row:
        given = ended.given
        asked = None if given.question_package is None else given.question_package.question
        return review_set.Row(
            id=question_id,
            set_key=self.key,
            document=given.schema_id,
            outcome=review_set.REJECTED if isinstance(given, RejectedItem) else review_set.ACCEPTED,
            question="" if asked is None else asked.stem,
            answer="" if asked is None else _answer(asked),
            markup=() if asked is None else (with_mathml(asked.stem), with_mathml(_answer(asked))),
            type=given.difficulty.value,
            reason=given.failure_type if isinstance(given, RejectedItem) else "",
            model=given.models.get(Role.IMPLEMENTER.value, ""),
            usd=cost_of(ended.result.calls),
            place=place,
        )


def _answer(question: submissions.ExamQuestion) -> str:
    return f"{question.correct_option}: {question.options[question.correct_option]}"


def _sections(ended: Ended) -> Iterator[Section]:
    given = ended.given
    if given.question_package is None:
        yield Section.of("Question", Entry(text="There is no question."))
    else:
        yield from _question(given.question_package)
        yield Section.of("Key", *_checks(ended))
    if given.idea_plan is not None:
        yield Section.of("Idea", Entry(markup=_markup(given.idea_plan.idea_summary)), is_open=False)
    if len(ended.result.attempts) > 1:
        yield Section.of("Earlier attempts", *_attempts(ended.result), is_open=False)


def _flaws(given: ExamItem | RejectedItem) -> Iterator[Section]:
    package = given.question_package
    if package is None:
        return
    found = flaws_of(package, given.style_report).items()
    entries = [Entry(label=name.replace("_", " "), text=why, mark="no") for name, why in found]
    yield Section.of("Item-writing flaws", *(entries or [Entry(text="none")]), is_open=bool(entries))


def _answers(found: ItemStatistics | None) -> Iterator[Section]:
    """The statistics of the answers of candidates to the item; nothing without statistics."""
    if found is None:
        return
    values = {
        "facility": f"{found.facility} of {found.candidates} candidates",
        "point-biserial": str(found.discrimination or "cannot be computed"),
        "thirds": f"upper {found.upper:.2f}, lower {found.lower:.2f}, difference {found.thirds}",
        "chosen": ", ".join(f"{letter} {count}" for letter, count in sorted(found.chosen.items())),
    }
    entries = [Entry(label=label, text=text) for label, text in values.items()]
    entries += [Entry(label="found", text=text, mark="no") for text in found.findings]
    yield Section.of("Answers of candidates (95 % intervals)", *entries)


def _question(package: submissions.QuestionPackage) -> Iterator[Section]:
    asked = package.question
    stem = Entry(markup=_markup(asked.stem))
    options = (
        Entry(label=letter, markup=_markup(text), mark="yes" if letter == asked.correct_option else "")
        for letter, text in sorted(asked.options.items())
    )
    yield Section.of("Question", stem, *options)
    insight = Entry(label="insight", markup=_markup(package.solution.key_insight))
    yield Section.of("Solution", insight, Entry(markup=_markup(package.solution.reasoning)))
    paths = (
        Entry(label=letter, markup=_markup(why)) for letter, why in sorted(package.distractor_map.items())
    )
    yield Section.of("Mistakes behind the wrong options", *paths, is_open=False)


def _checks(ended: Ended) -> Iterator[Entry]:
    given = ended.given
    if isinstance(given, ExamItem):
        yield _proof(given.proof)
    if given.blind_solution is not None:
        yield _blind(given.blind_solution, given.question_package)
    if given.verifier_report is not None:
        yield _verdict(given.verifier_report)
    if given.style_report is not None:
        style = given.style_report.scores
        scores = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in style)
        yield Entry(label="style", text=f"mean {style.mean:.1f} ({scores})")


def _proof(proof: Proof) -> Entry:
    text = f"{_PROOFS[proof.status]}{f', value {proof.value}' if proof.value else ''}"
    mark = {ProofStatus.PROVEN: "yes", ProofStatus.REFUTED: "no"}.get(proof.status, "")
    return Entry(label="key", text=text, mark=mark)


def _blind(blind: submissions.BlindSolution, package: submissions.QuestionPackage | None) -> Entry:
    is_key = package is not None and blind.chosen_option == package.question.correct_option
    choice = f"<p>{blind.chosen_option or 'no option'}: {with_mathml(blind.value)}</p>"
    return Entry(
        label="blind answer", markup=choice + _markup(blind.reasoning), mark="yes" if is_key else "no"
    )


def _verdict(report: submissions.VerifierReport) -> Entry:
    fault = ": ".join(part for part in (report.failure_type, " ".join(report.reasons)) if part)
    text = " ".join(part for part in (report.verdict.value, fault) if part)
    return Entry(label="verifier", text=text, mark="yes" if report.verdict.value == "PASS" else "no")


def _attempts(result: SlotResult) -> Iterator[Entry]:
    """The attempts before the last one, and the reason why each of them failed."""
    for attempt in result.attempts[:-1]:
        finding = finding_of(attempt, StyleThresholds())
        stem = "" if attempt.package is None else _markup(attempt.package.question.stem)
        why = "" if finding is None else f"{finding.stage.value}: {finding.detail or finding.name}"
        yield Entry(label=str(attempt.number), markup=stem, text=why, mark="no")


def _markup(text: str) -> str:
    return paragraphs(text, with_mathml)
