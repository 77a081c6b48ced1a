"""Questions from the main clause of a sentence: who, when, how many, how long, why, what is it.

Each rule finds a gap in a clause, which is the answer. The functions above the rules word the question: inversion of the
auxiliary, "do", the order of adjuncts. `candidate_checks.py` decides whether a question makes sense.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from spacy.tokens import Token

from qagen_dagster.english.words import word_set
from qagen_dagster.models.embedded.text.grammar import (
    Clause,
    is_duration,
    is_named,
    is_plain_date,
    is_unit,
    number_of,
    solid,
    words,
)

# question, answer, family, question type, quality
Found = tuple[str, str, str, str, float]

_OPERATORS = {"'s": "is", "\u2019s": "is", "'re": "are", "'ve": "has", "'d": "had", "'ll": "will"}
_SINGULAR = {"are": "is", "have": "has", "do": "does", "were": "was"}


def ask(clause: Clause, wh: str, gap: set[int]) -> str:
    """The question for a gap outside the subject; empty if the clause cannot be inverted."""
    verbs = _verb_group(clause)
    if verbs is None or not _can_move(clause):
        return ""
    operator, rest = verbs
    subject = clause.within(clause.subject)
    if not clause.span(clause.subject):
        return ""
    before, middle, after = _around(clause, subject, gap)
    if any(clause.doc[index].pos_ not in ("ADV", "PART") for index in middle):
        return ""  # "Smith and Sons, having lost its mill, was sold"
    inner = range(clause.root.i + 1, after[0] + 1) if after else range(0)
    last = max((index for index in gap if not clause.doc[index].is_punct), default=0)
    if any(clause.doc[index].text in {",", ";", ":"} for index in inner if index not in gap or index > last):
        return ""
    name = _lower_first(clause.span(clause.subject), clause.doc[subject[0]])
    pieces = [
        wh,
        operator,
        name,
        words(clause.doc, middle),
        rest,
        words(clause.doc, after),
        _front(clause, before),
    ]
    return _close(pieces)


def ask_who(clause: Clause) -> str:
    """The question for a subject that is a person; empty if the verb would have to agree with a plural."""
    verbs = [*clause.auxiliaries, clause.root]
    first = verbs[0]
    if (first.tag_ == "VBP" and first.lower_ not in _SINGULAR) or not _can_move(clause):
        return ""
    subject = set(clause.within(clause.subject))
    before = [index for index in clause.kept if index < min(subject)]
    after = [index for index in clause.kept if index > max(subject)]
    if not after or clause.doc[after[0]].pos_ not in ("VERB", "AUX", "ADV", "PART"):
        return ""
    text = words(clause.doc, _trim(clause, after)).rstrip(".")
    noun = clause.subject
    plural = noun.tag_ in ("NNS", "NNPS") or any(child.dep_ == "conj" for child in noun.children)
    if plural and first.lower_ in _SINGULAR and first.tag_ in ("VBP", "VBD"):
        text = text.replace(first.text, _SINGULAR[first.lower_], 1)
    return _close(["Who", text, _front(clause, before)])


def _verb_group(clause: Clause) -> tuple[str, str] | None:
    """The fronted operator and the rest of the verb group."""
    root, auxiliaries = clause.root, clause.auxiliaries
    negation = clause.negation
    if negation is not None and negation.lower_ in ("n't", "n\u2019t", "never"):
        return None
    no = "not" if negation is not None else ""
    if auxiliaries:
        rest = [no, *(token.text for token in auxiliaries[1:]), root.text]
        first = auxiliaries[0].lower_
        return _OPERATORS.get(first, first), " ".join(filter(None, rest))
    if root.lemma_ == "be":
        return root.lower_, no
    do = {"VBD": "did", "VBZ": "does", "VBP": "do"}.get(root.tag_)
    if do is None:
        return None
    return do, " ".join(filter(None, [no, _LEMMAS.get(root.lemma_.lower(), root.lemma_.lower())]))


def _around(clause: Clause, subject: list[int], gap: set[int]) -> tuple[list[int], list[int], list[int]]:
    """Kept tokens before the subject, between it and the verb (adverbs), and after the verb."""
    skipped = {token.i for token in clause.auxiliaries} | {clause.root.i} | gap
    if clause.negation is not None:
        skipped.add(clause.negation.i)
    free = [index for index in clause.kept if index not in skipped]
    before = [index for index in free if index < subject[0]]
    middle = [index for index in free if subject[-1] < index < clause.root.i]
    after = [index for index in free if index > clause.root.i]
    while after and clause.doc[after[-1]].is_punct and clause.doc[after[-1]].text not in ')"”':
        after = after[:-1]
    return before, [index for index in middle if clause.doc[index].pos_ != "PUNCT"], after


def _trim(clause: Clause, indices: list[int]) -> list[int]:
    """The indices without punctuation that the gap left at either end."""
    while indices and clause.doc[indices[-1]].is_punct and clause.doc[indices[-1]].text not in ')"”':
        indices = indices[:-1]
    while indices and clause.doc[indices[0]].text in {",", ";", ":", "—"}:
        indices = indices[1:]
    return indices


def _front(clause: Clause, before: list[int]) -> str:
    """The words before the subject, for the end of the question."""
    if not before:
        return ""
    return _lower_first(words(clause.doc, _trim(clause, before)), clause.doc[before[0]])


def _can_move(clause: Clause) -> bool:
    """Whether the words before the subject can stand at the end: a short phrase, or a condition."""
    first = clause.within(clause.subject)[:1]
    front = [clause.doc[index] for index in clause.kept if first and index < first[0]]
    inner = front[:-1]
    if front and front[0].lower_ in ("if", "when", "whenever"):
        return True
    if front and all(token.pos_ in ("ADV", "PUNCT") for token in front):
        return False
    verb = any(token.pos_ in ("VERB", "AUX") for token in front)
    return len(front) <= 7 and not verb and not any(token.text == "," for token in inner)


def _lower_first(text: str, first: Token) -> str:
    """A sentence's first word in lower case, unless it is a name or more than a plain word."""
    named = (
        first.pos_ == "PROPN"
        or (first.head.pos_ == "PROPN" and first.dep_ == "compound")
        or first.ent_type_ in ("PERSON", "ORG", "GPE", "NORP", "LOC", "PRODUCT")
    )
    plain = re.fullmatch(r"A|[A-Z][a-z\u2019'-]+", first.text)
    if first.i > 0 or not plain or (named and first.lower_ not in ("the", "a", "an")):
        return text
    return text[:1].lower() + text[1:]


# Rule lemmas of the small model that are not English verbs.
_LEMMAS = {
    "instal": "install",
    "enrol": "enroll",
    "fulfil": "fulfill",
    "distil": "distill",
    "instil": "instill",
}


def _close(pieces: list[str]) -> str:
    text = " ".join(piece for piece in pieces if piece).strip(" ,;:.")
    return f"{text[:1].upper()}{text[1:]}?" if text else ""


def how_many(clause: Clause) -> Iterator[Found]:
    """How many of a thing the subject has or does. A counted subject gives no question: "two studies found" seldom means all studies."""
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
        yield ask_who(clause), clause.span(head), "who", "factual", 0.8
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
    described = any(child.dep_ in ("relcl", "prep", "acl") for child in attribute.children)
    kind = attribute.tag_ == "NNS" or any(child.dep_ in ("det", "poss") for child in attribute.children)
    if described and kind and len(answer.split()) >= 4 and _REST.fullmatch(rest):
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
