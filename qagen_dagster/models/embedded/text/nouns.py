"""Types of noun phrases: a person, a date, an amount.

The entity recogniser of a small model makes mistakes on identifiers, so the words must confirm each label.
"""

from __future__ import annotations

import re

from spacy.tokens import Token

from qagen_dagster.english.words import word_set

_UNITS = word_set(
    "mm cm m km metre metres meter meters kilometre kilometres kilometers mile miles inch inches foot feet ft yard yards second "
    "seconds minute minutes hour hours day days week weeks month months year years decade decades century centuries gram grams "
    "kg kilogram kilograms kilograms tonne tonnes ton tons pound pounds litre litres liter liters ml millilitre "
    "millilitres degree degrees percent volt volts v amp amps watt watts w kw hertz hz khz mhz ghz gigahertz megahertz "
    "mb gb kb tb byte bytes bit bits baud dpi pixels pixel newton newtons pascal bar hpa joule joules calorie calories "
    "dollar dollars euro euros pound pounds cents thirds quarters % °c °f mg µm nm ms g l"
)
_DURATION = word_set("second minute hour day week month year decade century moment night")
_MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
_PLAIN_DATE = re.compile(
    rf"(?:the )?(?:\w+day,? )?(?:the )?(?:(?:night|morning|evening|afternoon|spring|summer|autumn|fall|winter) of )?"
    rf"(?:\d{{1,2}}(?:st|nd|rd|th)?(?: of)? )?(?:{_MONTH})?(?: \d{{1,2}},?)?,? ?(?:\d{{4}})?"
    r"|(?:the )?(?:\d{1,2}(?:st|nd|rd|th)|[a-z]+) century|(?:spring|summer|autumn|fall|winter)(?: of)? \d{4}|the \d{4}s"
)
_VAGUE_DATE = re.compile(
    r"\b(?:that|this|same|following|next|previous|last|later|earlier|now|past|recent|until|since|early|late)\b",
    re.I,
)


def is_named(token: Token) -> bool:
    """Whether `token` belongs to a person's name of at least two words."""
    if token.ent_type_ != "PERSON" or token.tag_ in ("NNS", "NNPS"):
        return False
    entity = [other for other in token.doc if other.ent_type_ == "PERSON" and abs(other.i - token.i) < 4]
    names = [
        other.text
        for other in entity
        if re.fullmatch(r"[A-Z]\.|[^\W\d_]*[^\W\d_A-Z][^\W\d_]*", other.text) and other.text[0].isupper()
    ]
    return len(names) >= 2 and all(not char.isdigit() for other in entity for char in other.text)


def is_plain_date(text: str) -> bool:
    """Whether `text` is only a date, with its year or century."""
    return bool(_PLAIN_DATE.fullmatch(text) and re.search(r"\d{4}|century", text)) and not _VAGUE_DATE.search(
        text
    )


def is_unit(token: Token) -> bool:
    return token.lower_ in _UNITS


def is_duration(token: Token) -> bool:
    """Whether the phrase is a counted length of time ("72 hours")."""
    return token.lemma_.lower() in _DURATION and any(
        child.dep_ == "nummod" and child.i < token.i for child in token.children
    )


def number_of(token: Token) -> Token | None:
    """The number before the noun that counts it, unless it is "one" or a year."""
    for child in token.children:
        if child.dep_ == "nummod" and child.i < token.i and child.like_num and "/" not in child.text:
            year = re.fullmatch(r"1[5-9]\d\d|20\d\d", child.text)
            return None if year or child.lower_ in ("one", "1") else child
    return None
