"""Questions that look as if their text answered them, made from questions that it does answer.

The ways are those that the authors of SQuAD 2.0 describe (Rajpurkar, Jia & Liang 2018): a negation, an antonym, another
name, number or word of the same kind, an exchange of roles, a condition that the text does not set, and a question of
another paragraph. Everything is drawn from a seed of the question, so that every run makes the same ones.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from spacy.tokens import Doc, Span, Token

from benchmarks.short.sets import Example
from qagen_dagster.english.polarity import listed_opposites
from qagen_dagster.models.embedded.answering.question import STOP
from qagen_dagster.models.embedded.text.grammar import parse

EACH = 1  # changed questions per question, besides that of another paragraph
_OFTEN_POSSIBLE = (
    "negation",
    "condition",
)  # applied to some questions only, or they would be most of the set
_WH = frozenset(["who", "whom", "whose", "when", "where", "why", "how", "what", "which"])
_NUMBERS = ("DATE", "CARDINAL", "MONEY", "PERCENT", "QUANTITY", "ORDINAL", "TIME")
_CONDITIONS = (
    "in {year}", "before {year}", "after {year}", "in {name}", "with {name}", "for {name}", "according to {name}",
    "on weekends", "at night", "during the winter", "for the second time", "without help", "at the age of {small}",
)  # fmt: skip
_ADJECTIVES = (
    "first", "last", "only", "second", "oldest", "youngest", "largest", "smallest", "former", "original", "female", "foreign",
    "private", "unofficial", "western", "early", "temporary",
)  # fmt: skip
_AUXILIARIES = ("AUX",)


@dataclass(frozen=True)
class Unanswerable:
    """`example` holds the changed question, and no answer."""

    example: Example
    kind: str


def set_aside(text: str) -> bool:
    """Whether nothing may be fitted on the questions of this paragraph: a third of all, by hash."""
    return int(hashlib.sha256(text.encode()).hexdigest(), 16) % 3 == 0


def unanswerable(examples: Sequence[Example]) -> Iterator[Unanswerable]:
    """Changed questions, up to EACH per question, and for each a question of another paragraph of the same group."""
    groups: dict[str, list[Example]] = {}
    for one in examples:
        groups.setdefault(one.group, []).append(one)
    for one in examples:
        chance = random.Random(f"{one.document} {one.question}")
        kinds = [kind for kind in KINDS if kind not in _OFTEN_POSSIBLE or chance.random() < 0.35]
        chance.shuffle(kinds)
        made = 0
        for kind in kinds:
            changed = KINDS[kind](_Work(one, chance)) if made < EACH else ""
            if changed and changed != one.question:
                made += 1
                yield Unanswerable(_asking(one, changed), kind)
        others = [two for two in groups[one.group] if two.text != one.text and two.answer not in one.text]
        if others and chance.random() < 0.25:
            yield Unanswerable(_asking(one, chance.choice(others).question), "other paragraph")


def _asking(one: Example, question: str) -> Example:
    return Example(one.group, one.document, one.text, question, "", -1)


@dataclass(frozen=True)
class _Work:
    one: Example
    chance: random.Random

    @property
    def question(self) -> Doc:
        return _parsed(self.one.question)

    @property
    def text(self) -> Doc:
        return _parsed(self.one.text)

    def pick(self, texts: Sequence[str]) -> str:
        """One of the texts that neither the question nor the answer says; empty if there is none."""
        said = f"{self.one.question} {self.one.answer}".lower()
        fresh = sorted({text for text in texts if text.lower() not in said and len(text) > 1})
        return self.chance.choice(fresh) if fresh else ""


@lru_cache(maxsize=4_000)
def _parsed(text: str) -> Doc:
    return parse([text])[0]


def _replaced(part: Span | Token, new: str) -> str:
    start = part.start_char if isinstance(part, Span) else part.idx
    return part.doc.text[:start] + new + part.doc.text[start + len(part.text) :]


def _negation(work: _Work) -> str:
    doc = work.question
    for token in doc:
        if token.dep_ == "neg" and token.lower_ in ("not", "never"):
            return doc.text[: token.idx] + doc.text[token.idx + len(token.text) + 1 :]
    verbs = [token for token in doc if token.pos_ == "VERB" and token.dep_ in ("ROOT", "relcl", "ccomp")]
    for verb in verbs:
        helped = any(child.dep_ in ("aux", "auxpass") for child in verb.children)
        word = work.chance.choice(("not", "never")) if helped else "never"
        return doc.text[: verb.idx] + f"{word} " + doc.text[verb.idx :]
    for token in doc:
        if token.dep_ == "ROOT" and token.pos_ in _AUXILIARIES:
            return doc.text[: token.idx + len(token.text)] + " not" + doc.text[token.idx + len(token.text) :]
    return ""


@lru_cache(maxsize=1)
def _opposites() -> dict[str, list[str]]:
    return {word: sorted(others) for word, others in listed_opposites().items()}


def _antonym(work: _Work) -> str:
    said = {token.lower_ for token in work.text}
    for token in work.question:
        known = _opposites().get(token.lower_, []) + _opposites().get(token.lemma_.lower(), [])
        fresh = [word for word in known if word not in said]
        if token.pos_ in ("ADJ", "ADV", "VERB", "NOUN") and token.lower_ not in STOP and fresh:
            return _replaced(token, work.chance.choice(sorted(fresh)))
    return ""


def _entity(work: _Work) -> str:
    mine = [one for one in work.question.ents if one.label_ not in _NUMBERS]
    if not mine:
        return ""
    chosen = work.chance.choice(mine)
    new = work.pick([one.text for one in work.text.ents if one.label_ == chosen.label_])
    return _replaced(chosen, new.removeprefix("the ")) if new else ""


def _number(work: _Work) -> str:
    mine = [one for one in work.question.ents if one.label_ in _NUMBERS] or [
        token for token in work.question if token.like_num
    ]
    if not mine:
        return ""
    chosen = work.chance.choice(mine)
    label = chosen.label_ if isinstance(chosen, Span) else "CARDINAL"
    new = work.pick([one.text for one in work.text.ents if one.label_ == label])
    digits = re.search(r"\d+", chosen.text)
    if digits and (not new or work.chance.random() < 0.5):
        other = str(int(digits.group()) + work.chance.choice((-7, -3, -1, 1, 2, 10)))
        return "" if other in work.one.text else _replaced(chosen, chosen.text.replace(digits.group(), other))
    return _replaced(chosen, new) if new else ""


def _exclusion(work: _Work) -> str:
    """A noun, adjective or verb in the place of another, taken from the paragraph."""
    wh = next((token.i for token in work.question if token.lower_ in _WH), 0)
    mine = [
        token
        for token in work.question
        if token.pos_ in ("NOUN", "ADJ", "VERB") and token.lower_ not in STOP and token.i > wh + 1
    ]
    if not mine:
        return ""
    chosen = work.chance.choice(mine)
    lemmas = {token.lemma_ for token in work.question}
    rivals = [token.text for token in work.text if token.tag_ == chosen.tag_ and token.lemma_ not in lemmas]
    new = work.pick(rivals)
    return _replaced(chosen, new.lower()) if new else ""


def _roles(work: _Work) -> str:
    """Subject and object exchanged."""
    doc = work.question
    subjects = [one for one in doc.noun_chunks if one.root.dep_ in ("nsubj", "nsubjpass")]
    objects = [one for one in doc.noun_chunks if one.root.dep_ in ("dobj", "pobj", "attr")]
    for left in subjects:
        for right in objects:
            told = not any(token.lower_ in _WH for token in (*left, *right))
            if told and left.end <= right.start:
                middle = doc.text[left.end_char : right.start_char]
                return (
                    doc.text[: left.start_char] + right.text + middle + left.text + doc.text[right.end_char :]
                )
    return ""


def _condition(work: _Work) -> str:
    """A condition or a quality that the paragraph does not name."""
    doc, chance = work.question, work.chance
    names = sorted({one.text for one in work.text.ents if one.label_ in ("PERSON", "ORG", "GPE", "NORP")})
    fresh = work.pick(names) or chance.choice(("Brazil", "Norway", "Kenya", "Ohio"))
    form = chance.choice(_CONDITIONS)
    said = form.format(
        year=chance.randrange(1400, 2015), name=fresh.removeprefix("the "), small=chance.randrange(12, 80)
    )
    nouns = [token for token in doc if token.pos_ == "NOUN" and token.lower_ not in _WH and token.i > 1]
    if nouns and chance.random() < 0.5:
        quality = chance.choice(
            [word for word in _ADJECTIVES if word not in work.one.text.lower()] or ["purple"]
        )
        noun = chance.choice(nouns)
        return doc.text[: noun.idx] + f"{quality} " + doc.text[noun.idx :]
    return doc.text.rstrip("? ") + f" {said}?"


KINDS: dict[str, Callable[[_Work], str]] = {
    "negation": _negation,
    "antonym": _antonym,
    "entity": _entity,
    "number": _number,
    "exclusion": _exclusion,
    "roles": _roles,
    "condition": _condition,
}
