from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.base import Model
from qagen_dagster.models.embedders import Encode
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.document import CorpusIndex, Document, IndexEntry, Outcome
from qagen_dagster.records.ids import Combination, Mode, content_hash
from qagen_dagster.settings import Settings
from tests.support.documents import MANUAL
from tests.support.play import Play

COMBINATION = Combination(corpus="probes", scenario="service", mode=Mode.TEXTUAL)
CORPUS = """\
name: Probe manuals
corpus_context: Manuals of conductivity probes.
scenarios:
  service:
    name: Service desk
    description: Short questions.
    modes: [textual]
    target_count: 2
    max_consecutive_failures: 9
  exam:
    name: Exam
    description: Hard questions.
    modes: [textual]
    profile: other
"""
PROFILE = """\
roles:
  generator: {{provider: scripted, model: {generator}}}
  validator: {{provider: scripted, model: reader}}
  deduplicator: {{provider: scripted, model: matcher}}
"""


@dataclass(frozen=True)
class PlayedWorkspace(Workspace):
    """A workspace whose models play a piece."""

    plays: list[Play] = field(default_factory=list[Play])

    def model(self, spec: ModelSpec) -> Model:
        played = self.plays[-1].models if self.plays else None
        parts = {
            "writer": "generator",
            "scribe": "generator",
            "reader": "validator",
            "matcher": "deduplicator",
        }
        return getattr(played, parts[spec.model]) if played and spec.model in parts else super().model(spec)

    @property
    def encode(self) -> Encode:
        return self.plays[-1].models.encode if self.plays else super().encode


def put_documents(workspace: Workspace, texts: dict[str, str]) -> None:
    """Documents as parsing leaves them in the store."""
    entries: list[IndexEntry] = []
    for name, text in texts.items():
        common = {"id": name, "source": name, "format": "text", "outcome": Outcome.PARSED, "parser": "text-1"}
        common |= {"source_sha256": content_hash(text.encode()), "text_sha256": content_hash(text.encode())}
        common |= {"line_count": text.count("\n") + 1}
        entries.append(IndexEntry.model_validate(common))
        workspace.store.write(Document.key("probes", name), Document.model_validate(common))
        workspace.store.write_bytes(Document.text_key("probes", name), text.encode())
    workspace.store.write(CorpusIndex.key("probes"), CorpusIndex(corpus="probes", documents=tuple(entries)))


def texts(count: int) -> dict[str, str]:
    return {f"{letter}.txt": f"{MANUAL}\nCopy {letter}." for letter in "abcdefghijkl"[:count]}


@pytest.fixture
def workspace(tmp_path: Path) -> PlayedWorkspace:
    (tmp_path / "corpora" / "probes" / "documents").mkdir(parents=True)
    (tmp_path / "corpora" / "probes" / "corpus.yaml").write_text(CORPUS)
    (tmp_path / "profiles").mkdir()
    for name, generator in {"mine": "writer", "other": "scribe"}.items():
        (tmp_path / "profiles" / f"{name}.yaml").write_text(PROFILE.format(generator=generator))
    settings = Settings(
        corpora=tmp_path / "corpora",
        assets=str(tmp_path / "assets"),
        profile="mine",
        profiles=tmp_path / "profiles",
        document_workers=4,
    )
    space = PlayedWorkspace(settings)
    put_documents(space, texts(3))
    return space
