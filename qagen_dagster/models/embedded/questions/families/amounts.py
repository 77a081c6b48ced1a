"""Rules for questions about amounts: how many, how long."""

from __future__ import annotations

import re
from collections.abc import Iterator

from qagen_dagster.models.embedded.questions.wording import Found, ask
from qagen_dagster.models.embedded.text.clauses import Clause, solid, words
from qagen_dagster.models.embedded.text.nouns import is_duration, is_unit, number_of


def how_many(clause: Clause) -> Iterator[Found]:
    """How many of a thing the subject has or does; a counted subject ("two studies found") is seldom all there are."""
    doc, root = clause.doc, clause.root
    for noun in root.children:
        if (
            noun.dep_ != "dobj"
            or noun.tag_ not in ("NNS", "NNPS")
            or is_unit(noun)
            or clause.subject.dep_ == "nsubjpass"
            or root.lemma_ in ("do", "take")
            or any(child.dep_ == "conj" for child in noun.children)
        ):
            continue
        number, phrase = number_of(noun), clause.within(noun)
        if number is None or not phrase or phrase[0] != number.left_edge.i or number.right_edge.i != number.i:
            continue
        if is_unit(doc[number.i + 1]) or not number.whitespace_:  # "100 dpi fonts", "two-thirds"
            continue
        answer = solid(doc, [index for index in phrase if index <= number.i])
        asked = f"How many {words(doc, [index for index in phrase if index > number.i])}"
        again = any(  # two counts, as in "12 X under white lamps and 4 X under amber ones"
            token.i != noun.i and token.lemma_ == noun.lemma_ and number_of(token) is not None
            for token in doc
        )
        if not again and not re.search(r"[,;—\u2013]", asked):
            yield ask(clause, asked, set(phrase)), answer, "how_many", "numeric", 0.8


def how_long(clause: Clause) -> Iterator[Found]:
    """A duration: for how long."""
    for child in clause.root.children:
        for noun in child.children if child.dep_ == "prep" and child.lower_ == "for" else ():
            if noun.dep_ == "pobj" and is_duration(noun) and child.i > clause.root.i:
                gap = [index for index in clause.within(noun) if index <= noun.i]
                question = ask(clause, "For how long", {child.i, *gap})
                yield question, solid(clause.doc, gap), "how_long", "numeric", 0.8
