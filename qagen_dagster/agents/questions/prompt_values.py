"""Parts of the agents' prompts: the corpus and scenario, the document, and the earlier attempts.

Only the generator's prompt has the earlier attempts.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise

from qagen_dagster.agents.questions import wording_limits
from qagen_dagster.agents.questions.evidence.quote_search import QuoteFinder
from qagen_dagster.agents.questions.mix import Mix
from qagen_dagster.agents.runner import AgentRun, first_that_fits, run_agent
from qagen_dagster.agents.spec import AgentSpec
from qagen_dagster.english.language import ENOUGH, is_foreign, language_of
from qagen_dagster.models.base import Model
from qagen_dagster.models.call_cost import FREE_PROVIDERS
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.corpus_options import CorpusConfig, ScenarioConfig, Strategy
from qagen_dagster.records.document import Visual, merged_lines
from qagen_dagster.records.ids import Mode, normalise
from qagen_dagster.records.questions.results import Evidence, QAPair, RejectedQA
from qagen_dagster.toolkit import excerpt
from qagen_dagster.toolkit.back_matter import reference_lines
from qagen_dagster.toolkit.document_view import DocumentView
from qagen_dagster.toolkit.read_lines import opening
from qagen_dagster.toolkit.search_passages import Meaning
from qagen_dagster.toolkit.tool import Tool
from qagen_dagster.toolkit.toolbox import toolbox
from qagen_dagster.toolkit.visual_tools import visual_row

_MOST_SECTIONS = 60  # maximum sections that a prompt lists
_FIRST_CHARACTERS = 8_000  # maximum shown of a document that is too long to be shown whole
_LONG = 4_000  # an opening of more characters may be too long for a server, so a smaller one is offered, too


@dataclass(frozen=True)
class QAContext:
    """One document in one scenario and mode.

    The tool `search_meaning` searches the document with `meaning`. If `meaning` is None, the agent does not
    get this tool.
    """

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

    def other_language(self, question: str) -> str:
        """The code of the language that the question should have; empty if it has that language, or if this is uncertain.

        If the scenario names no language, the languages of the question and of the document must be certain and different.
        """
        wanted = self.scenario.language
        if wanted is not None:
            return wanted if is_foreign(question, wanted) else ""
        begin, own = self._beginning
        return own if is_foreign(question, own) and is_foreign(begin, language_of(question)) else ""

    @cached_property
    def _beginning(self) -> tuple[str, str]:
        """The first characters of the document, and their language."""
        begin = "\n".join(self.view.lines[:200])[:ENOUGH]
        return begin, language_of(begin)

    def task_values(self, *, writes: bool = False) -> dict[str, str]:
        """The prompt values for the corpus and the scenario, for an agent that `writes` questions, or for an agent that checks them."""
        return {
            "corpus_name": self.corpus.name,
            "corpus_context": self.corpus.corpus_context,
            "scenario_name": self.scenario.name,
            "scenario_description": wording_limits.description(self.scenario, writes=writes),
        }

    def document_card(self, style: str = "", wanted: str = "", *, whole: bool = False) -> excerpt.Block:
        """Lines that describe the document: numbers of lines, pages and visuals, then metadata and sections.

        `style` is the wording for the next question, and `wanted` names the kinds of questions that are still wanted. With `whole`, the
        sections are left out, because the whole document is shown beside the card.

        The metadata and sections are text of the document, so they stand between the delimiters.
        """
        document = self.view.document
        facts = [
            f"lines: {document.line_count}",
            f"pages: {document.page_count}" if document.page_count else "",
            f"visuals: {len(self.view.visuals)}" if self.mode is Mode.VISUAL else "",
            f"language of the questions: {self.scenario.language}" if self.scenario.language else "",
            f"how the next question is worded: {style}" if style else "",
            f"questions that are still wanted: {wanted}" if wanted else "",
        ]
        own = list(filter(None, self._own_words(whole=whole)))
        return excerpt.block((*filter(None, facts), excerpt.enclose(own)))

    def opening(self, spec: ModelSpec) -> str:
        """The text that begins the first message: the document, or only its first lines.

        Only the first lines are shown if the document would take more than `spec.opening_characters`
        characters. The text is empty in visual mode, because the agent looks at pages there. It is also empty
        for a model that runs in this process, because its turns cost nothing, for a document without text,
        and if `spec.opening_characters` is 0.
        """
        if self.mode is Mode.VISUAL or spec.provider in FREE_PROVIDERS:
            return ""
        shown = opening(self.view, spec.opening_characters, _FIRST_CHARACTERS)
        fewer = self.scenario.strategy is Strategy.BATCH and shown.endswith(excerpt.CLOSE)
        return excerpt.with_fewer_numbers(shown) if fewer else shown

    def openings(self, spec: ModelSpec) -> tuple[str, ...]:
        """The openings to try, in order: the whole `opening`, and a smaller one if the whole one is long.

        The caller tries the smaller one if the model's server refuses the first prompt as too long.
        """
        whole = self.opening(spec)
        most = min(_FIRST_CHARACTERS, len(whole) // 4)
        return (whole, opening(self.view, most, most)) if len(whole) > _LONG else (whole,)

    def opens_whole(self, spec: ModelSpec) -> bool:
        """Whether `opening` shows the model the whole document, except long back matter."""
        return self.opening(spec).endswith(excerpt.CLOSE)

    def explore(
        self,
        spec: AgentSpec,
        model: Model,
        values: dict[str, str],
        sample: int,
        *,
        most: int | None = None,
        **card: str,
    ) -> AgentRun:
        """Run an agent on the `openings`, at most `most` of them, until one is not too long. Raises ModelError.

        `values` are the prompt's values besides the document's card, and `card` are the arguments of `document_card`. The agent gets
        the document's tools only if the opening leaves something out, because otherwise no tool could find more.
        """

        def run(opening: str) -> AgentRun:
            whole = opening.endswith(excerpt.CLOSE)
            tools = {} if whole and not self.view.long_back_matter else self.tools
            all_values = values | {"document_card": self.document_card(**card, whole=whole)}
            agent = replace(spec, tools=tuple(tools))
            return run_agent(agent, model, tools, all_values, sample=sample, opening=opening)

        return first_that_fits(partial(run, opening) for opening in self.openings(model.spec)[:most])

    def _own_words(self, *, whole: bool) -> list[str]:
        """The file, the title, the authors and the date, then the sections, one per line. With `whole`, the sections are left out.

        If the document has no title, its first words take the place of the title.
        """
        document, meta = self.view.document, self.view.document.metadata
        first_words = " ".join(line.strip() for line in self.view.lines[:60])
        begins = f"begins: {excerpt.one_line(first_words, 250)}" if first_words.strip() else ""
        facts = [
            f"file: {excerpt.one_line(document.source, 200)}",
            f"title: {excerpt.one_line(meta.title, 300)}" if meta.title else begins,
            f"authors: {excerpt.one_line(', '.join(meta.authors[:6]), 300)}" if meta.authors else "",
            f"date in the file: {excerpt.one_line(meta.date, 40)}" if meta.date else "",
        ]
        most = 0 if whole else _MOST_SECTIONS
        shown = [section for section in document.sections if section.level <= 3][:most]
        if shown:
            facts.append("sections:")
        for section in shown:
            facts.append(
                f"{'  ' * section.level}line {section.start_line}: {excerpt.one_line(section.title, 120)}"
            )
        return facts


_SHOWN_REJECTED = 20  # maximum of each kind in a prompt, so that prompts stay short
_SHOWN_ACCEPTED = 200
_SHOWN_NOTES = 20
_SHOWN_GAPS = 6
_NARROW = 10  # lines; gaps of at most this length are named only if no gap is longer
_SHOWN_VISUALS = 30


@dataclass(frozen=True)
class History:
    """The results of earlier attempts on this document."""

    accepted: tuple[QAPair, ...] = ()
    rejected: tuple[RejectedQA, ...] = ()
    viewed_pages: tuple[int, ...] = ()  # pages that the generator looked at
    also_seen: tuple[str, ...] = ()  # facts that the generator noted for later attempts
    left: Mix | None = None  # what is still wanted; None if the scenario counts no kinds
    wanted: str = ""  # `left` in words


def prompt_values(context: QAContext, history: History) -> dict[str, str]:
    """The values of the generator's prompt, besides the document's card."""
    accepted = history.accepted[-_SHOWN_ACCEPTED:]
    # Each note is shown once, because a corrected submission repeats the notes of the refused submission.
    notes = list({normalise(note): note for note in history.also_seen}.values())[-_SHOWN_NOTES:]
    values = context.task_values(writes=True) | {
        "accepted": excerpt.block(
            f"{number}. {pair.question} -> {excerpt.one_line(pair.answer, 120)} [{pair.question_type}] {_place(pair)}"
            for number, pair in enumerate(accepted, 1)
        )
        or "(none yet)",
        "rejected": excerpt.block(
            part
            for pair in history.rejected[-_SHOWN_REJECTED:]
            if pair.question
            for part in (
                f"- {pair.question} {_lines(pair.evidence)}",
                f"  {pair.rejection_reason.value}: {pair.rejection_detail[:300]}",
            )
        )
        or "(none yet)",
        "also_seen": excerpt.block(f"- {note}" for note in notes) or "(nothing)",
    }
    if context.mode is Mode.VISUAL:
        values["viewed_pages"] = ", ".join(map(str, sorted(set(history.viewed_pages)))) or "none yet"
        values["visuals"] = _visuals(context.view.visuals, history)
    else:
        used = [place for pair in (*history.accepted, *history.rejected) for place in pair.evidence]
        document, last = context.view.document, context.view.document.line_count
        values["unused"] = unused_parts(used, last, reference_lines(document, last))
    return values


def _visuals(visuals: Sequence[Visual], history: History) -> str:
    """The visuals with their numbers of accepted questions. The visuals with the fewest questions come first.

    With this list, the agent need not call `list_visual_content` itself.
    """
    asked = Counter(excerpt.label_key(label) for pair in history.accepted for label in pair.content_refs)
    shown = sorted(visuals, key=lambda visual: asked[excerpt.label_key(visual.label)])[:_SHOWN_VISUALS]
    rows = [f"{visual_row(visual)} | questions: {asked[excerpt.label_key(visual.label)]}" for visual in shown]
    left = len(visuals) - len(shown)
    more = [f"[{left} more: list_visual_content shows all {len(visuals)}]"] if left else []
    return (
        excerpt.block([excerpt.enclose(rows), *more])
        if rows
        else "(nothing was found; view_page may still show something)"
    )


def unused_parts(used: Sequence[Evidence], total: int, skipped: Sequence[tuple[int, int]] = ()) -> str:
    """The longest ranges of lines without evidence, by line number, such as `1-40, 90-310`; else "none".

    `used` is the evidence of earlier questions, and `total` is the number of lines of the document. `skipped`
    are ranges of lines (first, last) that no question should use.
    """
    spans = [(p.start_line, p.end_line) for p in used if p.start_line is not None and p.end_line is not None]
    edges = [(0, 0), *merged_lines([*spans, *skipped]), (total + 1, total + 1)]
    gaps = [(end + 1, start - 1) for (_, end), (start, _) in pairwise(edges) if start > end + 1]
    wide = [gap for gap in gaps if gap[1] - gap[0] >= _NARROW] or gaps
    longest = sorted(sorted(wide, key=lambda gap: gap[0] - gap[1])[:_SHOWN_GAPS])
    return ", ".join(_span(start, end) for start, end in longest) or "none"


def _place(pair: QAPair) -> str:
    """Where an accepted question was found: its visuals and pages, or its lines."""
    labels = ", ".join(excerpt.shown_label(label) for label in pair.content_refs)
    pages = sorted({place.page for place in pair.evidence if place.page is not None})
    where = f" page {', '.join(map(str, pages))}" if pages else ""
    return f"({labels}{where})" if labels else _lines(pair.evidence)


def _lines(evidence: tuple[Evidence, ...]) -> str:
    """The lines of the evidence in order, such as `(lines 4-6, 9)`; empty if no evidence has lines.

    Overlapping and adjacent ranges are merged.
    """
    merged = merged_lines((p.start_line, p.end_line or p.start_line) for p in evidence if p.start_line)
    shown = ", ".join(_span(start, end) for start, end in merged)
    one = len(merged) == 1 and merged[0][0] == merged[0][1]
    return f"({'line' if one else 'lines'} {shown})" if merged else ""


def _span(start: int, end: int) -> str:
    return str(start) if start == end else f"{start}-{end}"
