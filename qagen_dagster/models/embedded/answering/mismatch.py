"""What a question says that the place of its answer does not: signs that the text does not answer the question.

A question without an answer often repeats most words of a sentence and changes one: a name, a number, a quality, a verb, a
denial (Rajpurkar, Jia & Liang 2018). Each word of the question is looked for in the sentence of the answer, near it, and
in the whole text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from spacy.tokens import Token

from qagen_dagster.english.polarity import opposites_of
from qagen_dagster.english.words import word_set
from qagen_dagster.models.embedded.answering.question import Question, keys
from qagen_dagster.models.embedded.answering.sentence import Sentence
from qagen_dagster.models.vectors import Vectors

_KINDS = ("name", "number", "noun", "verb", "quality")
_FAR = ("name", "number", "noun", "quality")
_SOFT = ("verb", "noun", "quality")
MISMATCHES = (
    *(f"elsewhere_{kind}" for kind in _KINDS),  # words that are not in the sentence, but in another one
    *(f"absent_{kind}" for kind in _KINDS),  # words that are nowhere in the text
    *(f"far_{kind}" for kind in _FAR),  # words that are neither in the sentence nor in the two before it
    *(f"least_{kind}" for kind in _SOFT), "least", "mean",  # of the words' largest cosines in the sentence
    "denial_added", "denial", "opposite", "other_modifier", "other_party", "exchanged", "better_sentence", "length",
)  # fmt: skip
_DENIAL = word_set("not no never none without n't neither nor nobody nothing hardly")
_MEASURES = ("CARDINAL", "DATE", "PERCENT", "MONEY", "QUANTITY", "ORDINAL", "TIME")
_MODIFIERS = ("amod", "compound", "nummod", "poss")
_PARTIES = ("nsubj", "dobj", "pobj", "nsubjpass")
BEFORE = 2  # sentences before the answer's that may name what it is about


def mismatches(
    question: Question, vectors: Vectors, text: Sequence[Sentence], place: int, start: int, end: int
) -> tuple[float, ...]:
    """The values of MISMATCHES for tokens `start` to `end` of `text[place]`; `vectors` has a row per token of the question."""
    first, last = question.gap
    words = [question.doc[at] for at in question.content if not first <= at <= last]
    one = text[place]
    here = frozenset[str]().union(*one.words[:start], *one.words[end:])
    near = one.said.union(*(other.said for other in text[max(0, place - BEFORE) : place]))
    everywhere = frozenset[str]().union(*(other.said for other in text))
    asked = frozenset[str]().union(*(keys(word) for word in words))
    counts = Counter[str]()
    least: dict[str, float] = dict.fromkeys((*_SOFT, ""), 1.0)
    cosines: list[float] = []
    for word in words:
        said, kind = frozenset(keys(word)), _kind(word)
        if not said & here:
            counts["opposite"] += bool(_opposites(word) & (one.said - asked))
            counts[f"{'elsewhere' if said & everywhere else 'absent'}_{kind}"] += 1
        counts[f"far_{kind}"] += not said & near
        cosines.append(1.0 if said & here else _largest(vectors[word.i], one, start, end))
        for name in (kind, ""):
            least[name] = min(least.get(name, 1.0), cosines[-1])
    counts += _structure(words, one, here, near, range(start, end))
    denial = any(token.lower_ in _DENIAL for token in question.doc)
    counts["denial"] = denial
    counts["denial_added"] = denial and not any(token.lower_ in _DENIAL for token in one.doc)
    best = max(_covered(words, other) for other in text)
    return (
        *(float(counts[name]) for name in MISMATCHES[: 2 * len(_KINDS) + len(_FAR)]),
        *(least[name] for name in (*_SOFT, "")), float(np.mean(cosines)) if cosines else 1.0,
        *(float(counts[name]) for name in ("denial_added", "denial", "opposite", "other_modifier", "other_party", "exchanged")),
        best - _covered(words, one), float(np.log1p(len(words))),
    )  # fmt: skip


def _kind(word: Token) -> str:
    if word.like_num or (word.ent_type_ in _MEASURES and any(map(str.isdigit, word.text))):
        return "number"
    if word.pos_ == "PROPN" or (word.i > 0 and word.text[:1].isupper()):
        return "name"
    return {"VERB": "verb", "ADJ": "quality", "ADV": "quality"}.get(word.pos_, "noun")


def _opposites(word: Token) -> frozenset[str]:
    return opposites_of(word.lower_) | opposites_of(word.lemma_.lower())


def _largest(vector: Vectors, one: Sentence, start: int, end: int) -> float:
    """The largest cosine to a token of the sentence outside the answer."""
    outside = [token.i for token in one.doc if not (start <= token.i < end or token.is_punct)]
    return float((one.vectors[outside] @ vector).max()) if outside else 0.0


def _covered(words: Sequence[Token], one: Sentence) -> float:
    return sum(bool(one.said.intersection(keys(word))) for word in words) / max(1, len(words))


def _structure(
    words: Sequence[Token], one: Sentence, here: frozenset[str], near: frozenset[str], answer: range
) -> Counter[str]:
    """Words in another relation than in the sentence: another modifier or party of a word that both have, roles exchanged."""
    found = Counter[str]()
    for word in words:
        said = frozenset(keys(word))
        if not said & near:
            head = word.head.head if word.dep_ == "pobj" else word.head
            found["other_party"] += word.dep_ in _PARTIES and bool(here.intersection(keys(head)))
            found["other_modifier"] += word.dep_ in _MODIFIERS and _modified(word.head, one, answer)
        same = next((token for token in one.doc if said & one.words[token.i]), None)
        roles = {
            token.dep_ == "nsubj" for token in (word, same) if token is not None and token.dep_ in _PARTIES
        }
        found["exchanged"] += len(roles) == 2
    return found


def _modified(head: Token, one: Sentence, answer: range) -> bool:
    """Whether the sentence has this word, too, with a modifier of its own."""
    said = frozenset(keys(head))
    same = next((token for token in one.doc if token.i not in answer and said & one.words[token.i]), None)
    return same is not None and any(child.dep_ in _MODIFIERS for child in same.children)
