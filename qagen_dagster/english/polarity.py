"""Finds denials and opposites: words that deny, pairs of poles such as "increase" and "decrease", and opposites of single words.

Opposites come from a list (the antonyms of WordNet 3.0, `opposites.txt`) or by form ("efficient", "inefficient").
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from importlib import resources

from qagen_dagster.english.words import is_content, listed, named_words, plain, stem, tokens

_DENIAL = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|cannot|without|fails?|failed|lacks?|lacked|unable|refus\w{1,4}|den(?:y|ies|ied))\b|n't\b",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\?\s*$|\bwhether\b|\bhypothes|\b(?:aim|objective|purpose|goal)s?\b[^.]{0,60}\b(?:was|is|were|are) to\b|\b(?:aims?|aimed|sought) to\b|^\W*to (?:determin|assess|"
    r"investigat|examin|evaluat|test|explor|study|clarif|establish|compar|identif|analy|describ|estimat|report|find out)",
    re.IGNORECASE,
)
_DENYING_VERBS = ("fail", "lack", "unable", "refus", "den")
_NO_DENIAL = re.compile(
    r"\b(?:not only|no doubt|no longer than|not just|not to mention|no\.|no \d)", re.IGNORECASE
)
_CLAUSE_END = re.compile(r"[,;:.!?()]|\b(?:but|although|though|however|because|while)\b", re.IGNORECASE)
SCOPE = 4  # maximum content words in the scope of a denial

_PAIRS = named_words("opposite_pairs")
_POLES: dict[str, set[tuple[int, int]]] = {}
for _axis, _pair in enumerate(_PAIRS):
    for _side, _members in enumerate(_pair.split("/")):
        for _member in _members.split(","):
            _POLES.setdefault(_member, set()).add((_axis, _side))
            _POLES.setdefault(stem(_member), set()).add((_axis, _side))


def polarities(text: str) -> dict[tuple[int, int], str]:
    """The polarities of `text`: for each axis and each side of it that the text names, the word that shows the side."""
    found: dict[tuple[int, int], str] = {}
    for token in tokens(text):
        for key in _POLES.get(token) or _POLES.get(stem(token)) or ():
            found.setdefault(key, token)
    return found


def _denials(text: str) -> Iterator[re.Match[str]]:
    exempt = {match.start() for match in _NO_DENIAL.finditer(text)}
    return (match for match in _DENIAL.finditer(text) if match.start() not in exempt)


@lru_cache(maxsize=50_000)
def negates(text: str) -> bool:
    """Whether the text denies something by grammar ("not", "without"). A negative verb ("failed") does not count."""
    return any(not match.group().lower().startswith(_DENYING_VERBS) for match in _denials(plain(text)))


def leaves_open(sentence: str) -> bool:
    """Whether a sentence asks or states an aim, so that it neither affirms nor denies its content."""
    return _OPEN.search(sentence) is not None


def denied(text: str) -> frozenset[str] | None:
    """The stems in the scope of a denial; None if there is no denial. The set is empty if no content word follows in the clause."""
    text = plain(text)
    found: set[str] | None = None
    for match in _denials(text):
        end = _CLAUSE_END.search(text, match.end())
        scope = text[match.end() : end.start() if end else len(text)]
        stems = [stem(token) for token in tokens(scope) if is_content(token)]
        found = {*(found or ()), *stems[:SCOPE]}
    return None if found is None else frozenset(found)


OPPOSITES_FILE = "opposites.txt"
_REST = 4  # minimum letters of a word without its prefix
_DENYING = listed("un in im ir il non dis mis anti counter de")
_PREFIXES = ["", *_DENYING, *listed("pre post over under hypo hyper")]
_EXCHANGED = [
    (prefix, other)
    for prefix in _PREFIXES
    for other in _PREFIXES
    if (prefix or other in _DENYING) and (other or prefix in _DENYING)
]


@lru_cache(maxsize=1)
def listed_opposites() -> dict[str, frozenset[str]]:
    """The words of the list `opposites.txt`, each with its opposites."""
    found: dict[str, set[str]] = {}
    text = resources.files("qagen_dagster.english").joinpath(OPPOSITES_FILE).read_text(encoding="utf-8")
    for line in text.splitlines():
        if not line.startswith("#"):
            left, right = line.split()
            found.setdefault(left, set()).add(right)
            found.setdefault(right, set()).add(left)
    return {word: frozenset(others) for word, others in found.items()}


@lru_cache(maxsize=20_000)
def opposites_of(word: str) -> frozenset[str]:
    """The opposites of a word, which must be in lower case. Some opposites by form are not words."""
    return listed_opposites().get(word, frozenset()) | by_form(word)


@lru_cache(maxsize=20_000)
def by_form(word: str) -> frozenset[str]:
    """The opposites that differ from a word only in a prefix. Most of them are not words."""
    found = (
        other + word.removeprefix(one)
        for one, other in _EXCHANGED
        if word.startswith(one) and len(word) - len(one) >= _REST
    )
    return frozenset(found) - {word}
