"""Finds words of a question that point at a text which its reader does not see: "this study", "according to the passage"."""

from __future__ import annotations

import re

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
# What tells which text is meant: "the report of the auditors", "the table 'Costs'", "section 3", "the study that Curie led".
_NAMED = re.compile(
    r":?\s*(?:[\"'\u2018\u201c(]|(?:about|by|called|concerning|entitled|for|from|in|named|of|on|that|titled|which|who|whose|with)\b"
    r"|(?-i:[A-Z\d]))",
    re.IGNORECASE,
)
# "the text editor", "the article number": the noun that follows tells that no text is meant.
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
