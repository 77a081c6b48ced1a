"""Rules for questions from the main clause of a sentence: who, what, when, where, how many, how long, why, what
happens.

Each rule takes a clause and yields gaps. `wording.py` checks grammar, `filters.py` checks sense.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from spacy.tokens import Token

from qagen_dagster.models.embedded.questions.families.amounts import be_value, how_long, how_many, measure
from qagen_dagster.models.embedded.questions.wording import Found, ask, ask_subject
from qagen_dagster.models.embedded.text.clauses import Clause, solid, words
from qagen_dagster.models.embedded.text.nouns import (
    HUMAN_NOUNS,
    is_date,
    is_organisation,
    is_person,
    is_place,
    is_plain_date,
    number_of,
)
from qagen_dagster.models.embedded.text.vocabulary import word_set

_LIGHT = word_set(
    "be have do make take give get go come seem appear become include contain show see note say mean involve remain"
)
_TELLING = word_set(
    "mean be have seem become appear show reveal indicate suggest illustrate depict represent demonstrate find compare"
)
_WHEN_PREPOSITIONS = word_set("in on at")
_WHERE_PREPOSITIONS = word_set("in at near on")


def subject(clause: Clause) -> Iterator[Found]:
    """Who or what performed the action."""
    head = clause.subject
    answer = clause.span(head)
    rest = [clause.doc[index] for index in clause.kept if index > head.right_edge.i]
    full = sum(token.pos_ in ("NOUN", "PROPN", "NUM", "ADJ") for token in rest)
    if not answer or full < 2 or clause.negation is not None or clause.root.lemma_ in _TELLING:
        return
    if is_person(head) and head.pos_ == "PROPN":
        role = answer.split()[0].lower() == "the"
        yield ask_subject(clause, "Who"), answer, "who", "factual", 0.6 if role else 0.8
    elif is_organisation(head):
        yield ask_subject(clause, "Which organization"), answer, "who", "factual", 0.55
    elif head.tag_ == "NN" and _is_general(head) and _is_specific(rest):
        human = head.lemma_.lower() in HUMAN_NOUNS
        if human or head.dep_ == "nsubj":
            yield (
                ask_subject(clause, "Who" if human else "What"),
                answer,
                "subject",
                "factual",
                0.45 + 0.1 * human,
            )


def _is_specific(rest: Iterable[Token]) -> bool:
    """Whether a number, a name or a date identifies the fact: without one, "what did X do" has many answers."""
    tokens = list(rest)
    return (
        any(token.tag_ == "CD" or token.pos_ == "PROPN" or token.ent_type_ for token in tokens)
        and len(tokens) >= 4
    )


def _is_general(head: Token) -> bool:
    """Whether the noun has an indefinite article or no determiner, so that the reader need not know it."""
    first = next((child for child in head.children if child.dep_ == "det"), None)
    return first is None or first.lower_ in ("a", "an")


def agent(clause: Clause) -> Iterator[Found]:
    """The agent of a passive clause."""
    for child in clause.root.children:
        if child.dep_ == "agent":
            for noun in child.children:
                if noun.dep_ == "pobj" and is_person(noun) and noun.pos_ == "PROPN":
                    gap = set(clause.within(noun))
                    yield ask(clause, "By whom", {child.i, *gap}), clause.span(noun), "who", "factual", 0.7


def direct_object(clause: Clause) -> Iterator[Found]:
    """The direct object."""
    complements = {child.dep_ for child in clause.root.children}
    if (
        clause.root.lemma_ in _LIGHT
        or clause.negation is not None
        or complements & {"xcomp", "ccomp", "oprd", "dative"}
    ):
        return
    if not any(child.dep_ in ("prep", "npadvmod") for child in clause.root.children):
        return
    for child in clause.root.children:
        if child.dep_ != "dobj" or child.pos_ not in ("NOUN", "PROPN") or number_of(child) is not None:
            continue
        if child.ent_type_ in ("GPE", "LOC", "FAC", "DATE", "TIME", "CARDINAL"):
            continue
        own = set(clause.within(child)) | set(clause.within(clause.subject))
        if not _is_specific(clause.doc[index] for index in clause.kept if index not in own):
            continue
        answer = clause.span(child)
        wh = "Who" if is_person(child) and child.ent_type_ else "What"
        if len(answer.split()) >= 2 or child.pos_ == "PROPN":
            yield ask(clause, wh, set(clause.within(child))), answer, "object", "factual", 0.4


def when(clause: Clause) -> Iterator[Found]:
    """The date."""
    for child in clause.root.children:
        noun = child
        if child.dep_ == "prep" and child.lower_ in _WHEN_PREPOSITIONS:
            noun = next((token for token in child.children if token.dep_ == "pobj"), child)
        elif child.dep_ != "npadvmod":
            continue
        answer = clause.span(noun)
        others = [clause.doc[index].text for index in clause.kept if index not in set(clause.within(child))]
        if is_date(" ".join(others)):
            continue  # with two dates the question would be ambiguous
        if answer and is_plain_date(answer) and noun.i != child.i:
            yield ask(clause, "When", set(clause.within(child))), answer, "when", "temporal", 0.85


def where(clause: Clause) -> Iterator[Found]:
    """The place."""
    for child in clause.root.children:
        if child.dep_ != "prep" or child.lower_ not in _WHERE_PREPOSITIONS or child.i < clause.root.i:
            continue
        noun = next((token for token in child.children if token.dep_ == "pobj"), None)
        if noun is not None and is_place(noun):
            yield ask(clause, "Where", set(clause.within(child))), clause.span(noun), "where", "factual", 0.75


def why(clause: Clause) -> Iterator[Found]:
    """The stated reason."""
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
    """The consequence of a condition."""
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
        bounded = any(token.dep_ in ("nsubj", "nsubjpass") for token in child.children)
        if not bounded or condition[-1] + 1 >= len(doc) or doc[condition[-1] + 1].text != ",":
            continue
        if child.tag_ == "VBD" or any(token.tag_ == "VBD" for token in child.children):
            continue  # a single past event, not a rule
        main = list(range(condition[-1] + 1, len(doc)))
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
    """The definition of a thing: "A sunshade is the white hood that ..." gives "what is a sunshade"."""
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
    if clause.subject.pos_ not in ("NOUN", "PROPN") or clause.subject.lemma_.lower() in _GENERIC:
        return
    yield (
        ask(
            clause,
            "Who" if is_person(clause.subject) else "What",
            set(range(clause.root.i + 1, len(clause.doc))),
        ),
        answer,
        "definition",
        "definition",
        0.9,
    )


_POINTING = word_set("this that these those")
_GENERIC = word_set(
    "result problem goal aim idea reason question issue point case difference purpose effect advantage answer approach method majority rest part half number fact "
    "way example objective task step thing factor exception consequence conclusion explanation possibility alternative"
)


def _is_bare_definite(noun: Token) -> bool:
    """Whether the noun is a bare definite such as "the antenna", known from earlier text."""
    children = list(noun.children)
    return noun.pos_ == "NOUN" and len(children) == 1 and children[0].lower_ == "the"


RULES = (
    subject, agent, direct_object, when, where, how_many, how_long, measure, be_value, why, what_happens, definition,
)  # fmt: skip


def questions(clause: Clause) -> Iterator[Found]:
    """The questions of all rules for one clause, unless it refers to earlier text."""
    if any(clause.doc[index].tag_ == "DT" and clause.doc[index].lower_ in _POINTING for index in clause.kept):
        return
    for rule in RULES:
        for found in rule(clause):
            if found[0] and found[1]:
                yield found
