"""The wording of a text: the style of a question, the share of its words that is in its evidence, its length,
and the words with which it points at a text that its reader does not see ("this study", "according to the passage")."""

import re
from typing import NamedTuple

from qagen_dagster.english.language import is_foreign
from qagen_dagster.english.words import content_stems, shared_words, tokens, word_set
from qagen_dagster.records.corpus_options import Style

_RUN = 3  # words of a run that counts as copied
_FIRST_PERSON = re.compile(
    r"\b(?:i|i['\u2019](?:m|ve|d|ll)|my|me|we|we['\u2019](?:re|ve)|our|us|hi|hello|hey)\b", re.IGNORECASE
)
# a word that begins with a capital, or has a digit
_NAME = re.compile(r"\W*(?:[^\W\d_a-z\u00df-\u00ff]|\w*\d)")
_ASKS = word_set(
    "what which who whom whose when where why how is are was were do does did can could has have had will would should may"
)
_TELLS = word_set(
    "calculate compare compute count define describe determine estimate explain find give identify list mention name outline "
    "provide show state summarise summarize tell"
)


class Wording(NamedTuple):
    """Figures about the words of a question.

    Attributes:
        shared: the share (0-1) of its content words that are in the evidence, in any form.
        copied: the share (0-1) of its runs of three words that are in the evidence unchanged.
        words: the number of its different content words, or a mean of such numbers.
    """

    shared: float
    copied: float
    words: float


def wording(question: str, evidence: str) -> Wording:
    """The figures of a question and its evidence."""
    runs = _runs(question)
    copied = len(runs & _runs(evidence)) / len(runs) if runs else 0.0
    return Wording(shared_words(question, evidence), copied, len({*content_stems(question)}))


def without_names(question: str) -> str:
    """The question without names and numbers, which no other word can replace. Its first word is kept, because its capital does not mark a
    name."""
    first, *others = question.split() or [""]
    kept = [other for other in others if not _NAME.match(other)]
    return " ".join([first, *kept])


def _runs(text: str) -> set[tuple[str, ...]]:
    words = tokens(text)
    return {words[at : at + _RUN] for at in range(len(words) - _RUN + 1)}


def style_of(text: str) -> Style | None:
    """The style of a text that asks for something; None if its words do not show a style, as in most languages other than English."""
    words = tokens(text)
    if is_foreign(text, "en") or not words:
        return Style.QUESTION if text.rstrip().endswith(("?", "\uff1f")) else None
    if _FIRST_PERSON.search(text):
        return Style.CONVERSATIONAL
    if "?" in text or words[0] in _ASKS:
        return Style.QUESTION
    return Style.INSTRUCTION if words[0] in _TELLS else Style.KEYWORD


_TEXTS = (
    "abstract|article|book|chapter|document|excerpt|extract|figure|guide|handbook|letter|manual|paper|paragraph|passage|report|"
    "section|study|table|text|transcript"
)
_POINTER = re.compile(
    rf"""
    \b(?:
        (?P<here>(?:this|the\s+(?:above|attached|current|following|given|present|provided))\s+(?:{_TEXTS})
            | (?:the\s+)?(?:{_TEXTS})\s+(?:above|below))
      | (?:according\s+to|as\s+per|based\s+on|(?:described|given|listed|mentioned|presented|reported|shown|stated)\s+(?:by|in))\s+
        (?P<told>the\s+(?:authors?|{_TEXTS}))
      | (?:by|from|in|of)\s+(?P<found>the\s+(?:abstract|article|authors?|document|excerpt|passage|text|transcript))
      | (?:did|do|does)\s+(?P<said>the\s+(?:abstract|article|authors?|document|excerpt|passage|text|transcript))
    )\b
    (?P<rest>[^.?!]{{0,40}})
    """,
    re.IGNORECASE | re.VERBOSE,
)
# Words that name the text that is meant: "the report of the auditors", "the table 'Costs'", "section 3", "the study that Curie led".
_NAMED = re.compile(
    r":?\s*(?:[\"'\u2018\u201c(]|(?:about|by|called|concerning|entitled|for|from|in|named|of|on|that|titled|which|who|whose|with)\b"
    r"|(?-i:[A-Z\d]))",
    re.IGNORECASE,
)
# In "the text editor" and "the article number", the following noun shows that no text is meant.
_NOUN = re.compile(
    r"\s+(?!(?:a|above|an|and|are|as|below|but|can|could|did|do|does|had|has|have|how|if|is|it|may|might|must|not|or|should|the|there|these|they"
    r"|this|to|was|were|what|when|where|why|will|would)\b)[a-z]"
)


def pointer(question: str) -> str:
    """The first words that point at an unnamed text; empty if there are none."""
    for found in _POINTER.finditer(question):
        words = found["here"] or found["told"] or found["found"] or found["said"]
        noun = (found["told"] or found["found"]) and _NOUN.match(found["rest"])
        if found["here"] or not (noun or _NAMED.match(found["rest"])):
            return " ".join(words.split())
    return ""
