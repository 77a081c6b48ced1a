"""The candidates of consecutive lines: the questions of every family in a varied order, without those that fail a check.

Equal lines and context give equal candidates. A bounded cache keeps recent results, because every attempt reads the document
again. Each check stands for one reason not to ask a question, and looks at the words of the question and its answer.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import zip_longest

from qagen_dagster.english.words import word_set
from qagen_dagster.models.embedded.conversation import Line
from qagen_dagster.models.embedded.questions.candidate import Candidate, Context, name_words, plain_words
from qagen_dagster.models.embedded.questions.prose import questions
from qagen_dagster.models.embedded.questions.structure import acronyms, cell_questions, keyed
from qagen_dagster.models.embedded.text.blocks import Block, Kind, segment, tables
from qagen_dagster.models.embedded.text.grammar import is_english, parse, read_clause
from qagen_dagster.models.embedded.text.passages import balanced, is_prose, split

# Words whose meaning depends on the text around the sentence. "You" is the reader of the document.
_POINTING = re.compile(
    r"\b(?:he|she|they|him|her|them|his|we|us|our|i|me|my|it|itself|some|here|there|such|previous|previously|today|yesterday|now|currently|later|then|next|subsequent|"
    r"again|another|only|latter|former|a different|additional|further|the (?:same|present|other|one)|et al|(?:section|table|figure|box|step|item|line) \d+)\b|\b(?:above|below)(?! \d)",
    re.IGNORECASE,
)
_CUT = re.compile(
    r"\b(?:where|to|of|and|or|by|in|on|at|for|from|with|than|as|because|the|a)\??$"
)  # a formula follows
_FORMULA = re.compile(
    r" - |--|[\U0001d400-\U0001d7ff\u2200-\u22ff\\|^{}]|(?<![\w'\u2019.])[b-uw-z](?![\w'.\u2019°])"
)
_OPINION = re.compile(
    r"^(?:only|now|still|either|in fact)\b|^(?:(?:an?|the|one of the) )?(?:[\w-]+ ){0,2}(?:important|useful|ideal|key|major|serious|central|essential|interesting|good|excellent|common|typical|unusual|positive|most|"
    r"(?:problem|way|issue|challenge|step|part|example|cause|result|approach|requirement|concept|advantage|feature|factor|lesson|goal|reason)s?)\b"
)
_STOP = word_set(
    "a an the of in on at to for from by with and or but is are was were be been being do does did has have had what which who whom "
    "when where why how many much long according not no that as it its than into can could may might must shall should will would "
    "give given use used there"
)
_STRUCTURED = frozenset({"key", "cell", "acronym"})
MAX_QUESTION_WORDS = 34
MAX_ANSWER_WORDS = 30


def _content_words(text: str) -> list[str]:
    """Lower-case words that carry meaning."""
    return [
        word
        for word in re.findall(r"[\w'-]+", text.lower())
        if (word not in _STOP and len(word) > 1) or word.isdigit()
    ]


def _pointing(candidate: Candidate, context: Context) -> bool:
    """Whether the question has a word whose meaning depends on the text around the sentence."""
    return candidate.family not in _STRUCTURED and bool(_POINTING.search(candidate.asked))


def _answer_shown(candidate: Candidate, context: Context) -> bool:
    """Whether the question reveals the answer."""
    answer, asked = _content_words(candidate.answer), set(_content_words(candidate.question))
    return (not answer and not any(char.isdigit() for char in candidate.answer)) or (
        bool(answer) and all(word in asked for word in answer)
    )


def _bad_form(candidate: Candidate, context: Context) -> bool:
    """Whether the question or the answer is too long, or broken off."""
    asked, answer = candidate.asked, candidate.answer
    if len(asked.split()) > MAX_QUESTION_WORDS or len(answer.split()) > MAX_ANSWER_WORDS:
        return True
    if not (balanced(asked) and balanced(answer)):
        return True
    broken = _CUT.search(asked) or _CUT.search(answer) or _FORMULA.search(asked) or _FORMULA.search(answer)
    return candidate.family not in _STRUCTURED and bool(broken)


def _anywhere(candidate: Candidate, context: Context) -> bool:
    """Whether the question could be asked of any document.

    That is the case if it is short, asks "why" or is about a long document, and contains no name and no number.
    """
    short = len(set(_content_words(candidate.asked))) < 4 and candidate.family in ("when", "how_many")
    deep = context.long and candidate.family not in {*_STRUCTURED, "definition"}
    deep |= candidate.family == "why"
    return (short or deep) and not re.search(r"\d|.[A-Z]|[`_/]|\w\.\w|\s-\w", candidate.asked)


def _opinion(candidate: Candidate, context: Context) -> bool:
    """Whether a "definition" only judges how good, bad or important a thing is."""
    subject = candidate.asked.split(" ", 2)[-1]
    return candidate.family == "definition" and any(map(_OPINION.match, (subject, candidate.answer)))


CHECKS: tuple[Callable[[Candidate, Context], bool], ...] = (
    _pointing, _answer_shown, _bad_form, _anywhere, _opinion,
)  # fmt: skip


def refusal(candidate: Candidate, context: Context) -> str | None:
    """The name of the first check that refuses the candidate, or None."""
    return next((check.__name__.strip("_") for check in CHECKS if check(candidate, context)), None)


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
_REFERENCE = re.compile(
    r"\b\d{4};\s?\d+|\b\d{1,4}\s?\(\d{1,4}\):\s?\d+|\bdoi:\s?10\.|\barXiv:\d|, \d{4}[a-z]?\. .{5,200}(?:, pages |[Pp]roceedings|, \d+[\u2013-]\d+\.)"
)
_BACK_MATTER = frozenset(
    {
        "references", "bibliography", "works cited", "literature", "literature cited", "acknowledgements", "acknowledgments",
        "legal", "copyright", "table of contents", "contents", "index", "see also", "further reading", "data availability", "major datasets", "decision letter", "author response", "supplementary material",
        "funding", "author contributions", "competing interests", "conflict of interest", "additional information",
    }
)  # fmt: skip


@lru_cache(maxsize=CACHED_WINDOWS)
def candidates(lines: tuple[Line, ...], context: Context) -> tuple[Candidate, ...]:
    """Candidates of consecutive lines, the best ones first and of all families in turn."""
    blocks = [block for block in segment(lines, dict(context.headings)) if not _is_left_out(block)]
    context = replace(context, plain=plain_words(lines), names=name_words(lines))
    found = (replace(draft, frame=draft.frame or context.frame()) for draft in proposals(blocks, context))
    good = [candidate for candidate in found if refusal(candidate, context) is None]
    return tuple(interleave(one_per_sentence(without_rivals(good))))


def _is_left_out(block: Block) -> bool:
    """Whether a block is back matter, a list of references, or in another language, such as filler text."""
    names = {name.lower().strip(" .:") for name in block.section}
    text = block.passage.text
    if names & _BACK_MATTER or any(name.endswith(("license", "licence")) for name in names):
        return True
    if _REFERENCE.search(text[:500]) or len(_REFERENCE.findall(text)) > 2:
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
    for sentence, doc in zip(found, docs, strict=True):
        clause = read_clause(doc)
        for asked, answer, family, kind, quality in questions(clause) if clause is not None else ():
            if answer in sentence.passage.text:
                yield Candidate(asked, answer, (sentence.passage.quote(),), family, kind, quality)


def one_per_sentence(found: Sequence[Candidate]) -> list[Candidate]:
    """The best question of each sentence, because two questions would reveal each other's answers. Questions about cells, labels
    and abbreviations all stay.
    """
    best: dict[tuple[int, str], Candidate] = {}
    for candidate in found:
        key = (candidate.line, candidate.quotes[0].text)
        if candidate.family not in _STRUCTURED and (key not in best or candidate.quality > best[key].quality):
            best[key] = candidate
    return [*(candidate for candidate in found if candidate.family in _STRUCTURED), *best.values()]


def interleave(found: Sequence[Candidate]) -> list[Candidate]:
    """The candidates of all families in turn, the best of each family first, so that the first few are varied."""
    families: dict[str, list[Candidate]] = {}
    for candidate in sorted(found, key=lambda item: (-round(item.quality, 1), _spread(item))):
        families.setdefault(candidate.family, []).append(candidate)
    return [
        candidate for turn in zip_longest(*families.values()) for candidate in turn if candidate is not None
    ]


def _spread(candidate: Candidate) -> tuple[str, int]:
    """A key that scatters table cells, so that the first few come from several rows and columns."""
    if candidate.family != "cell":
        return "", candidate.line
    return hashlib.sha256(candidate.question.encode("utf-8", "surrogatepass")).hexdigest(), 0
