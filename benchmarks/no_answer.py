"""Measures how often a question that is published as unanswerable is one, on a corpus whose answers are known.

`python -m benchmarks.no_answer FILE [--articles N]`, FILE in the format of SQuAD, such as xquad.en.json. Each article is a document
without its last paragraph. The generator is a script: of each document it proposes the questions of the removed paragraph, which nothing
answers, questions that the document answers, and questions that another document answers. The validators are scripts as well, which
know the answers and see them only in what they are shown: an honest one, which overlooks every tenth, and lenient ones, which overlook
half of them, or all. Prints a row per validator.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qagen_dagster.agents.questions.prompt_values import QAContext
from qagen_dagster.ingest.parsing import parse_corpus
from qagen_dagster.loop.journal import JournalFile
from qagen_dagster.loop.questions.document_work import DocumentWork, QAModels
from qagen_dagster.loop.questions.no_answer.prove import CorpusPassages
from qagen_dagster.loop.questions.no_answer.stage import Stage, StageJournal, distrust
from qagen_dagster.loop.questions.stopping import QALimits
from qagen_dagster.loop.statistics import wilson
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.messages import AssistantMessage, Request
from qagen_dagster.records.corpus_options import NoAnswerKind
from qagen_dagster.records.document import Document
from qagen_dagster.records.ids import Combination, Mode, digest, question_id
from qagen_dagster.records.questions.results import (
    DocumentEnd,
    Evidence,
    GenerationMetadata,
    GenerationResult,
    GenerationStats,
    QAPair,
)
from qagen_dagster.settings import Settings
from qagen_dagster.toolkit.document_view import DocumentView
from tests.support.documents import page_picture
from tests.support.models import FakeModel, call, told

COMBINATION = Combination(corpus="articles", scenario="facts", mode=Mode.TEXTUAL)
CORPUS = "name: Articles\ncorpus_context: Articles of an encyclopedia.\nscenarios:\n  facts: {name: Facts, description: Facts., modes: [textual]}\n"
EACH = 4  # questions of the removed paragraph, of the document, and of another document
_AROUND = 60  # characters around an answer by which its place is recognised


@dataclass(frozen=True)
class Asked:
    question: str
    answer: str
    place: str  # the answer with the text around it


@dataclass(frozen=True)
class Article:
    name: str
    paragraphs: list[str]
    asked: list[list[Asked]]  # by paragraph

    @property
    def text(self) -> str:
        return "\n\n".join(self.paragraphs[:-1])


def articles(file: Path, most: int) -> Iterator[Article]:
    for number, entry in enumerate(json.loads(file.read_text(encoding="utf-8"))["data"][:most]):
        paragraphs = [one["context"] for one in entry["paragraphs"]]
        asked = [
            [_asked(one["context"], qa) for qa in one["qas"] if qa["answers"]] for one in entry["paragraphs"]
        ]
        yield Article(f"article{number:02}.txt", paragraphs, asked)


def _asked(context: str, qa: dict[str, Any]) -> Asked:
    answer = qa["answers"][0]
    start = answer["answer_start"]
    around = context[max(0, start - _AROUND) : start + len(answer["text"]) + _AROUND]
    return Asked(" ".join(qa["question"].split()), answer["text"], " ".join(around.split()))


@dataclass
class Script:
    """`overlooks` is the share of the answers that the validator does not see."""

    known: dict[str, Asked]
    drafts: list[Asked]
    quote: str
    overlooks: float
    seen: list[str] = field(default_factory=list[str])

    def propose(self, request: Request) -> AssistantMessage:
        drafts = self.drafts if request.sample == 1 and "Not accepted" not in told(request) else []
        questions = [
            {
                "kind": "unanswerable",
                "question": one.question,
                "reason": "It is missing.",
                "answer": "The documents do not give this.",
                "evidence": [{"quote": self.quote}],
            }
            for one in drafts
        ]
        return call("submit_no_answer", questions=questions)

    def answer(self, request: Request) -> AssistantMessage:
        said = told(request)
        offered = {tool.name for tool in request.tools}
        if "read_lines" in offered and "lines 1-" not in said:
            return call("read_lines", start_line=1)
        asked = self.known[self.asked_in(request)]
        self.seen.append(asked.question)
        shown = " ".join(word for word in said.split() if not word.rstrip("|").isdigit() or "|" not in word)
        lucky = int(digest(asked.question, str(len(said)))[:6], 16) / 16**6 >= self.overlooks
        found = self.sees(asked, shown) and lucky
        if "submit_answers" in offered:
            return call(
                "submit_answers",
                answerable=found,
                answer=asked.answer if found else "",
                unambiguous=True,
                self_contained=True,
                relevant=True,
            )
        given = asked.answer if found else "The excerpts do not say."
        return call("submit_document_answer", answer=given, answerable=found, confidence=0.9)

    def sees(self, asked: Asked, shown: str) -> bool:
        """Whether what was shown has the answer."""
        return asked.place in shown

    @staticmethod
    def asked_in(request: Request) -> str:
        """The question of a request: what stands last after that label, or before the document's label."""
        return told(request).rpartition("\nQuestion:\n")[2].strip().splitlines()[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--articles", type=int, default=48)
    given = parser.parse_args()
    found = list(articles(given.file, given.articles))
    print(
        "| validator | accepted | precision (95 %) | recall | without questions | all refused, because |\n|---|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory() as place:
        space = space_of(Path(place), found)
        corpus = CorpusPassages(space, "articles", "embedded")
        for name, overlooks in (("honest", 0.1), ("lenient", 0.5), ("blind", 1.0)):
            _row(name, [_stage(space, corpus, found, at, overlooks, name) for at in range(len(found))])


def _row(name: str, results: list[tuple[set[str], set[str], tuple[int, int]]]) -> None:
    why = distrust(controls for _, _, controls in results)
    results = [(set() if why else taken, true, controls) for taken, true, controls in results]
    accepted = sum(len(taken) for taken, _, _ in results)
    right = sum(len(taken & true) for taken, true, _ in results)
    low, high = wilson(right, accepted)
    precision = f"{right / accepted:.3f} ({low:.3f} to {high:.3f})" if accepted else "-"
    recall = right / sum(len(true) for _, true, _ in results)
    none = sum(not taken for taken, _, _ in results)
    print(
        f"| {name} | {accepted} | {precision} | {recall:.3f} | {none} of {len(results)} documents | {why} |",
        flush=True,
    )


def space_of(root: Path, found: list[Article]) -> Workspace:
    folder = root / "corpora" / "articles" / "documents"
    folder.mkdir(parents=True)
    (folder.parent / "corpus.yaml").write_text(CORPUS)
    for one in found:
        (folder / one.name).write_text(one.text, encoding="utf-8")
    space = Workspace(Settings(corpora=root / "corpora", assets=str(root / "assets"), profile="embedded"))
    parse_corpus(space.corpus("articles"), space.store, space.parsers(), space.settings)
    return space


def _stage(
    space: Workspace, corpus: CorpusPassages, found: list[Article], at: int, overlooks: float, name: str
) -> tuple[set[str], set[str], tuple[int, int]]:
    """The accepted questions of one document, those that nothing answers, and on how many the validator was tested."""
    article, other = found[at], found[(at + 1) % len(found)]
    true = article.asked[-1][:EACH]
    drafts = [*true, *article.asked[0][:EACH], *other.asked[1][:EACH]]
    known = {one.question: one for each in found for some in each.asked for one in some}
    script = Script(known, drafts, article.paragraphs[0].split(". ")[0], overlooks)
    models = QAModels(FakeModel(script.propose), FakeModel(script.answer), FakeModel(lambda _: _UNIQUE))
    document = space.store.read(Document.key("articles", article.name), Document)
    text = space.store.get(Document.text_key("articles", article.name)) or b""
    view = DocumentView(document, tuple(text.decode().split("\n")), (), page_picture)
    config = space.corpus("articles").config
    context = QAContext(config, config.scenarios["facts"], Mode.TEXTUAL, view)
    limits = QALimits(target_count=3, max_consecutive_failures=3, max_attempts=9)
    work = DocumentWork(COMBINATION, context, limits, "f")
    journal = JournalFile(space.store, f"journals/{name}/{article.name}.json", "w", StageJournal)
    wanted = {NoAnswerKind.UNANSWERABLE: len(drafts)}
    result = Stage(work, models, corpus, journal, wanted).add(_result(article))
    taken = {pair.question for pair in result.accepted if pair.no_answer is not None}
    return taken, {one.question for one in true}, result.controls


_UNIQUE = call("submit_duplicate_verdict", verdict="unique")


def _result(article: Article) -> GenerationResult:
    """What the loop of the document accepted: questions of its middle paragraphs, on which the validator is tested."""
    made = GenerationMetadata(generator_model="g", validator_model="v", attempt_number=1)
    pairs = tuple(
        QAPair(
            id=question_id(COMBINATION, article.name, one.question, one.answer),
            question=one.question,
            answer=one.answer,
            source_document=f"documents/{article.name}",
            document_id=article.name,
            category=Mode.TEXTUAL,
            evidence=(Evidence(quote=one.answer, start_line=1, end_line=1),),
            generation_metadata=made,
        )
        for one in [some[-1] for some in article.asked[1:-1]]
    )
    stats = GenerationStats(
        document_path=article.name,
        mode=Mode.TEXTUAL,
        target_count=3,
        accepted_count=len(pairs),
        rejected_count=0,
        total_attempts=3,
        validation_pass_rate=None,
        dedup_rejection_rate=None,
        exhausted=False,
        rejection_reasons={},
    )
    return GenerationResult(accepted=pairs, rejected=(), stats=stats, end=DocumentEnd.TARGET_REACHED)


if __name__ == "__main__":
    main()
