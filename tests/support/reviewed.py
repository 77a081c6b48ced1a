"""A store with a published set, written without a run, and the review page on it."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from qagen_dagster.cli.pages import HOST, listen
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.publishing.exporter import json_lines
from qagen_dagster.records.document import CorpusIndex, Document, IndexEntry, Outcome
from qagen_dagster.records.ids import Combination, Mode, content_hash, question_id
from qagen_dagster.records.questions.published import (
    CorpusGenerationResult,
    LatestVersion,
    PublishedQuestion,
    RejectedQuestion,
)
from qagen_dagster.records.questions.results import Evidence, GenerationMetadata, RejectionReason
from qagen_dagster.web.page import report_page
from qagen_dagster.web.server import ReviewServer
from qagen_dagster.web.sets import Reviews, chosen_sets
from tests.support import waterworks
from tests.support.project import Project

KEY = Combination(corpus="water", scenario="facts", mode=Mode.TEXTUAL)
HOSTILE = "</script><img src=x onerror=alert(1)> \u202eevil\u202c [go](javascript:alert(1))"


def reviewed(folder: Path, *, documents: int = 2, questions: int = 3) -> Workspace:
    """`questions` accepted and one rejected candidate for each document."""
    project = Project.make(folder)
    project.corpus(KEY.corpus, waterworks.corpus(), {})
    space = Workspace(project.settings(profile="embedded"))
    names = [f"station-{number}.txt" for number in range(documents)]
    entries = [_document(space, name, questions) for name in names]
    space.store.write(CorpusIndex.key(KEY.corpus), CorpusIndex(corpus=KEY.corpus, documents=tuple(entries)))
    accepted = tuple(_question(name, number) for name in names for number in range(questions))
    published = CorpusGenerationResult(
        corpus_name="Water",
        corpus_path=KEY.corpus,
        scenario=KEY.scenario,
        mode=KEY.mode,
        questions=accepted,
        timestamp="2026-01-01T00:00:00+00:00",
    )
    origin = {"corpus_name": "Water", "scenario": KEY.scenario, "mode": KEY.mode.value}
    rejected = json_lines({**_rejected(name).model_dump(mode="json"), **origin} for name in names)
    space.store.write(CorpusGenerationResult.key(KEY), published)
    space.store.write_bytes(CorpusGenerationResult.file_key(KEY, "rejected.jsonl"), rejected)
    latest = LatestVersion(content_id="v1", timestamp=published.timestamp, made_from="", files={})
    space.store.write(LatestVersion.key(KEY), latest)
    return space


@contextmanager
def page(space: Workspace, *, port: int = 0, read_only: bool = False) -> Generator[str]:
    """The address of the page, which a server gives in a thread of this process."""
    with listen(port) as listening:
        port = listening.getsockname()[1]
        app = ReviewServer(
            chosen_sets(space, None, None, None), reviewer="ann", port=port, read_only=read_only
        ).app
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield f"http://{HOST}:{port}/"
        server.should_exit = True
        thread.join()


def report(space: Workspace) -> str:
    """The page as one file."""
    return report_page(chosen_sets(space, None, None, None).all(), Reviews(space))


def _document(space: Workspace, name: str, questions: int) -> IndexEntry:
    lines = [f"Notes on {name}", HOSTILE, *(f"Valve {n} opens at {n + 10} bar." for n in range(questions))]
    text = "\n".join(lines).encode()
    space.store.write_bytes(Document.text_key(KEY.corpus, name), text)
    return IndexEntry(
        id=name,
        source=name,
        format="text",
        outcome=Outcome.PARSED,
        source_sha256="0" * 64,
        text_sha256=content_hash(text),
        line_count=len(lines),
    )


def _question(name: str, number: int) -> PublishedQuestion:
    question, answer = f"At which pressure does valve {number} of {name} open?", f"{number + 10} bar"
    evidence = Evidence(quote=f"opens at {answer}", start_line=number + 3, end_line=number + 3)
    return PublishedQuestion(
        id=question_id(KEY, name, question, answer),
        question=question,
        answer=answer,
        source_document=name,
        document_id=name,
        category=KEY.mode,
        content_refs=(),
        generation_metadata=GenerationMetadata(
            generator_model="writer", validator_model="reader", attempt_number=number + 2
        ),
        evidence=(evidence,),
        mode=KEY.mode,
        question_type="numeric",
    )


def _rejected(name: str) -> RejectedQuestion:
    return RejectedQuestion(
        question=f"Who wrote {HOSTILE} of {name}?",
        answer="the keeper",
        rejection_reason=RejectionReason.TRIVIAL,
        rejection_detail=HOSTILE,
        document_id=name,
        attempt_number=1,
        evidence=(Evidence(quote=HOSTILE, start_line=2, end_line=2),),
        source_document=name,
        row=None,
        verdict=None,
    )
