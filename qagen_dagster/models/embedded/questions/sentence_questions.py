"""Questions from the main clause of a sentence. Each rule cuts a phrase, the gap, out of a clause. The phrase is the answer.

The functions above the rules word the question: inversion of the auxiliary, "do", the order of adjuncts, and the adjuncts to drop from
a long question. `candidate.py` decides whether a question makes sense.
"""

import re
from collections.abc import Iterator

from spacy.tokens import Token

from qagen_dagster.english.words import word_set
from qagen_dagster.models.embedded.text.grammar import (
    Clause,
    is_named,
    is_plain_date,
    is_unit,
    number_of,
    solid,
    words,
)

# question, answer, family, question type, quality
Found = tuple[str, str, str, str, float]

MOST_WORDS = 5  # content words above which a question loses adjuncts, as far as it has any
LONGEST_ANSWER = 8  # maximum words of an answer to "what"
_OPERATORS = {"'s": "is", "\u2019s": "is", "'re": "are", "'ve": "has", "'d": "had", "'ll": "will"}
_CONDITIONS = word_set("if when whenever unless while where than as without except only")
_TIMES = ("DATE", "TIME")


def ask(clause: Clause, wh: str, gap: set[int], *, numeric: bool = False) -> str:
    """The question for a gap outside the subject; empty if the clause cannot be worded as a question."""
    verbs = _verb_group(clause)
    subject = clause.within(clause.subject)
    if verbs is None or not clause.span(clause.subject) or "," in clause.span(clause.subject):
        return ""
    operator, rest = verbs
    out = gap | _adjuncts(clause, gap, numeric=numeric)
    skipped = out | {token.i for token in clause.auxiliaries} | {clause.root.i}
    free = [index for index in clause.kept if index not in skipped]
    before = _trim(clause, [index for index in free if index < subject[0]])
    middle = [
        index for index in free if subject[-1] < index < clause.root.i and not clause.doc[index].is_punct
    ]
    after = _trim(clause, [index for index in free if index > clause.root.i])
    if any(clause.doc[index].pos_ not in ("ADV", "PART") for index in middle):
        return ""  # "Smith and Sons, having lost its mill, was sold"
    if any(clause.doc[index].text in {",", ";", ":"} for index in after):
        return ""
    name = _lower_first(clause.span(clause.subject), clause.doc[subject[0]])
    doc = clause.doc
    return _close([wh, operator, name, words(doc, middle), rest, words(doc, after), _front(clause, before)])


def ask_subject(clause: Clause, wh: str) -> str:
    """The question for the subject; empty if the verb is plural in form, or too little is left."""
    first = [*clause.auxiliaries, clause.root][0]
    if first.tag_ == "VBP":
        return ""
    subject = set(clause.within(clause.subject))
    out = subject | _adjuncts(clause, subject)
    before = _trim(clause, [index for index in clause.kept if index < min(subject) and index not in out])
    after = _trim(clause, [index for index in clause.kept if index > max(subject) and index not in out])
    verbs = {clause.root.i, *(token.i for token in clause.auxiliaries)}
    if not after or not (after[0] in verbs or clause.doc[after[0]].pos_ in ("ADV", "PART")):
        return ""  # the parse is wrong: "The Levant followed by Mesopotamia are ..."
    text = words(clause.doc, after).rstrip(".")
    return _close([wh, text, _front(clause, before)])


def _adjuncts(clause: Clause, gap: set[int], *, numeric: bool = False) -> set[int]:
    """The adjuncts that are dropped until MOST_WORDS content words are left: first those before the verb, then the last ones after it.
    Conditions are kept. With `numeric`, times are kept, too, because a number may differ at another time."""
    doc, root, gone = clause.doc, clause.root, set[int]()
    left = [index for index in clause.kept if index not in gap]
    found = [
        child
        for child in root.children
        if child.dep_ in ("prep", "advmod", "npadvmod", "advcl")
        and child.left_edge.i != root.i + 1  # words directly after the verb belong to it
        and not gap.intersection(token.i for token in child.subtree)
        and not any(token.lower_ in _CONDITIONS or token.dep_ == "neg" for token in child.subtree)
        and not any(token.lower_ in ("case", "event") for token in child.children)  # "in case of"
        and not (numeric and any(token.ent_type_ in _TIMES or token.like_num for token in child.subtree))
    ]
    for child in sorted(found, key=lambda one: (one.i > root.i, -one.i)):
        if sum(_is_full(doc[index]) for index in left if index not in gone) <= MOST_WORDS:
            break
        gone.update(token.i for token in child.subtree)
    return gone


def _is_full(token: Token) -> bool:
    """Whether the word carries meaning."""
    return token.pos_ in ("NOUN", "PROPN", "VERB", "ADJ", "NUM", "ADV") and not token.is_stop


def _verb_group(clause: Clause) -> tuple[str, str] | None:
    """The auxiliary that moves before the subject, and the rest of the verb group; None if the verb cannot be turned."""
    root, auxiliaries = clause.root, clause.auxiliaries
    if auxiliaries:
        first = auxiliaries[0].lower_
        return _OPERATORS.get(first, first), " ".join(token.text for token in (*auxiliaries[1:], root))
    if root.lemma_ == "be":
        return root.lower_, ""
    do = {"VBD": "did", "VBZ": "does", "VBP": "do"}.get(root.tag_)
    wrong = root.tag_ == "VBZ" and clause.subject.tag_ in ("NNS", "NNPS")  # parsed, or written
    return (do, root.lemma_.lower()) if do and not wrong else None


def _trim(clause: Clause, indices: list[int]) -> list[int]:
    """The indices without punctuation that the gap left at either end."""
    while indices and clause.doc[indices[-1]].is_punct and clause.doc[indices[-1]].text not in ')"”':
        indices = indices[:-1]
    while indices and clause.doc[indices[0]].text in {",", ";", ":", "—"}:
        indices = indices[1:]
    return indices


def _front(clause: Clause, before: list[int]) -> str:
    """The words before the subject, which move to the end of the question."""
    return _lower_first(words(clause.doc, before), clause.doc[before[0]]) if before else ""


def _lower_first(text: str, first: Token) -> str:
    """The text, beginning in lower case if `first` begins a sentence and is a plain word, not a name."""
    named = (
        first.pos_ == "PROPN"
        or (first.head.pos_ == "PROPN" and first.dep_ == "compound")
        or first.ent_type_ in ("PERSON", "ORG", "GPE", "NORP", "LOC", "PRODUCT")
    )
    plain = re.fullmatch(r"A|[A-Z][a-z\u2019'-]+", first.text)
    if first.i > 0 or not plain or (named and first.lower_ not in ("the", "a", "an")):
        return text
    return text[:1].lower() + text[1:]


def _close(pieces: list[str]) -> str:
    text = " ".join(piece for piece in pieces if piece).strip(" ,;:.")
    return f"{text[:1].upper()}{text[1:]}?" if text else ""


_LIGHT = word_set(  # verbs whose object says little, or that have many objects
    "have do take get give include contain involve see say mean become make consider require need want say be"
)
_MANY = word_set(  # words that make a noun phrase one of several
    "some several many few most other another such any various certain more one two three all both each every no whatever"
)
_PARTICLE = re.compile(r"(?i:the|of|and|for|de|van|von)|Ma?c[A-Z]\w+")
_POSSESSIVE = re.compile(r"['\u2019]s\Z")


def _is_of_persons(word: str) -> bool:
    """Whether a word of a name can be of a person or an organisation. "SciPy", "LRC" and "3" are mostly of other things."""
    return bool(_PARTICLE.fullmatch(word)) or _POSSESSIVE.sub("", word).istitle()


def _thing(clause: Clause, noun: Token) -> tuple[str, str]:
    """The question words for a noun phrase, such as "Which protein", and the answer; both are empty if the phrase is not a good answer."""
    phrase = clause.within(noun)
    answer = solid(clause.doc, phrase)
    inner = [clause.doc[index] for index in phrase]
    if (
        noun.pos_ not in ("NOUN", "PROPN")
        or not 1 <= len(answer.split()) <= LONGEST_ANSWER
        or any(token.lower_ in _MANY or token.pos_ == "PRON" for token in inner)
        or (inner[0].lower_ in ("the", "an", "a") and len(inner) == 2 and noun.pos_ == "NOUN")
    ):
        return "", ""
    if noun.pos_ == "NOUN" and (
        sum(map(_is_full, inner)) < 2 or (len(inner) < 4 and inner[0].lower_ != "the")
    ):
        return "", ""  # "the Secretary", "values", "remarkable performance"
    acts = noun.dep_ == "nsubj" and clause.root.lemma_ != "be"  # then an organisation is also a "who"
    if is_named(noun) or (noun.pos_ == "PROPN" and noun.ent_type_ in ("PERSON", "ORG")[: 1 + acts]):
        return "Who" if all(map(_is_of_persons, answer.split())) else "What", answer
    return "What", answer


def who(clause: Clause) -> Iterator[Found]:
    """Questions whose answer is the subject, a person or an acting organisation. With other subjects, the rest would reveal the answer."""
    root, noun = clause.root, clause.subject
    rest = [clause.doc[index] for index in clause.kept if index > noun.right_edge.i]
    wh, answer = _thing(clause, noun)
    sure = wh == "Who" and " " in answer  # a single word may be software: "Sass"
    does = sure and root.lemma_ not in ("be", "have", "say", "include", "contain", "mean")
    if does and sum(map(_is_full, rest)) >= 3:
        yield ask_subject(clause, "Which person" if is_named(noun) else wh), answer, "who", "factual", 0.65


_OTHER_PARTS = ("ccomp", "xcomp", "dative", "oprd", "advcl", "prt")


def thing(clause: Clause) -> Iterator[Found]:
    """Questions whose answer is the object of the verb, if the clause has none of `_OTHER_PARTS`."""
    parts = [one for one in clause.root.children if one.i in clause.kept and one.i > clause.root.i]
    plain = clause.root.lemma_ not in _LIGHT and not any(one.dep_ in _OTHER_PARTS for one in parts)
    for noun in (one for one in parts if plain and one.dep_ == "dobj"):
        wh, answer = _thing(clause, noun)
        if wh and number_of(noun) is None and not any(child.dep_ == "conj" for child in noun.children):
            asked = ask(clause, wh, set(clause.within(noun)), numeric=any(map(str.isdigit, answer)))
            yield asked, answer, "object", "factual", 0.8


def when(clause: Clause) -> Iterator[Found]:
    """Questions whose answer is the date of an event."""
    for child in clause.root.children if clause.root.lemma_ != "be" else ():
        for noun in child.children if child.dep_ == "prep" and child.lower_ in ("in", "on", "at") else ():
            answer, gap = clause.span(noun), set(clause.within(child))
            if noun.dep_ == "pobj" and answer and is_plain_date(answer):
                wh = "In what year" if answer.isdigit() else "When"
                yield ask(clause, wh, gap), answer, "when", "temporal", 0.7


def how_many(clause: Clause) -> Iterator[Found]:
    """Questions whose answer is a count in the predicate. A counted subject gives none: "two studies found" seldom means all studies."""
    doc, root = clause.doc, clause.root
    for noun in root.children:
        if (
            noun.dep_ != "dobj"
            or is_unit(noun)
            or root.lemma_ in ("do", "take")
            or clause.subject.dep_ == "nsubjpass"
        ):
            continue
        number, phrase = number_of(noun), clause.within(noun)
        if (
            number is None
            or noun.tag_ not in ("NNS", "NNPS")
            or any(child.dep_ == "conj" for child in noun.children)
        ):
            continue
        if not phrase or phrase[0] != number.left_edge.i or number.right_edge.i != number.i:
            continue
        if is_unit(doc[number.i + 1]) or not number.whitespace_:  # "100 dpi fonts", "two-thirds"
            continue
        asked = f"How many {words(doc, [index for index in phrase if index > number.i])}"
        again = any(  # two counts, as in "12 X under white lamps and 4 X under amber ones"
            token.i != noun.i and token.lemma_ == noun.lemma_ and number_of(token) is not None
            for token in doc
        )
        if not again and not re.search(r"[,;—\u2013]", asked):
            answer = solid(doc, [index for index in phrase if index <= number.i])
            yield ask(clause, asked, set(phrase), numeric=True), answer, "how_many", "numeric", 0.85


def why(clause: Clause) -> Iterator[Found]:
    """Questions whose answer is the stated reason."""
    for child in clause.root.children:
        if child.dep_ != "advcl" or child.i < clause.root.i or child.left_edge.lower_ != "because":
            continue
        indices = [token.i for token in child.subtree]
        if not any(index > indices[-1] and not clause.doc[index].is_punct for index in clause.kept):
            yield ask(clause, "Why", set(indices)), solid(clause.doc, indices), "why", "causal", 0.9


_OF_OTHERS = word_set(
    "cause part example result way step reason issue problem factor signal sign member"
)  # no kinds


def _told(clause: Clause) -> str:
    """The question for all that follows the verb; empty if the sentence does not begin with its subject."""
    first = clause.within(clause.subject)[0]
    return (
        ask(clause, "What", {index for index in clause.kept if index > clause.root.i})
        if first == clause.kept[0]
        else ""
    )


def definition(clause: Clause) -> Iterator[Found]:
    """Questions for what the subject is, if "is a ..." tells it in at least four words with a meaning of their own."""
    doc, root, subject = clause.doc, clause.root, clause.subject
    names = [doc[index] for index in clause.within(subject)]
    plain = all(one.pos_ in ("NOUN", "PROPN", "ADJ", "PUNCT") or one.lower_ in ("a", "an") for one in names)
    is_a = plain and root.lower_ in ("is", "are") and not clause.auxiliaries and len(subject.text) > 1
    for noun in root.children if is_a else ():
        phrase = clause.within(noun) if noun.dep_ == "attr" and noun.lower_ not in _OF_OTHERS else []
        first = doc[phrase[0]].lower_ if phrase else "the"
        told = first in ("a", "an") or (root.lower_ == "are" and first != "the")
        if told and sum(_is_full(doc[index]) for index in phrase) > 3:
            yield _told(clause), solid(doc, phrase), "definition", "factual", 0.95


def property_of(clause: Clause) -> Iterator[Found]:
    """Questions for a property of something: "What is the aim of the project?"."""
    doc, subject, root = clause.doc, clause.subject, clause.root
    of = subject.left_edge.lower_ == "the" and any(child.lower_ == "of" for child in subject.children)
    after = [index for index in clause.kept if index > root.i]
    told = {child.dep_ for child in root.children if child.i > root.i} & {"attr", "xcomp", "ccomp"}
    known = of and told and root.lemma_ == "be" and not clause.auxiliaries
    if known and doc[after[0]].lower_ not in ("a", "an", "not"):
        yield _told(clause), solid(doc, after), "property", "factual", 0.9


RULES = (definition, property_of, who, thing, when, how_many, why)
_DEMONSTRATIVES = word_set("this that these those")


def questions(clause: Clause) -> Iterator[Found]:
    """The questions of all rules for one clause, none if it denies something, or refers to earlier text by a word like "this"."""
    denied = any(child.dep_ == "neg" for child in clause.root.children)
    if denied or any(
        clause.doc[index].tag_ == "DT" and clause.doc[index].lower_ in _DEMONSTRATIVES
        for index in clause.kept
    ):
        return
    for rule in RULES:
        yield from (found for found in rule(clause) if found[0] and found[1])
