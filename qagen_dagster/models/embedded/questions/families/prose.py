"""Rules for questions from the main clause of a sentence: who, when, where, why, what happens, what is it.

Each rule takes a clause and yields gaps. `wording.py` checks grammar, `filters.py` checks sense.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from spacy.tokens import Doc

from qagen_dagster.models.embedded.questions.families.amounts import how_long, how_many
from qagen_dagster.models.embedded.questions.wording import Found, ask, ask_subject
from qagen_dagster.models.embedded.text.clauses import Clause, solid, words
from qagen_dagster.models.embedded.text.nouns import is_date, is_named, is_plain_date
from qagen_dagster.models.embedded.text.vocabulary import word_set

_TELLING = word_set(
    "mean be have seem become appear show reveal indicate suggest illustrate depict represent demonstrate find compare"
)
_POINTING = word_set("this that these those")
_GENERIC = word_set(
    "result problem goal aim idea reason question issue point case difference purpose effect advantage answer approach method majority rest part half number fact "
    "way example objective task step thing factor exception consequence conclusion explanation possibility alternative"
)

# What may follow a definition: nothing, or a clause that only adds to it; not the rest of a list.
_REST = re.compile(r"(?:\(\S+\))?\W*(?:(?:which|who|whose|where|when|\w+ed|\w+ing)\b.*)?")


def who(clause: Clause) -> Iterator[Found]:
    """The person who did it: the subject, or the agent of a passive clause."""
    head = clause.subject
    rest = [clause.doc[index] for index in clause.kept if index > head.right_edge.i]
    full = sum(token.pos_ in ("NOUN", "PROPN", "NUM", "ADJ") for token in rest)
    if full >= 2 and clause.negation is None and clause.root.lemma_ not in _TELLING and is_named(head):
        yield ask_subject(clause, "Who"), clause.span(head), "who", "factual", 0.8
    for child in clause.root.children:
        for noun in child.children if child.dep_ == "agent" else ():
            if noun.dep_ == "pobj" and is_named(noun):
                gap = {child.i, *clause.within(noun)}
                yield ask(clause, "By whom", gap), clause.span(noun), "who", "factual", 0.7


def when(clause: Clause) -> Iterator[Found]:
    """The date of an event."""
    for child in clause.root.children if clause.root.lemma_ != "be" else ():
        for noun in child.children if child.dep_ == "prep" and child.lower_ in ("in", "on", "at") else ():
            answer, gap = clause.span(noun), set(clause.within(child))
            others = " ".join(clause.doc[index].text for index in clause.kept if index not in gap)
            # With two dates the question would be ambiguous.
            if noun.dep_ == "pobj" and answer and is_plain_date(answer) and not is_date(others):
                yield ask(clause, "When", gap), answer, "when", "temporal", 0.85


def why(clause: Clause) -> Iterator[Found]:
    """The stated reason."""
    doc, root = clause.doc, clause.root
    for child in root.children if clause.negation is None else ():
        if child.dep_ != "advcl" or child.i < root.i:
            continue
        if not any(token.dep_ == "mark" and token.lower_ == "because" for token in child.children):
            continue
        indices = [token.i for token in child.subtree]
        answer = solid(doc, indices)
        after = [index for index in clause.kept if index > indices[-1] and not doc[index].is_punct]
        if answer.startswith("because") and len(answer.split()) >= 4 and not after:
            yield ask(clause, "Why", set(indices)), answer, "why", "causal", 0.9


def what_happens(clause: Clause) -> Iterator[Found]:
    """The consequence of a condition at the beginning of the sentence; a rule, not a single past event."""
    doc, root = clause.doc, clause.root
    modal = any(token.tag_ == "MD" for token in clause.auxiliaries)
    if (
        root.lemma_ in ("be", "have", "seem", "remain")
        or modal
        or root.tag_ == "VBD"
        or doc[0].lower_ not in ("when", "if", "whenever")
    ):
        return
    for child in root.children:
        condition = [token.i for token in child.subtree]
        tokens = (child, *child.children)
        if (
            child.dep_ == "advcl"
            and condition[0] == 0
            and any(token.dep_ in ("nsubj", "nsubjpass") for token in child.children)
            and doc[condition[-1] + 1].text == ","
            and not any(token.tag_ == "VBD" for token in tokens)
            and not any(doc[index].tag_ in ("JJR", "RBR") for index in condition)
        ):
            answer = solid(doc, list(range(condition[-1] + 2, len(doc))))
            text = words(doc, condition)
            if len(answer.split()) >= 3:
                yield (
                    f"What happens {text[:1].lower()}{text[1:]}?",
                    answer,
                    "what_happens",
                    "procedural",
                    0.85,
                )


def definition(clause: Clause) -> Iterator[Found]:
    """The definition of a thing: "A sunshade is the white hood that ..." gives "what is a sunshade"."""
    if clause.root.lower_ not in ("is", "are") or clause.auxiliaries or clause.negation is not None:
        return
    noun, subject = clause.subject, clause.within(clause.subject)
    attribute = next(
        (child for child in clause.root.children if child.dep_ == "attr" and child.i > clause.root.i), None
    )
    if (
        attribute is None
        or attribute.pos_ != "NOUN"
        or not subject
        or len(subject) > 6
        or clause.kept[0] < subject[0]
        or not _is_term(clause.doc, subject)
        or attribute.lemma_ == noun.lemma_
    ):
        return
    kept = [index for index in clause.kept if clause.root.i < index <= attribute.right_edge.i]
    answer = solid(clause.doc, kept)
    shapes = {child.dep_ for child in attribute.children}
    definite = noun.pos_ == "NOUN" and any(child.lower_ == "the" for child in noun.children)
    introduced = attribute.tag_ == "NNS" or any(
        child.lower_ in ("a", "an", "the") for child in attribute.children
    )
    cut = (
        not kept
        or clause.doc[kept[0]].tag_ in ("RB", "RBS", "VBG", "IN")
        or not _REST.fullmatch(clause.doc[kept[-1] + 1 :].text)
    )
    if not introduced or cut or not shapes & {"relcl", "prep", "acl"} or len(answer.split()) < 4:
        return
    if (definite and "relcl" not in shapes) or any(child.dep_ == "conj" for child in noun.children):
        return
    if noun.pos_ in ("NOUN", "PROPN") and noun.lemma_.lower() not in _GENERIC:
        wh, gap = "Who" if is_named(noun) else "What", set(range(clause.root.i + 1, len(clause.doc)))
        yield ask(clause, wh, gap), answer, "definition", "definition", 0.9


def _is_term(doc: Doc, subject: list[int]) -> bool:
    """Whether the subject may be defined: no clause, no superlative, no label such as "term 1" or "the statistic T"."""
    first, last = doc[subject[0]], doc[subject[-1]].text
    phrase = [doc[index] for index in subject]
    clause = any(token.pos_ == "VERB" and token.dep_ not in ("amod", "compound") for token in phrase)
    chosen = any(token.tag_ in ("JJS", "RBS", "PDT") or token.ent_type_ == "ORDINAL" for token in phrase)
    whole = (
        first.pos_ not in ("ADV", "NUM")
        and first.tag_ != "PRP$"
        and first.lower_ not in ("all", "both", "every", "each", "any", "some")
    )
    return whole and not clause and not chosen and len(last) > 1 and not last[0].isdigit()


RULES = (who, when, how_many, how_long, why, what_happens, definition)


def questions(clause: Clause) -> Iterator[Found]:
    """The questions of all rules for one clause, unless it refers to earlier text."""
    if any(clause.doc[index].tag_ == "DT" and clause.doc[index].lower_ in _POINTING for index in clause.kept):
        return
    for rule in RULES:
        yield from (found for found in rule(clause) if found[0] and found[1])
