"""Rules for questions from the main clause of a sentence: who, when, how many, how long, why, what is it.

Each rule takes a clause and yields gaps. `wording.py` checks grammar, `filters.py` checks sense.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from qagen_dagster.english.words import word_set
from qagen_dagster.models.embedded.questions.families.amounts import how_long, how_many
from qagen_dagster.models.embedded.questions.wording import Found, ask, ask_subject
from qagen_dagster.models.embedded.text.clauses import Clause, solid
from qagen_dagster.models.embedded.text.nouns import is_named, is_plain_date

_POINTING = word_set("this that these those")
_PARTS = word_set("the all both every each any some")  # "the change" is known from the text before
_CHOOSING = frozenset({"JJS", "RBS", "PDT", "PRP$"})
# What may follow a definition: a clause or a phrase that only adds to it, not the rest of a list.
_REST = re.compile(
    r"(?: ?\(\S+\))?\W*(?:(?<=, )(?:which|who|whose|where|when|to|even|if|as|because|although|while|for|with|\w+ed|\w+ing)\b.*)?"
)


def who(clause: Clause) -> Iterator[Found]:
    """The person who did it: the subject, or the agent of a passive clause."""
    head = clause.subject
    rest = [clause.doc[index] for index in clause.kept if index > head.right_edge.i]
    full = sum(token.pos_ in ("NOUN", "PROPN", "NUM", "ADJ") for token in rest)
    if (
        full >= 2
        and clause.negation is None
        and clause.root.lemma_ not in ("be", "have", "say")
        and is_named(head)
    ):
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
            if noun.dep_ == "pobj" and answer and is_plain_date(answer):
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
        after = any(index > indices[-1] and not doc[index].is_punct for index in clause.kept)
        if answer.startswith("because") and not after:
            yield ask(clause, "Why", set(indices)), answer, "why", "causal", 0.9


def definition(clause: Clause) -> Iterator[Found]:
    """The definition of a thing: "A sunshade is the white hood that ..." gives "what is a sunshade"."""
    doc, root, noun = clause.doc, clause.root, clause.subject
    subject = clause.within(noun)
    attribute = next((child for child in root.children if child.dep_ == "attr" and child.i > root.i), None)
    if root.lower_ not in ("is", "are") or clause.auxiliaries or clause.negation is not None:
        return
    if attribute is None or attribute.pos_ != "NOUN" or not _is_term(clause, subject):
        return
    answer = solid(doc, [index for index in clause.kept if root.i < index <= attribute.right_edge.i])
    rest = doc.text[doc.text.find(answer, doc[root.i].idx) + len(answer) :]
    told = any(child.dep_ in ("relcl", "prep", "acl") for child in attribute.children)
    kind = attribute.tag_ == "NNS" or any(child.dep_ in ("det", "poss") for child in attribute.children)
    if told and kind and len(answer.split()) >= 4 and _REST.fullmatch(rest):
        gap = set(range(root.i + 1, len(doc)))
        yield ask(clause, "Who" if is_named(noun) else "What", gap), answer, "definition", "definition", 0.9


def _is_term(clause: Clause, subject: list[int]) -> bool:
    """Whether the subject may be defined: no clause, no list, no one thing of several, no label such as "term 1"."""
    noun, phrase = clause.subject, [clause.doc[index] for index in subject]
    if not phrase or clause.kept[0] < subject[0] or noun.pos_ not in ("NOUN", "PROPN"):
        return False
    first, last = phrase[0], phrase[-1].text
    listed = any(child.dep_ == "conj" for child in noun.children)
    verb = any(token.pos_ == "VERB" and token.dep_ not in ("amod", "compound") for token in phrase)
    chosen = any(token.tag_ in _CHOOSING or token.ent_type_ == "ORDINAL" for token in phrase)
    chosen |= first.pos_ in ("ADV", "NUM") or (noun.pos_ == "NOUN" and first.lower_ in _PARTS)
    return not (listed or verb or chosen) and len(last) > 1 and not last[0].isdigit()


RULES = (who, when, how_many, how_long, why, definition)


def questions(clause: Clause) -> Iterator[Found]:
    """The questions of all rules for one clause, unless it refers to earlier text."""
    if any(clause.doc[index].tag_ == "DT" and clause.doc[index].lower_ in _POINTING for index in clause.kept):
        return
    for rule in RULES:
        yield from (found for found in rule(clause) if found[0] and found[1])
