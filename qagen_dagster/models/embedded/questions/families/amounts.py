"""Rules for questions about amounts: how many, how long."""

from __future__ import annotations

from collections.abc import Iterator

from qagen_dagster.models.embedded.questions.wording import Found, ask, ask_plural_subject
from qagen_dagster.models.embedded.text.clauses import Clause, solid, words
from qagen_dagster.models.embedded.text.nouns import is_duration, is_unit, number_of


def how_many(clause: Clause) -> Iterator[Found]:
    """The number of a counted thing."""
    doc = clause.doc
    for noun in clause.root.children:
        if (
            noun.dep_ not in ("dobj", "nsubj", "nsubjpass")
            or noun.tag_ not in ("NNS", "NNPS")
            or is_unit(noun)
            or clause.root.lemma_ == "do"
            or any(child.dep_ == "conj" for child in noun.children)
            or (noun.dep_ == "nsubj" and (clause.root.lemma_ == "be" or clause.root.tag_ == "VBZ"))
        ):
            continue
        number = None if clause.root.lemma_ == "take" else number_of(noun)
        phrase = clause.within(noun)
        if number is None or not phrase or phrase[0] != number.left_edge.i or number.right_edge.i != number.i:
            continue
        if is_unit(doc[number.i + 1]):  # "100 dpi fonts"
            continue
        answer = solid(doc, [index for index in phrase if index <= number.i])
        again = any(  # two counts, as in "12 X under white lamps and 4 X under amber ones"
            token.i > noun.i and token.dep_ == "nummod" and token.head.lemma_ == noun.lemma_ for token in doc
        )
        if not answer or again or any(doc[index].lower_ in (",", "each", "such") for index in phrase):
            continue
        asked = f"How many {words(doc, [index for index in phrase if index > number.i])}"
        question = (
            ask(clause, asked, set(phrase)) if noun.dep_ == "dobj" else ask_plural_subject(clause, asked)
        )
        yield question, answer, "how_many", "numeric", 0.8


def how_long(clause: Clause) -> Iterator[Found]:
    """A duration: for how long."""
    for child in clause.root.children:
        for noun in child.children if child.dep_ == "prep" and child.lower_ == "for" else ():
            if noun.dep_ == "pobj" and is_duration(noun) and child.i > clause.root.i:
                gap = [index for index in clause.within(noun) if index <= noun.i]
                question = ask(clause, "For how long", {child.i, *gap})
                yield question, solid(clause.doc, gap), "how_long", "numeric", 0.8
