"""Kinds of fault that the criteria `supported`, `premise_holds` and `self_contained` are for: the answer itself is right."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace

from benchmarks.planted.documents import NAME, Fact
from benchmarks.planted.faults import AUXILIARY, Others, Planted, bad, good, pair
from qagen_dagster.english.words import content_stems

_PRONOUN = re.compile(r"(?:It|They|He|She|Its|Their|His|Her|This|These) [a-z]")
_NOBODY = ("the group", "the place", "that person", "the other one")


def alike_sentence(fact: Fact, _: Others, _chance: random.Random) -> Iterator[Planted]:
    """The quote without the answer: of the sentences that lack it, the one that shares most words with the question."""
    rest = [one for one in fact.page.sentences if fact.answer not in one and one not in fact.quotes]
    if rest and fact.form == "span":
        yield from pair(fact, quotes=(max(rest, key=lambda one: _shared(fact.question, one)),))


def answer_elsewhere(fact: Fact, _: Others, _chance: random.Random) -> Iterator[Planted]:
    """The quote without the subject: the answer's words in a sentence about something else."""
    pattern = re.compile(rf"(?<!\w){re.escape(fact.answer)}(?!\w)")
    rest = [one for one in fact.page.sentences if pattern.search(one) and one not in fact.quotes]
    away = [one for one in rest if _shared(fact.question, one) == 0]
    if away and fact.form == "span":
        yield from pair(fact, quotes=(away[0],))


def pronoun(fact: Fact, _: Others, _chance: random.Random) -> Iterator[Planted]:
    """A sentence whose subject is a pronoun, without the sentence that says what it stands for."""
    place = fact.page.sentences.index(fact.quotes[0]) if fact.quotes[0] in fact.page.sentences else 0
    before = fact.page.sentences[place - 1] if place else ""
    follows = f"{before} {fact.quotes[0]}" in fact.page.text
    if fact.form == "span" and follows and _PRONOUN.match(fact.quotes[0]) and not _PRONOUN.match(before):
        yield bad(fact, whole=f"{before} {fact.quotes[0]}")
        yield replace(good(fact), quotes=(before, *fact.quotes))


def row_alone(fact: Fact, _: Others, _chance: random.Random) -> Iterator[Planted]:
    """A row of a table with several numbers, without the head that says what they are."""
    values = [cell for cell in fact.quotes[0].split("|") if re.search(r"\d", cell)]
    if fact.form == "cell" and fact.heads and len(values) > 1:
        yield from pair(fact, quotes=fact.quotes, whole="\n".join(fact.heads))


def given_denied(fact: Fact, _: Others, chance: random.Random) -> Iterator[Planted]:
    """A question that takes for granted the opposite of another sentence; the twin takes the sentence for granted."""
    rest = [
        " ".join(one.split()).rstrip(".")
        for one in fact.page.sentences
        if one not in fact.quotes
        and fact.answer not in one
        and len(one.split()) <= 25
        and AUXILIARY.search(one)
    ]
    if fact.form == "span" and rest:
        told = chance.choice(rest)
        denied = AUXILIARY.sub(r"\1 not", told, count=1)
        question = fact.question[:1].lower() + fact.question[1:]
        yield bad(fact, question=f"Given that {denied}, {question}")
        yield replace(good(fact), question=f"Given that {told}, {question}")


def nobody_named(fact: Fact, _: Others, chance: random.Random) -> Iterator[Planted]:
    """A question without the names that tell what it is about."""
    names = NAME.findall(fact.question)
    if fact.form == "span" and names and not re.search(r"\d", fact.question):
        question = NAME.sub(chance.choice(_NOBODY), fact.question)
        if not NAME.search(question):
            yield from pair(fact, question=question)


def _shared(question: str, sentence: str) -> int:
    return len({*content_stems(question)} & {*content_stems(sentence)})
