"""Questions from the main clause of a sentence: who, what, when, where, how many, how long, why, what happens.

Each rule takes a clause and yields gaps; grammar is in `asking`, sense in `filters`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from spacy.tokens import Token

from qagen_dagster.models.embedded.asking import ask, ask_subject
from qagen_dagster.models.embedded.clauses import Clause, solid, words
from qagen_dagster.models.embedded.nouns import (
    is_date,
    is_duration,
    is_organisation,
    is_person,
    is_place,
    is_plain_date,
    is_unit,
    number_of,
)
from qagen_dagster.models.embedded.vocabulary import word_set

# question, answer, family, question type, quality
Found = tuple[str, str, str, str, float]

_LIGHT = word_set(
    "be have do make take give get go come seem appear become include contain show see note say mean involve remain"
)
_WHEN_PREPOSITIONS = word_set("in on at")
_WHERE_PREPOSITIONS = word_set("in at near on")


def subject(clause: Clause) -> Iterator[Found]:
    """Who or what did it."""
    head = clause.subject
    answer = clause.span(head)
    rest = [clause.doc[index] for index in clause.kept if index > head.right_edge.i]
    full = sum(token.pos_ in ("NOUN", "PROPN", "NUM", "ADJ") for token in rest)
    if not answer or full < 2 or clause.root.lemma_ in ("mean", "be", "have", "seem", "become", "appear"):
        return
    if is_person(head) and head.pos_ == "PROPN":
        yield ask_subject(clause, "Who"), answer, "who", "factual", 0.8
    elif is_organisation(head):
        yield ask_subject(clause, "Which organization"), answer, "who", "factual", 0.7
    elif (
        head.pos_ == "NOUN" and head.tag_ == "NN" and head.dep_ == "nsubj" and _is_general(head) and full >= 3
    ):
        yield ask_subject(clause, "What"), answer, "subject", "factual", 0.55


def _is_general(head: Token) -> bool:
    """A or an, or no determiner: a thing the reader need not know already."""
    first = next((child for child in head.children if child.dep_ == "det"), None)
    return first is None or first.lower_ in ("a", "an")


def agent(clause: Clause) -> Iterator[Found]:
    """By whom, in the passive."""
    for child in clause.root.children:
        if child.dep_ == "agent":
            for noun in child.children:
                if noun.dep_ == "pobj" and is_person(noun) and noun.pos_ == "PROPN":
                    gap = set(clause.within(noun))
                    yield _move_by(ask(clause, "Who", gap)), clause.span(noun), "who", "factual", 0.75


def _move_by(question: str) -> str:
    return re.sub(r" by(?= |\?)(.*)\?$", r"\1 by?", question, count=1)


def direct_object(clause: Clause) -> Iterator[Found]:
    """What it did something to."""
    complements = {child.dep_ for child in clause.root.children}
    if (
        clause.root.lemma_ in _LIGHT
        or clause.negation is not None
        or complements & {"xcomp", "ccomp", "oprd", "dative"}
    ):
        return
    if not any(child.dep_ in ("prep", "advcl", "npadvmod") for child in clause.root.children):
        return
    for child in clause.root.children:
        if child.dep_ != "dobj" or child.pos_ not in ("NOUN", "PROPN") or number_of(child) is not None:
            continue
        if child.ent_type_ in ("GPE", "LOC", "FAC", "DATE", "TIME", "CARDINAL"):
            continue
        answer = clause.span(child)
        wh = "Who" if is_person(child) and child.ent_type_ else "What"
        if len(answer.split()) >= 2 or child.pos_ == "PROPN":
            yield ask(clause, wh, set(clause.within(child))), answer, "object", "factual", 0.5


def when(clause: Clause) -> Iterator[Found]:
    """On which date."""
    for child in clause.root.children:
        noun = child
        if child.dep_ == "prep" and child.lower_ in _WHEN_PREPOSITIONS:
            noun = next((token for token in child.children if token.dep_ == "pobj"), child)
        elif child.dep_ != "npadvmod":
            continue
        answer = clause.span(noun)
        others = [clause.doc[index].text for index in clause.kept if index not in set(clause.within(child))]
        if is_date(" ".join(others)):
            continue  # two dates: which of them is asked would not be clear
        if answer and is_plain_date(answer) and noun.i != child.i:
            yield ask(clause, "When", set(clause.within(child))), answer, "when", "temporal", 0.85


def where(clause: Clause) -> Iterator[Found]:
    """In which place."""
    for child in clause.root.children:
        if child.dep_ != "prep" or child.lower_ not in _WHERE_PREPOSITIONS or child.i < clause.root.i:
            continue
        noun = next((token for token in child.children if token.dep_ == "pobj"), None)
        if noun is not None and is_place(noun):
            yield ask(clause, "Where", set(clause.within(child))), clause.span(noun), "where", "factual", 0.75


def how_many(clause: Clause) -> Iterator[Found]:
    """How many of a counted thing."""
    for noun in clause.root.children:
        if noun.dep_ not in ("dobj", "nsubj", "nsubjpass", "attr") or noun.tag_ not in ("NNS", "NNPS"):
            continue
        number = None if clause.root.lemma_ == "take" else number_of(noun)
        phrase = clause.within(noun)
        if number is None or not phrase or (noun.dep_ == "attr" and not _is_there(clause)):
            continue
        counted = {token.i for token in number.subtree}
        if number.right_edge.i != number.i or any(clause.doc[index].text == "," for index in phrase):
            continue
        front = [index for index in phrase if index < min(counted)]
        answer = solid(clause.doc, [index for index in phrase if index in counted])
        if (
            front
            or not answer
            or is_unit(noun)
            or any(clause.doc[index].lower_ == "each" for index in phrase)
        ):
            continue
        things = words(clause.doc, [index for index in phrase if index > max(counted)])
        if noun.dep_ == "nsubj" or noun.dep_ == "nsubjpass":
            yield ask_subject_as_is(clause, f"How many {things}"), answer, "how_many", "numeric", 0.8
        elif noun.dep_ == "dobj":
            yield ask(clause, f"How many {things}", set(phrase)), answer, "how_many", "numeric", 0.8


def _is_there(clause: Clause) -> bool:
    return clause.subject.dep_ == "expl"


def ask_subject_as_is(clause: Clause, wh: str) -> str:
    """The subject's question where the plural stays: "How many probes drift ...?"."""
    subject_tokens = clause.within(clause.subject)
    after = [index for index in clause.kept if index > subject_tokens[-1]]
    before = [index for index in clause.kept if index < subject_tokens[0]]
    lead = words(clause.doc, before)
    lead = (
        f" {lead[:1].lower()}{lead[1:]}"
        if lead and clause.doc[before[0]].pos_ != "PROPN"
        else f" {lead}"
        if lead
        else ""
    )
    return f"{wh} {words(clause.doc, after).rstrip('.')}{lead}?"


def how_long(clause: Clause) -> Iterator[Found]:
    """For how long, or how long it takes or lasts."""
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
    """ "a beam angle of 8 degrees": which beam angle."""
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
    """ "The longest gap was 7 hours": what was the longest gap."""
    if clause.root.lemma_ != "be" or clause.auxiliaries or clause.negation is not None:
        return
    for child in clause.root.children:
        if child.dep_ in ("attr", "acomp") and child.i > clause.root.i:
            answer = clause.span(child)
            counted = any(token.tag_ == "CD" for token in child.subtree)
            if any(token.dep_ == "conj" for token in child.subtree):
                continue
            if counted and (is_unit(child) or child.tag_ == "CD") and answer[:1].isalnum():
                yield ask(clause, "What", set(clause.within(child))), answer, "value", "numeric", 0.85


def why(clause: Clause) -> Iterator[Found]:
    """For which stated reason."""
    doc, root = clause.doc, clause.root
    for child in root.children:
        mark = next((token for token in child.children if token.dep_ == "mark"), None)
        if child.dep_ != "advcl" or child.i < root.i or mark is None or mark.lower_ != "because":
            continue
        indices = [token.i for token in child.subtree]
        answer = solid(doc, indices)
        last = [index for index in clause.kept if not doc[index].is_punct][-1]
        if (
            answer.startswith("because")
            and len(answer.split()) >= 4
            and last <= max(root.i, *[i for i in clause.kept if i < indices[0]])
        ):
            yield ask(clause, "Why", set(indices)), answer, "why", "causal", 0.9


def what_happens(clause: Clause) -> Iterator[Found]:
    """What follows a condition."""
    doc, root = clause.doc, clause.root
    if root.lemma_ in ("be", "have", "seem", "remain") or any(
        token.tag_ == "MD" for token in clause.auxiliaries
    ):
        return
    for child in root.children:
        mark = next(
            (
                token
                for token in child.children
                if token.dep_ in ("mark", "advmod") and token.i == child.left_edge.i
            ),
            None,
        )
        if (
            child.dep_ != "advcl"
            or child.i > root.i
            or mark is None
            or mark.lower_ not in ("when", "if", "whenever")
        ):
            continue
        condition = [token.i for token in child.subtree]
        main = [index for index in range(condition[-1] + 1, len(doc)) if doc[index].dep_ != "ROOT" or True]
        answer = solid(doc, _strip(clause, main))
        text = words(doc, condition)
        if condition[0] == 0 and answer and len(answer.split()) >= 3:
            yield f"What happens {text[:1].lower()}{text[1:]}?", answer, "what_happens", "procedural", 0.85


def _strip(clause: Clause, indices: list[int]) -> list[int]:
    while indices and clause.doc[indices[0]].is_punct:
        indices = indices[1:]
    while indices and clause.doc[indices[-1]].is_punct:
        indices = indices[:-1]
    return indices


def definition(clause: Clause) -> Iterator[Found]:
    """ "A sunshade is the white hood that ...": what is a sunshade."""
    if clause.root.lower_ not in ("is", "are") or clause.auxiliaries or clause.negation is not None:
        return
    subject_tokens = clause.within(clause.subject)
    attribute = next(
        (child for child in clause.root.children if child.dep_ == "attr" and child.i > clause.root.i), None
    )
    if attribute is None or attribute.pos_ != "NOUN" or len(subject_tokens) > 6 or not subject_tokens:
        return
    before = [index for index in clause.kept if index < subject_tokens[0]]
    answer = solid(
        clause.doc,
        [index for index in clause.kept if index > clause.root.i and index <= attribute.right_edge.i],
    )
    determined = any(
        child.dep_ == "det" and child.lower_ in ("a", "an", "the") for child in attribute.children
    )
    shapes = {child.dep_ for child in attribute.children}
    specified = bool(shapes & {"relcl", "prep", "acl"})
    if _is_bare_definite(clause.subject) and "relcl" not in shapes:
        return
    if any(child.dep_ == "conj" for child in clause.subject.children):
        return
    if before or not (determined or attribute.tag_ == "NNS") or not specified or len(answer.split()) < 4:
        return
    if clause.subject.pos_ not in ("NOUN", "PROPN"):
        return
    yield (
        ask(clause, "What", set(range(clause.root.i + 1, len(clause.doc)))),
        answer,
        "definition",
        "definition",
        0.9,
    )


def _is_bare_definite(noun: Token) -> bool:
    """ "the antenna": known from before, and nothing but its name."""
    children = list(noun.children)
    return noun.pos_ == "NOUN" and len(children) == 1 and children[0].lower_ == "the"


RULES = (
    subject,
    agent,
    direct_object,
    when,
    where,
    how_many,
    how_long,
    measure,
    be_value,
    why,
    what_happens,
    definition,
)


def questions(clause: Clause) -> Iterator[Found]:
    """Everything the rules find in one clause."""
    for rule in RULES:
        for found in rule(clause):
            if found[0] and found[1]:
                yield found
