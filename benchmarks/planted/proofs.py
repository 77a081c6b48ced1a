"""Faulty candidates whose fault only a search in the corpus shows, each with its good twin: without an answer, and across documents.

The corpus are articles of XQuAD without their last paragraph, whose questions nothing answers. Each candidate goes alone to the check
that it is for, so that no quota hides it. The validators are scripts that know the answers and see them only in what they are shown: an
honest one, which overlooks every tenth, and a lenient one, which overlooks half.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.no_answer import COMBINATION, Article, Asked, Script, articles, space_of
from qagen_dagster.agents.questions import across, no_answer
from qagen_dagster.agents.questions.across import Member
from qagen_dagster.agents.questions.prompt_values import QAContext
from qagen_dagster.english.sentences import split
from qagen_dagster.loop.journal import JournalFile
from qagen_dagster.loop.questions.across_documents import AcrossStage
from qagen_dagster.loop.questions.document_work import DocumentWork, QAModels
from qagen_dagster.loop.questions.no_answer.prove import CorpusPassages, Prover
from qagen_dagster.loop.questions.no_answer.stage import StageJournal
from qagen_dagster.loop.questions.stopping import QALimits
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.messages import AssistantMessage, Request
from qagen_dagster.records.document import Document
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.questions.no_answer import DraftNoAnswer
from qagen_dagster.records.questions.results import Candidate, RejectionReason
from qagen_dagster.records.questions.submissions import DraftAcross
from qagen_dagster.toolkit.document_view import DocumentView
from tests.support.documents import page_picture
from tests.support.models import FakeModel, call

VALIDATORS = {"honest": 0.1, "lenient": 0.5}  # the share of the answers that each overlooks
EACH = 3  # candidates of each kind from one article
_YEAR = re.compile(r"\b1\d{3}\b")
_LIMITS = QALimits(target_count=3, max_consecutive_failures=3, max_attempts=9)


@dataclass(frozen=True)
class Draft:
    """What a generator would submit. `asked`: with which answer the validators know the question, and where it stands."""

    kind: str
    good: bool
    article: int
    values: Mapping[str, Any]
    asked: Asked
    needs: tuple[str, ...] = ()  # across: texts that must all be shown
    others: tuple[int, ...] = ()  # across: the other articles of the group
    false: bool = False  # whether its premise is false


@dataclass(frozen=True)
class Outcome:
    draft: Draft
    by: str  # "code", "validator", or empty if it was kept
    reason: str


def drafts(found: Sequence[Article]) -> Iterator[Draft]:
    """All candidates, faulty ones followed by their good twins."""
    for at in range(len(found)):
        yield from _without_answer(found, at)
        yield from _premises(found, at)
        yield from _across(found, at)


def _without_answer(found: Sequence[Article], at: int) -> Iterator[Draft]:
    own, other = found[at], found[(at + 1) % len(found)]
    nearest = split(own.paragraphs[0])[0].text

    def draft(kind: str, asked: Asked, *, good: bool) -> Draft:
        values = {
            "kind": "unanswerable",
            "question": asked.question,
            "reason": "It is missing.",
            "answer": "The documents do not give this.",
            "evidence": [{"quote": nearest}],
        }
        return Draft(kind, good, at, values, asked)

    pairs = (("answered elsewhere", other.asked[1]), ("answered in its document", own.asked[1]))
    for kind, bad in pairs:
        for one, twin in list(zip(bad, own.asked[-1], strict=False))[:EACH]:
            yield draft(kind, one, good=False)
            yield draft(kind, twin, good=True)


def _premises(found: Sequence[Article], at: int) -> Iterator[Draft]:
    """Questions with a year that their sentence has, as if it were false; the twins have another year."""
    count = 0
    for paragraph, asked in zip(found[at].paragraphs[:-1], found[at].asked[:-1], strict=True):
        for one in asked:
            sentence = next(
                (each.text for each in split(paragraph) if _sentence_of(one) in _flat(each.text)), ""
            )
            years = [year for year in _YEAR.findall(one.question) if year in sentence]
            if not years or count == EACH:
                continue
            count += 1
            values = {
                "kind": "false_premise",
                "reason": f"It takes {years[0]} for granted.",
                "answer": _flat(sentence),
                "evidence": [{"quote": sentence}],
            }
            changed = replace(one, question=one.question.replace(years[0], str(int(years[0]) + 7)))
            yield Draft("premise true", False, at, values | {"question": one.question}, one)
            echo = {"question": one.question, "answer": re.sub(r"^\W*\w+\W+", "", one.question)}
            yield Draft("nothing corrected", False, at, values | echo, one)
            for kind in ("premise true", "nothing corrected"):
                yield Draft(kind, True, at, values | {"question": changed.question}, changed, false=True)


def _sentence_of(one: Asked) -> str:
    return one.place[len(one.place) // 3 : -len(one.place) // 3]


def _flat(text: str) -> str:
    return " ".join(text.split())


def _across(found: Sequence[Article], at: int) -> Iterator[Draft]:
    """The years between two events of two articles; the faulty twins ask for what one of the two tells."""
    other = (at + 1) % len(found)
    pairs = zip(_dated(found[at]), _dated(found[other]), strict=False)
    for first, second in list(pairs)[:EACH]:
        years = [_YEAR.search(one) for one in (first, second)]
        shown = [year.group() for year in years if year is not None]
        gaps = [re.sub(_YEAR, "a certain year", one, count=1).rstrip(".") for one in (first, second)]
        quotes = [{"document": number, "quote": one} for number, one in enumerate((first, second), 1)]
        apart = str(abs(int(shown[0]) - int(shown[1])))
        computed = {"operation": "difference", "items": shown, "result": apart}
        question = f"How many years lie between the two events: {gaps[0]}; {gaps[1]}?"
        needed = Asked(question, f"{apart} years", "")
        values = {"kind": "temporal", "question": question, "answer": needed.answer, "evidence": quotes}
        good = Draft(
            "one document is enough",
            True,
            at,
            values | {"computation": computed},
            needed,
            (first, second),
            (other,),
        )
        for number, (gap, year) in enumerate(zip(gaps, shown, strict=True)):
            alone = Asked(f"{gap.replace('a certain year', 'which year')}?", year, "")
            lone = {"kind": "bridge", "question": alone.question, "answer": year, "evidence": quotes}
            yield Draft(
                "one document is enough", False, at, lone, alone, ((first, second)[number],), (other,)
            )
            decorated = Asked(
                f"In which year, apart from what is said of {_title(gaps[1 - number])}, was it that {gap}?",
                year,
                "",
            )
            more = {"kind": "bridge", "question": decorated.question, "answer": year, "evidence": quotes}
            yield Draft(
                "the other document decorates",
                False,
                at,
                more,
                decorated,
                ((first, second)[number],),
                (other,),
            )
        yield good
        yield replace(good, kind="the other document decorates")


def _dated(article: Article) -> list[str]:
    """Sentences of an article with one year, short enough to be asked about."""
    whole = [each.text for paragraph in article.paragraphs[:-1] for each in split(paragraph)]
    return [one for one in whole if len(_YEAR.findall(one)) == 1 and 6 <= len(one.split()) <= 25]


def _title(text: str) -> str:
    return " ".join(text.split()[:5])


@dataclass
class Reader(Script):
    """Also knows false premises, and answers that need several texts."""

    false: frozenset[str] = frozenset()
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    def sees(self, asked: Asked, shown: str) -> bool:
        needed = self.needs.get(asked.question)
        if needed is None:
            return super().sees(asked, shown)
        return all(_flat(one) in shown for one in needed)

    def answer(self, request: Request) -> AssistantMessage:
        found = super().answer(request)
        for one in found.content:
            given = getattr(one, "arguments", {})
            asked = self.asked_in(request)
            if asked in self.false and "unambiguous" in given:
                honest = given["answerable"]
                return call(
                    "submit_answers",
                    **{**given, "premise_holds": not honest, "answerable": False, "answer": ""},
                )
        return found


def outcomes(file: Path, most: int, validator: str) -> list[Outcome]:
    """What became of all candidates of the first articles of a file."""
    found = list(articles(file, most))
    planted = list(drafts(found))
    known = {one.question: one for each in found for some in each.asked for one in some}
    known |= {one.asked.question: one.asked for one in planted}
    with tempfile.TemporaryDirectory() as place:
        space = space_of(Path(place), found)
        corpus = CorpusPassages(space, "articles", "embedded")
        reader = Reader(known, [], "", VALIDATORS[validator])
        reader.false = frozenset(one.asked.question for one in planted if one.false)
        reader.needs = {one.asked.question: one.needs for one in planted if one.needs}
        return [
            _outcome(space, corpus, found, one, reader, f"{number}") for number, one in enumerate(planted)
        ]


def _work(space: Workspace, name: str) -> DocumentWork:
    document = space.store.read(Document.key("articles", name), Document)
    text = space.store.get(Document.text_key("articles", name)) or b""
    view = DocumentView(document, tuple(text.decode().split("\n")), (), page_picture)
    config = space.corpus("articles").config
    return DocumentWork(
        COMBINATION, QAContext(config, config.scenarios["facts"], Mode.TEXTUAL, view), _LIMITS, "f"
    )


def _outcome(
    space: Workspace, corpus: CorpusPassages, found: Sequence[Article], draft: Draft, reader: Reader, key: str
) -> Outcome:
    work, asked = _work(space, found[draft.article].name), len(reader.seen)
    models = QAModels(FakeModel([]), FakeModel(reader.answer), FakeModel([]))
    if draft.needs:
        members = [_member(corpus, found[at].name, draft) for at in (draft.article, *draft.others)]
        one = across.candidate_of(work.context, members, DraftAcross.model_validate(dict(draft.values)))
        journal = JournalFile(space.store, f"journals/{key}.json", "w", StageJournal)
        stage = AcrossStage(work, models, corpus, journal)
        decided = stage.decide(one, partial(stage.proved, members=members))
        reason = decided.reason
    else:
        one = no_answer.candidate_of(work.context, DraftNoAnswer.model_validate(dict(draft.values)))
        reason = _proved(one, work, models, corpus)
    by = "" if reason is None else "validator" if len(reader.seen) > asked else "code"
    return Outcome(draft, by, "" if reason is None else reason.value)


def _member(corpus: CorpusPassages, name: str, draft: Draft) -> Member:
    passages = corpus.about(name, str(draft.values["question"]))
    return Member(
        corpus.document(name), passages.lines, tuple((one.start_line, one.end_line) for one in passages.spans)
    )


def _proved(
    one: Candidate, work: DocumentWork, models: QAModels, corpus: CorpusPassages
) -> RejectionReason | None:
    if one.gate is not None or one.no_answer is None:
        return one.gate
    return Prover(work, models, corpus).prove(one, one.no_answer, 1).reason


def is_aside(draft: Draft) -> bool:
    """Whether its article is in the half that nobody looked at while rules were written."""
    return hashlib.sha256(f"article {draft.article}".encode()).digest()[0] % 2 == 0
