"""What every question agent is told about its task."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from qagen_dagster.agents.questions.evidence.quote_search import QuoteFinder
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.budget import FREE_PROVIDERS
from qagen_dagster.records.corpus import CorpusConfig, ScenarioConfig
from qagen_dagster.records.ids import Mode
from qagen_dagster.toolkit import read_lines
from qagen_dagster.toolkit.document_view import DocumentView
from qagen_dagster.toolkit.excerpt import CLOSE, Block, block, enclose, one_line
from qagen_dagster.toolkit.search_meaning import Meaning
from qagen_dagster.toolkit.tool import Tool
from qagen_dagster.toolkit.toolbox import toolbox

_MOST_SECTIONS = 60
_FIRST_CHARACTERS = 8_000  # of a long document


@dataclass(frozen=True)
class QAContext:
    """One document in one scenario and mode. `meaning` searches it for the tool `search_meaning`; None: without the tool."""

    corpus: CorpusConfig
    scenario: ScenarioConfig
    mode: Mode
    view: DocumentView
    meaning: Meaning | None = None

    @cached_property
    def tools(self) -> dict[str, Tool]:
        return toolbox(self.view, self.mode, self.meaning)

    @cached_property
    def evidence(self) -> QuoteFinder:
        return QuoteFinder(self.view.document, self.view.lines)

    def task_values(self) -> dict[str, str]:
        """The prompt values for the corpus and the scenario."""
        return {
            "corpus_name": self.corpus.name,
            "corpus_context": self.corpus.corpus_context,
            "scenario_name": self.scenario.name,
            "scenario_description": self.scenario.description,
        }

    def document_card(self) -> Block:
        """A few lines that describe the document; text from the document stands between the delimiters."""
        document = self.view.document
        facts = [
            f"lines: {document.line_count}",
            f"pages: {document.page_count}" if document.page_count else "",
            f"visuals: {len(self.view.visuals)}" if self.mode is Mode.VISUAL else "",
        ]
        return block((*filter(None, facts), enclose(list(filter(None, self._own_words())))))

    def opening(self, spec: ModelSpec) -> str:
        """The text that begins the first message: the document, or its first lines where it is longer than the model may be shown.

        Empty in visual mode, where pages are looked at, and for a model in this process, whose turns cost nothing.
        """
        if self.mode is Mode.VISUAL or spec.provider in FREE_PROVIDERS:
            return ""
        return read_lines.opening(self.view, spec.opening_characters, _FIRST_CHARACTERS)

    def opens_whole(self, spec: ModelSpec) -> bool:
        """Whether `opening` shows the model the whole document."""
        return self.opening(spec).endswith(CLOSE)

    def shows_all(self, spec: ModelSpec) -> bool:
        """Whether `opening` leaves out nothing, not even back matter: there is nothing that a tool could find."""
        return self.opens_whole(spec) and not self.view.long_back_matter

    def _own_words(self) -> list[str]:
        """The document's title and other metadata, one per line."""
        document, meta = self.view.document, self.view.document.metadata
        facts = [
            f"file: {one_line(document.source, 200)}",
            f"title: {one_line(meta.title, 300)}" if meta.title else self._beginning(),
            f"authors: {one_line(', '.join(meta.authors[:6]), 300)}" if meta.authors else "",
            f"date in the file: {one_line(meta.date, 40)}" if meta.date else "",
        ]
        shown = [section for section in document.sections if section.level <= 3][:_MOST_SECTIONS]
        if shown:
            facts.append("sections:")
        for section in shown:
            facts.append(f"{'  ' * section.level}line {section.start_line}: {one_line(section.title, 120)}")
        return facts

    def _beginning(self) -> str:
        """The first words of the document, for one without a title."""
        words = " ".join(line.strip() for line in self.view.lines[:60])
        return f"begins: {one_line(words, 250)}" if words.strip() else ""
