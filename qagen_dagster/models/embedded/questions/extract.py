"""The candidates of consecutive lines: the questions of every family in a varied order, without those that a check refuses.

Equal lines and context give equal candidates. A bounded cache keeps recent results, because every attempt reads the document
again.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import zip_longest

from qagen_dagster.english.words import content_stems
from qagen_dagster.models.embedded.conversation import Line
from qagen_dagster.models.embedded.questions.candidate import Candidate, Context, name_words, plain_words
from qagen_dagster.models.embedded.questions.candidate_checks import STRUCTURED, names_something, refusal
from qagen_dagster.models.embedded.questions.prose import questions
from qagen_dagster.models.embedded.questions.structure import acronyms, cell_questions, keyed
from qagen_dagster.models.embedded.text.blocks import Block, Kind, segment, tables
from qagen_dagster.models.embedded.text.grammar import is_english, parse, read_clause
from qagen_dagster.models.embedded.text.passages import is_prose, split


def without_rivals(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The candidates without duplicates, and without questions to which the document gives several answers."""
    by_question: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        words = " ".join(re.findall(r"\w+", candidate.question.lower()))
        by_question.setdefault(words, []).append(candidate)
    kept: list[Candidate] = []
    for group in by_question.values():
        if len({candidate.answer.lower().strip(" .") for candidate in group}) == 1:
            kept.append(max(group, key=lambda candidate: candidate.quality))
    return kept


CACHED_WINDOWS = 256

_CAPTION = re.compile(r"^\W{0,4}(?:Fig(?:ure|\.)?|FIGURE|Table|TABLE|Scheme|Video|Box)\s*[\dSIVX]")
_BACK_MATTER = frozenset(
    {
        "references", "bibliography", "works cited", "literature", "literature cited", "acknowledgements", "acknowledgments",
        "legal", "copyright", "table of contents", "contents", "index", "see also", "further reading", "data availability", "major datasets", "decision letter", "author response", "supplementary material",
        "funding", "author contributions", "competing interests", "conflict of interest", "additional information",
    }
)  # fmt: skip


@lru_cache(maxsize=CACHED_WINDOWS)
def candidates(
    lines: tuple[Line, ...], context: Context, wanted: frozenset[str] = frozenset()
) -> tuple[Candidate, ...]:
    """Candidates of consecutive lines, those of the `wanted` families first, then of all families in turn, the best ones first."""
    blocks = [block for block in segment(lines, dict(context.headings)) if not _is_left_out(block)]
    context = replace(context, plain=plain_words(lines), names=name_words(lines))
    found = (_framed(draft, context) for draft in proposals(blocks, context))
    good = [candidate for candidate in found if refusal(candidate, context) is None]
    chosen = interleave(one_per_sentence(without_rivals(good), wanted))
    return tuple(sorted(chosen, key=lambda item: item.family not in wanted))


def _framed(draft: Candidate, context: Context) -> Candidate:
    """The candidate, with the phrase that names the document if nothing else says what the question is about."""
    if draft.frame or (draft.family not in ("key", "cell") and names_something(draft.asked)):
        return draft
    return replace(draft, frame=context.frame())


def _is_left_out(block: Block) -> bool:
    """Whether a block is back matter, or in another language, such as filler text."""
    names = {name.lower().strip(" .:") for name in block.section}
    text = block.passage.text
    if names & _BACK_MATTER or any(name.endswith(("license", "licence")) for name in names):
        return True
    return block.kind in (Kind.TEXT, Kind.ITEM) and not is_english(text)


def proposals(blocks: Sequence[Block], context: Context) -> Iterator[Candidate]:
    """The questions of every family."""
    yield from keyed(blocks, context)
    yield from cell_questions(tables(blocks), context)
    yield from acronyms(blocks)
    yield from prose(blocks)


def prose(blocks: Sequence[Block]) -> Iterator[Candidate]:
    """Questions from sentences, without captions, which belong to visual mode."""
    found = [
        sentence
        for block in blocks
        if block.kind in (Kind.TEXT, Kind.ITEM) and not _CAPTION.match(block.passage.text)
        for sentence in split(block.passage)
        if is_prose(sentence)
    ]
    docs = parse([sentence.text.rstrip(";") for sentence in found])
    said = [frozenset(content_stems(sentence.text)) for sentence in found]
    for place, (sentence, doc) in enumerate(zip(found, docs, strict=True)):
        clause = read_clause(doc)
        for asked, answer, family, kind, quality in questions(clause) if clause is not None else ():
            wanted = frozenset(content_stems(asked))
            rival = any(wanted <= other for at, other in enumerate(said) if at != place)
            if answer in sentence.passage.text and not rival:
                yield Candidate(asked, answer, (sentence.passage.quote(),), family, kind, quality)


def one_per_sentence(found: Sequence[Candidate], wanted: frozenset[str]) -> list[Candidate]:
    """The best question of each sentence, because two questions would reveal each other's answers. Questions
    about cells, labels and abbreviations all stay."""
    best: dict[tuple[int, str], Candidate] = {}
    for candidate in sorted(found, key=lambda item: (item.family not in wanted, -item.quality)):
        if candidate.family not in STRUCTURED:
            best.setdefault((candidate.line, candidate.quotes[0].text), candidate)
    return [*(candidate for candidate in found if candidate.family in STRUCTURED), *best.values()]


def interleave(found: Sequence[Candidate]) -> list[Candidate]:
    """The candidates of all families in turn, the best of each family first and from all over the lines. At
    most a quarter asks for a date, because people ask for dates less often."""
    families: dict[str, list[Candidate]] = {}
    for candidate in sorted(found, key=_order):
        families.setdefault(candidate.family, []).append(candidate)
    if many := families.get("when"):
        families["when"] = many[: max(1, (len(found) - len(many)) // 3)]
    turns = zip_longest(*families.values())
    return sorted((one for turn in turns for one in turn if one is not None), key=_needs_title)


def _order(candidate: Candidate) -> tuple[float, str]:
    """The best first; equally good ones in an order that scatters them over the lines."""
    scattered = hashlib.sha256(candidate.question.encode("utf-8", "surrogatepass")).hexdigest()
    return -round(candidate.quality, 1), scattered


def _needs_title(candidate: Candidate) -> bool:
    """Whether only the title says what a question about a sentence is about. Such questions come last: a title helps search."""
    return bool(candidate.frame) and candidate.family not in STRUCTURED
