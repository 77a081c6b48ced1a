"""Detects English sentences without a claim: sentences about the document itself, and statements that the document lacks the answer.

The rules follow "QAGRedo Algorithm Report", sections 4.3.2 and 4.5, but are narrower: the text after an opening such as "According
to the document" is still graded.
"""

import re

from qagen_dagster.english.sentences import split
from qagen_dagster.english.words import named_words, tokens
from qagen_dagster.records.ids import normalise

_UNKNOWN = frozenset(
    {
        "", "unknown", "not known", "i don't know", "i do not know", "don't know", "n/a", "none", "no answer",
        "cannot be determined", "cannot be known", "not enough information",
    }
)  # fmt: skip
_SOURCE = (
    r"(?:(?:provided|given|above|supplied|source|attached) )?"
    r"(?:documents?|texts?|passages?|articles?|sources?|reports?|papers?|excerpts?|contexts?|information)"
    r"(?: (?:provided|given|above|supplied))?"
)
# Beginnings of verbs: `_SAYS` for what a source states, `_GIVES` for what it contains or lacks.
_SAYS = r"(?:stat|sa(?:y|id)|mention|note|indicat|explain|describ|report|show|suggest|specif|highlight|outlin|writ)\w{0,4}"
_GIVES = (
    r"(?:mention|stat|sa[iy]|specif|provid|contain|includ|giv|describ|discuss|address|indicat|cover|list|report|explain|ha(?:ve|s)|offer|clarif|"
    r"disclos|reveal|available|found|present|answer)\w{0,4}"
)
_ADVERB = r"(?:(?:also|clearly|explicitly|directly|specifically|further|only|actually|anywhere) ){0,2}"
_OPENING = re.compile(
    rf"(?:(?:according to|based on|per|in|from|as per) (?:the|this) {_SOURCE}|(?:according to|as per|based on) (?:it|this|that)|"
    rf"as {_ADVERB}{_SAYS}(?: (?:in|by) (?:the|this) {_SOURCE})?|(?:the|this) {_SOURCE} {_ADVERB}{_SAYS}(?: that)?|"
    rf"it is {_ADVERB}{_SAYS}(?: in (?:the|this) {_SOURCE})? that)(?:[,:] | (?!of )|$)",
    re.IGNORECASE,
)

_ABOUT = frozenset(named_words("about_documents"))
_META = _ABOUT | {*named_words("of_documents")}
_DEMONSTRATIVE = re.compile(r"(?:this|that|these|it) (?:is|are|refers? to|means?)\b", re.IGNORECASE)

_LACKS = r"(?:does not|doesn't|do not|don't|did not|didn't|never|fails? to)"
_IN = rf"(?:in|by|from|within|on|anywhere in) (?:the|this) {_SOURCE}"
_ABSENT = re.compile(
    rf"\b(?:(?:insufficient|not enough|not sufficient) information|(?:the|this) {_SOURCE} {_LACKS} {_ADVERB}{_GIVES}|"
    rf"(?:(?:not|nowhere|(?:is|are|was|were)n't) (?:{_ADVERB}{_GIVES} )?|cannot be \w+ ){_IN}|"
    rf"no (?:information|mention|details?|data|evidence) (?:(?:is|are|was|were) )?{_ADVERB}"
    rf"(?:{_GIVES} )?(?:(?:about|on|of|regarding|for|concerning) [^.;:]{{1,120}} )?{_IN})",
    re.IGNORECASE,
)
_UNSURE = re.compile(
    r"\b(?:i (?:do not|don't) know|i am not sure|i'm not sure|(?:cannot|can't|can not|could not|unable to) (?:be )?"
    r"(?:determined?|answer(?:ed)?|tell|say|be sure)|not possible to (?:determine|answer|say|tell))\b",
    re.IGNORECASE,
)
_COURTESY = re.compile(
    r"^(?:(?:unfortunately|sorry|i'm sorry|i am sorry|n/a|however)[,.]? (?:but )?|no[,.] )+", re.IGNORECASE
)
_TURN = re.compile(
    r"[;:,\u2014]|\b(?:but|however|although|though|while|whereas|yet|instead|because|except|only)\b|\band (?:he|she|it|they|the|this|its|his|her|their)\b",
    re.IGNORECASE,
)
_LISTED = re.compile(r"\b(?:or|nor)\b", re.IGNORECASE)


def is_generic(sentence: str) -> bool:
    """Whether the sentence only refers to the document or the answer. Nothing in such a sentence can be wrong."""
    words = tokens(sentence)
    if not words or not _META.issuperset(words):
        return False
    return bool(
        _ABOUT.intersection(words)
        or _OPENING.match(sentence.strip())
        or _DEMONSTRATIVE.match(sentence.strip())
    )


def claim_of(sentence: str) -> str:
    """The sentence without openings that only name its source (three at most); the whole sentence if no words would remain."""
    rest = sentence.strip()
    for _ in range(3):
        opening = _OPENING.match(rest)
        rest = rest[opening.end() :].strip() if opening else rest
    return rest if tokens(rest) else sentence.strip()


def is_refusal(sentence: str) -> bool:
    """Whether the sentence only states that the document lacks something, or "I don't know". "The document does
    not mention costs, but revenue was $5M" is not a refusal, because it makes a claim."""
    plain = _plain(sentence)
    if _UNSURE.fullmatch(plain.rstrip(".! ")):
        return True
    found = _ABSENT.search(plain)
    if found is None:
        return False
    before, after = claim_of(plain[: found.start()]), plain[found.end() :]
    if _OPENING.fullmatch(before) or _OPENING.fullmatch(before + " "):
        before = ""
    turn = _TURN.search(after)
    listed = turn is not None and turn.group() == "," and _LISTED.search(after, turn.end())
    return _TURN.search(before) is None and (turn is None or bool(listed))


def is_unsure(answer: str) -> bool:
    """Whether an answer admits not knowing: by a refusal, "I don't know" or "cannot be determined"."""
    plain = _plain(answer)
    return _UNSURE.search(plain) is not None or _ABSENT.search(plain) is not None


def _plain(text: str) -> str:
    flat = " ".join(text.replace("\u2019", "'").split())
    return _COURTESY.sub("", flat)


def says_nothing(answer: str) -> bool:
    """Whether `answer` is empty, or only states that the answer is unknown."""
    return normalise(answer).rstrip(".!") in _UNKNOWN


def abstained(answer: str) -> bool:
    """Whether the answer only states that there is no answer: it is empty or like "unknown", or each of its sentences declines."""
    sentences = [one.text for one in split(answer) if one.text.strip()]
    return says_nothing(answer) or (bool(sentences) and all(map(is_refusal, sentences)))
