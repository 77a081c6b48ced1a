"""Documents about harbours whose facts are weights, and models that ask and answer about them by rule."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from qagen_dagster.agents.questions.prompt_values import QAContext
from qagen_dagster.loop.journal import JournalFile
from qagen_dagster.loop.questions.document_work import DocumentWork, QAModels
from qagen_dagster.loop.questions.no_answer.prove import CorpusPassages
from qagen_dagster.loop.questions.no_answer.stage import Stage, StageJournal
from qagen_dagster.loop.questions.stopping import QALimits
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.messages import AssistantMessage, Request
from qagen_dagster.records.corpus_options import NoAnswerKind
from qagen_dagster.records.ids import Combination, Mode, question_id
from qagen_dagster.records.questions.results import (
    DocumentEnd,
    Evidence,
    GenerationMetadata,
    GenerationResult,
    GenerationStats,
    QAPair,
)
from tests.support.documents import CORPUS, SCENARIO, view_of
from tests.support.models import FakeModel, call, told

COMBINATION = Combination(corpus="probes", scenario="service", mode=Mode.TEXTUAL)
BAR = """\
The harbour of Bar
The anchor of Bar weighs 40 kg.
The boiler of Bar weighs 700 kg.
The compass of Bar was made by Ida Holm.
The anchor of Old Bar weighs 25 kg."""
COR = (
    "The harbour of Cor\nThe anchor of Cor weighs 55 kg.\nThe davit of Bar weighs 90 kg, as its keeper says."
)
TEXTS = {"bar.txt": BAR, "cor.txt": COR}
_FACT = re.compile(r"The (\w+) of ([A-Z]\w+(?: [A-Z]\w+)?) weighs (\d+) kg")
_ASKED = re.compile(r"How heavy is the (\w+)(?: of ([A-Z]\w+(?: [A-Z]\w+)?))?\?")
_PREMISE = re.compile(r"Who sold the (\w+) of (\w+) that weighs (\d+) kg\?")


def unanswerable(
    thing: str, place: str = "Bar", quote: str = "The boiler of Bar weighs 700 kg."
) -> dict[str, Any]:
    return {
        "kind": "unanswerable",
        "question": f"How heavy is the {thing} of {place}?",
        "reason": f"The weight of the {thing} is missing.",
        "answer": f"The documents do not give the weight of the {thing} of {place}.",
        "evidence": [{"quote": quote}],
    }


def false_premise(weight: int) -> dict[str, Any]:
    return {
        "kind": "false_premise",
        "question": f"Who sold the anchor of Bar that weighs {weight} kg?",
        "reason": f"It takes {weight} kg for granted.",
        "answer": "The anchor of Bar weighs 40 kg.",
        "evidence": [{"quote": "The anchor of Bar weighs 40 kg."}],
    }


def underspecified(*answers: str) -> dict[str, Any]:
    quotes = {"Bar": "The anchor of Bar weighs 40 kg.", "Old Bar": "The anchor of Old Bar weighs 25 kg."}
    return {
        "kind": "underspecified",
        "question": "How heavy is the anchor?",
        "reason": "It does not say which anchor.",
        "answer": "40 kg at Bar, 25 kg at Old Bar.",
        "evidence": [{"quote": quote} for quote in quotes.values()],
        "readings": [
            {
                "question": f"How heavy is the anchor of {place}?",
                "answer": answer,
                "evidence": {"quote": quotes[place]},
            }
            for place, answer in zip(quotes, answers, strict=True)
        ],
    }


@dataclass
class Keeper:
    """`drafts` are what the generator submits in each round. The validator is honest, lenient (it finds nothing) or eager."""

    drafts: list[list[dict[str, Any]]]
    validator: str = "honest"
    asked: list[str] = field(default_factory=list[str])

    def models(self) -> QAModels:
        unique = call("submit_duplicate_verdict", verdict="unique")
        return QAModels(
            generator=FakeModel(self._propose, "generator"),
            validator=FakeModel(self._answer, "validator"),
            deduplicator=FakeModel(lambda _: unique, "deduplicator"),
        )

    def _propose(self, request: Request) -> AssistantMessage:
        if "Not accepted" in told(request) or request.sample > len(self.drafts):
            return call("submit_no_answer", questions=self.drafts[min(request.sample, len(self.drafts)) - 1])
        return call("submit_no_answer", questions=self.drafts[request.sample - 1])

    def _answer(self, request: Request) -> AssistantMessage:
        said = told(request)
        blind = "submit_answers" in {tool.name for tool in request.tools}
        if blind and "read_lines" in {tool.name for tool in request.tools} and "lines 1-" not in said:
            return call("read_lines", start_line=1)
        question = said.rpartition("Question:")[2].strip().splitlines()[0]
        self.asked.append(f"{'blind' if blind else 'excerpts'}: {question}")
        return self._blind(said, question) if blind else self._excerpts(said, question)

    def _known(self, said: str, question: str) -> list[str]:
        asked = _ASKED.match(question)
        if asked is None:
            return []
        thing, place = asked.groups()
        return [
            weight
            for one, where, weight in dict.fromkeys(_FACT.findall(said))
            if one == thing and place in (None, where)
        ]

    def _excerpts(self, said: str, question: str) -> AssistantMessage:
        found = [] if self.validator == "lenient" else self._known(said, question)
        given = (
            f"{found[0]} kg" if found else "Perhaps 5 kg." if self.validator == "eager" else "It is not said."
        )
        answerable = bool(found) or self.validator == "eager"
        return call("submit_document_answer", answer=given, answerable=answerable, confidence=0.9)

    def _blind(self, said: str, question: str) -> AssistantMessage:
        found = [] if self.validator == "lenient" else self._known(said, question)
        premise = _PREMISE.match(question)
        facts = {(thing, place): weight for thing, place, weight in _FACT.findall(said)}
        holds = premise is None or facts.get((premise[1], premise[2])) == premise[3]
        return call(
            "submit_answers",
            answerable=bool(found),
            answer=f"{found[0]} kg" if found else "",
            unambiguous=len(set(found)) < 2,
            premise_holds=holds,
            note="" if holds else "It weighs something else.",
            self_contained=True,
            relevant=True,
        )


def accepted(*facts: tuple[str, str, int]) -> tuple[QAPair, ...]:
    made = GenerationMetadata(generator_model="g", validator_model="v", attempt_number=1)
    return tuple(
        QAPair(
            id=question_id(COMBINATION, "bar.txt", question, answer),
            question=question,
            answer=answer,
            source_document="documents/bar.txt",
            document_id="bar.txt",
            category=Mode.TEXTUAL,
            evidence=(Evidence(quote=BAR.split("\n")[line - 1], start_line=line, end_line=line),),
            generation_metadata=made,
        )
        for question, answer, line in facts
    )


KNOWN = accepted(
    ("How heavy is the boiler of Bar?", "700 kg", 3), ("How heavy is the anchor of Bar?", "40 kg", 2)
)


def result(pairs: tuple[QAPair, ...] = KNOWN) -> GenerationResult:
    stats = GenerationStats(
        document_path="documents/bar.txt",
        mode=Mode.TEXTUAL,
        target_count=len(pairs),
        accepted_count=len(pairs),
        rejected_count=0,
        total_attempts=len(pairs),
        validation_pass_rate=1.0,
        dedup_rejection_rate=None,
        exhausted=False,
        rejection_reasons={},
    )
    return GenerationResult(
        accepted=pairs, rejected=(), stats=stats, document_id="bar.txt", end=DocumentEnd.TARGET_REACHED
    )


def add(
    space: Workspace,
    keeper: Keeper,
    wanted: dict[NoAnswerKind, int],
    before: GenerationResult | None = None,
    earlier: tuple[QAPair, ...] = (),
    key: str = "journals/j.json",
) -> GenerationResult:
    """Work the stage of bar.txt to its end."""
    context = QAContext(CORPUS, SCENARIO, Mode.TEXTUAL, view_of(BAR, name="bar.txt"))
    limits = QALimits(target_count=2, max_consecutive_failures=3, max_attempts=9)
    work = DocumentWork(COMBINATION, context, limits, "f" * 16)
    corpus = CorpusPassages(space, "probes", "mine")
    journal = JournalFile(space.store, key, "w", StageJournal)
    return Stage(work, keeper.models(), corpus, journal, wanted).add(before or result(), earlier)
