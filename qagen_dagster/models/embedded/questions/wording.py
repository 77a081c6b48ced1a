"""Wording of an English question from a clause with a gap: auxiliary inversion, do-support, order of adjuncts."""

from __future__ import annotations

import re

from spacy.tokens import Token

from qagen_dagster.models.embedded.text.clauses import Clause, words

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


def ask_subject(clause: Clause, wh: str) -> str:
    """The question for the subject; empty if the verb would have to agree with a plural."""
    verbs = [*clause.auxiliaries, clause.root]
    first = verbs[0]
    plural = first.tag_ == "VBP"
    if (plural and first.lower_ not in _SINGULAR) or not _can_move(clause):
        return ""
    subject = set(clause.within(clause.subject))
    before = [index for index in clause.kept if index < min(subject)]
    after = [index for index in clause.kept if index > max(subject)]
    if not after or clause.doc[after[0]].pos_ not in ("VERB", "AUX", "ADV", "PART"):
        return ""
    text = words(clause.doc, _trim(clause, after)).rstrip(".")
    if first.lower_ in _SINGULAR and first.tag_ in ("VBP", "VBD") and _is_plural(clause.subject):
        text = text.replace(first.text, _SINGULAR[first.lower_], 1)
    return _close([wh, text, _front(clause, before)])


def _is_plural(token: Token) -> bool:
    return token.tag_ in ("NNS", "NNPS") or any(child.dep_ == "conj" for child in token.children)


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
