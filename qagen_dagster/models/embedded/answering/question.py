"""Analyses a question: its question word, the noun it asks about, how its question phrase is attached, and the keys of its words."""

import re
from dataclasses import dataclass

from spacy.tokens import Doc, Token

from qagen_dagster.english.amounts import SPELLED
from qagen_dagster.english.words import named_words, word_set
from qagen_dagster.models.embedded.text.grammar import parse

STOP = word_set(
    "a an the of in on at to for from by with and or is are was were be been it its that which as did do does has had have "
    "what who when where why how many much whom whose than this these those their his her 's name call"
)
_WH = word_set("who whom whose when where why how what which")
_MEASURED = word_set("long old far tall big large often fast high deep wide heavy soon late")
_PARTITIVE = word_set("type kind sort name form part one term example")
_CLASSES = {
    name: frozenset(named_words(f"{name}_nouns")) for name in ("date", "number", "place", "person", "body")
}


_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_LEFT_OUT = word_set(
    "a an the of in on at to for from by with and or is are was were be been it its that which as because"
)
_UNITS = {
    "metres": "m", "meters": "m", "metre": "m", "meter": "m", "kilometres": "km", "kilometers": "km", "percent": "%", "per": "per",
    "seconds": "s", "second": "s", "minutes": "min", "minute": "min", "hours": "h", "hour": "h", "millimetres": "mm", "feet": "ft",
}  # fmt: skip


@dataclass(frozen=True)
class Question:
    """An analysed question.

    Attributes:
        kind: the question word. For "how" it is one of "how many", "how long" and "how".
        wants: the class of answer. It is `kind`, or for "what" and "which" the class of the noun asked about.
        focus: the lemma of the noun asked about; empty if there is none.
        role, governor: the grammatical relation of the question phrase, and the token (its index in `doc`) on which the phrase depends.
        preposition: the preposition before the question word or at the question's end; empty if there is none.
        content: the indices of the tokens of `doc` that carry meaning, among them the noun asked about.
        gap: the first and the last token of the question phrase.
    """

    doc: Doc
    kind: str
    wants: str
    focus: str
    role: str
    governor: int
    preposition: str
    root: str
    content: tuple[int, ...]
    gap: tuple[int, int]


def read_question(text: str) -> Question:
    """Analyse `text`. Parts that are not recognised are empty or "other"."""
    doc = parse([text.strip() or "?"])[0]
    word = next((token for token in doc if token.lower_ in _WH), None)
    root = next((token for token in doc if token.dep_ == "ROOT"), doc[0])
    content = tuple(token.i for token in doc if is_content(token) and token.lower_ not in _WH)
    if word is None:
        return Question(doc, "other", "other", "", "none", root.i, "", root.lemma_.lower(), content, (0, 0))
    kind, focus = _kind(word)
    filler = word.head if focus is not None and focus is word.head else word
    governor, preposition = filler.head, ""
    if filler.dep_ == "pobj":
        preposition, governor = filler.head.lemma_.lower(), filler.head.head
    elif word.i > 0 and doc[word.i - 1].pos_ == "ADP":
        preposition = doc[word.i - 1].lower_
    focus = _inside(focus)
    last = focus.i if focus is not None and word.i <= focus.i <= word.i + 5 else word.i
    return Question(
        doc, kind, _wants(kind, word, focus), focus.lemma_.lower() if focus is not None else "", filler.dep_, governor.i,
        preposition, root.lemma_.lower(), content, (word.i, last),
    )  # fmt: skip


def is_content(token: Token) -> bool:
    """Whether a word carries meaning."""
    return (
        not (token.is_punct or token.is_space)
        and token.lower_ not in STOP
        and token.lemma_.lower() not in STOP
    )


def keys(token: Token) -> tuple[str, ...]:
    """The keys by which a word is matched: its lemma and its stems."""
    return (token.lemma_.lower(), *terms(token.text))


def _stem(word: str) -> str:
    """A cruder stem than `english.words.stem`: the fitted weights of the reader depend on it."""
    word = _UNITS.get(word, word)
    for ending in ("ies", "sses", "es", "s", "ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return {"ies": word[:-3] + "y", "sses": word[:-2]}.get(ending, word[: -len(ending)])
    return word


def terms(text: str) -> list[str]:
    """Content words and numbers, stemmed."""
    found: list[str] = []
    for word in re.findall(r"[\w°%µ]+(?:[.'\u2019_/-][\w%]+)*", _THOUSANDS.sub("", text.lower())):
        if word not in _LEFT_OUT:
            found.append(_stem(str(SPELLED.get(word, word))))
    return found


def _kind(word: Token) -> tuple[str, Token | None]:
    asks = word.lower_
    following = word.nbor() if word.i + 1 < len(word.doc) else None
    if asks in ("who", "whom", "whose"):
        return "who", None
    if asks in ("when", "where", "why"):
        return asks, None
    if asks == "how":
        return _how(following)
    if word.head.pos_ in ("NOUN", "PROPN") and word.dep_ in ("det", "nmod", "compound", "amod"):
        return "what", word.head
    if word.head.lemma_ == "be":
        subjects = (child for child in word.head.children if child.dep_ in ("nsubj", "attr"))
        return "what", next(
            (child for child in subjects if child is not word and child.pos_ in ("NOUN", "PROPN")), None
        )
    return "what", None


def _how(following: Token | None) -> tuple[str, Token | None]:
    if following is None:
        return "how", None
    if following.lower_ in ("many", "much"):
        if following.head.pos_ in ("NOUN", "PROPN"):
            return "how many", following.head
        rest = following.doc[following.i + 1 :]
        return "how many", next((token for token in rest if token.pos_ in ("NOUN", "PROPN")), None)
    return ("how long" if following.lower_ in _MEASURED else "how"), None


def _inside(focus: Token | None) -> Token | None:
    """The noun after "of" for "what type of ..."."""
    if focus is None or focus.lemma_.lower() not in _PARTITIVE:
        return focus
    inner = (
        noun
        for child in focus.children
        if child.dep_ == "prep"
        for noun in child.children
        if noun.dep_ == "pobj"
    )
    return next(inner, focus)


def _wants(kind: str, word: Token, focus: Token | None) -> str:
    if kind != "what" or focus is None:
        return kind
    lemma = focus.lemma_.lower()
    named = next((name for name, words in _CLASSES.items() if lemma in words), None)
    return named or ("what noun" if word.head is focus else "what is")
