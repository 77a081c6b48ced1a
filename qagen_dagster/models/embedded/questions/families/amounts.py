"""Rules for questions about amounts: how many, how long, which measure, what value."""

from __future__ import annotations

import re
from collections.abc import Iterator

from qagen_dagster.models.embedded.questions.wording import Found, ask, ask_plural_subject
from qagen_dagster.models.embedded.text.clauses import Clause, solid, words
from qagen_dagster.models.embedded.text.nouns import is_duration, is_unit, number_of


def how_many(clause: Clause) -> Iterator[Found]:
    """The number of a counted thing."""
    for noun in clause.root.children:
        if (
            noun.dep_ not in ("dobj", "nsubj", "nsubjpass")
            or noun.tag_ not in ("NNS", "NNPS")
            or is_unit(noun)
        ):
            continue
        number = None if clause.root.lemma_ == "take" else number_of(noun)
        phrase = clause.within(noun)
        if number is None or not phrase or phrase[0] != number.left_edge.i or number.right_edge.i != number.i:
            continue
        answer = solid(clause.doc, [index for index in phrase if index <= number.i])
        if not answer or any(clause.doc[index].lower_ in (",", "each", "such") for index in phrase):
            continue
        if any(
            token.i > noun.i and token.dep_ == "nummod" and token.head.lemma_ == noun.lemma_
            for token in clause.doc
        ):
            continue  # two counts, as in "12 X under white lamps and 4 X under amber ones"
        things = words(clause.doc, [index for index in phrase if index > number.i])
        if noun.dep_ == "dobj":
            yield ask(clause, f"How many {things}", set(phrase)), answer, "how_many", "numeric", 0.8
        else:
            yield ask_plural_subject(clause, f"How many {things}"), answer, "how_many", "numeric", 0.8


def how_long(clause: Clause) -> Iterator[Found]:
    """A duration: for how long, how long it takes or lasts."""
    for child in clause.root.children:
        if (
            child.dep_ in ("dobj", "npadvmod", "attr")
            and clause.root.lemma_ in ("take", "last")
            and is_duration(child)
        ):
            yield (
                ask(clause, "How long", set(clause.within(child))),
                clause.span(child),
                "how_long",
                "numeric",
                0.85,
            )
        if child.dep_ == "prep" and child.lower_ == "for" and child.i > clause.root.i:
            noun = next((token for token in child.children if token.dep_ == "pobj"), None)
            if noun is not None and is_duration(noun):
                gap = [index for index in clause.within(noun) if index <= noun.i]
                yield (
                    ask(clause, "For how long", {child.i, *gap}),
                    solid(clause.doc, gap),
                    "how_long",
                    "numeric",
                    0.8,
                )


def measure(clause: Clause) -> Iterator[Found]:
    """The amount of a measure: "a beam angle of 8 degrees" gives "what beam angle"."""
    for noun in clause.root.children:
        if noun.dep_ != "dobj" or noun.pos_ != "NOUN":
            continue
        of = next((child for child in noun.children if child.dep_ == "prep" and child.lower_ == "of"), None)
        value = (
            next((child for child in of.children if child.dep_ == "pobj"), None) if of is not None else None
        )
        if (
            of is None
            or value is None
            or not re.match(
                r"(?:about |up to |at least |at most |less than |more than )?[\d±]", clause.span(value)
            )
        ):
            continue
        phrase = clause.within(noun)
        name = [index for index in phrase if index < of.i and clause.doc[index].dep_ != "det"]
        gap = set(phrase)
        if max(gap) == value.right_edge.i and not any(child.dep_ == "nummod" for child in noun.children):
            yield (
                ask(clause, f"What {words(clause.doc, name)}", gap),
                clause.span(value),
                "measure",
                "numeric",
                0.85,
            )


def be_value(clause: Clause) -> Iterator[Found]:
    """The value after "be": "The longest gap was 7 hours" gives "what was the longest gap"."""
    if clause.root.lemma_ != "be" or clause.auxiliaries or clause.negation is not None:
        return
    for child in clause.root.children:
        if child.dep_ in ("attr", "acomp") and child.i > clause.root.i:
            gap = [index for index in clause.kept if clause.root.i < index <= child.right_edge.i]
            answer = solid(clause.doc, gap)
            if clause.root.lower_ in ("are", "were") and clause.subject.tag_ == "NN":
                continue
            if any(clause.doc[index].tag_ == "CD" for index in clause.kept if index > child.right_edge.i):
                continue
            counted = any(token.tag_ == "CD" for token in child.subtree)
            following = child.right_edge.i + 1
            if any(token.dep_ == "conj" for token in child.subtree) or (
                following < len(clause.doc) and clause.doc[following].pos_ == "ADJ"
            ):
                continue
            if counted and (is_unit(child) or child.tag_ == "CD") and answer[:1].isalnum():
                yield ask(clause, "What", set(gap)), answer, "value", "numeric", 0.85
