"""Finds, without a parser, what a question asks for, and who does what to whom in the question."""

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from qagen_dagster.english.facts import facts
from qagen_dagster.english.words import plain, stem, tokens, word_set

_AUX = word_set(
    "is are was were be been being do does did has have had can could may might must shall should will would"
)
BE = word_set("is are was were be been being get gets got gotten")
_BEFORE_DEEDS = _AUX - BE | {"who", "what"}  # words that may stand directly before a deed, see `_has_deed`
_WH = word_set("what which who whom whose when where why how")
_PREPOSITIONS = word_set(
    "about above across after against along among around as at before behind below beneath beside besides between beyond by "
    "despite down during for from in inside into near of off on onto out outside over per since than through throughout "
    "till to toward towards under until up upon via with within without"
)
_OTHER = word_set("and or but if that this these those there it its their his her not no also and/or")
FUNCTION = _AUX | _WH | _PREPOSITIONS | _OTHER
# Words that another wording may add or leave out.
_EMPTY = FUNCTION - _PREPOSITIONS | word_set("at by for in of on")
_DROPPED = word_set("a an the please exactly")
_DO = (("did",), ("does",), ("do",))  # parts of a frame, see `Form`
_ALIKE = {"which": "what", "till": "until", "upon": "on", "cannot": "not"}  # the first is read as the second
# Stems of words that ask for a quantity after "how".
_QUANTITY = frozenset(
    map(
        stem,
        word_set(
            "many much long old high tall deep far fast heavy big large wide often strong hot cold great soon thick quickly"
        ),
    )
)
# The kind of answer that a noun after "what" asks for, by the stem of the noun.
_HEADS = {
    stem(word): kind
    for kind, words in {
        "time": "year date day month",
        "place": "city country place town village location",
        "person": "person author inventor",
        "quantity": "number percentage proportion share amount duration length height width depth weight",
        "reason": "reason purpose cause ground",
    }.items()
    for word in words.split()
}
_BRITISH = re.compile(r"(?<=\w{3})is(?=(?:e|ed|es|er|ing|ation)$)")
_SHORT_IS = re.compile(r"\b(what|who|where|when|how|that|there)['\u2019]s\b", re.IGNORECASE)
_SYMBOLS = re.compile(r"(?<![\w-])--?(?=\w)|[^\w\s.,;:?!'\"()\u2018\u2019\u201c\u201d-]")

# The words of openings that say nothing about the subject: "Could you tell me", "I'm not sure:".
_CHAT = word_set(
    "i i'm i'd i've i'll me my we us our you your it's that's hello hi hey dear please thanks thank sorry excuse so well ok okay not no now "
    "just quite really also and but or if the a an of to for about on can could would will may might shall do does did am is are "
    "be been have has had was don't can't cannot couldn't anyone anybody someone somebody here there this that "
    "sure unsure certain clear know knows knew tell say explain wonder wondering wondered ask asking like want need understand "
    "remember recall confused curious question questions help quick quickly exactly idea any one more again"
)
# An opening counts as chat only if it has one of these words.
_PERSON = word_set(
    "i i'm i'd i've i'll me my we us our you your hello hi hey please thanks sorry anyone anybody someone"
)
# A question word. The question itself begins with the first question word.
_TOPIC = re.compile(r"\b(?:what|which|who|whom|whose|when|where|why|how)\b", re.IGNORECASE)

# Words in order. A run of a question is a longest sequence of its words without a function word.
Run = tuple[str, ...]


@dataclass(frozen=True)
class Form:
    """The words of one question, in several arrangements.

    Function words (`FUNCTION`) are whole, and other words are stems. Each number or date is one word in a
    standard spelling.
    """

    words: Run  # all words in order, except articles, "please" and "exactly"
    symbols: tuple[str, ...]  # characters other than ordinary punctuation, sorted: "--", "%", "+"
    asked: str  # "time", "place", "person", "quantity", "reason", "manner", or "" for anything
    content: Counter[str]  # without function words that say little
    frame: Run  # function words in order, with an underscore for each run between them
    runs: tuple[tuple[str, Run], ...]  # each run, after the function word before it ("" if there is none)
    passive: bool  # whether the question has "by" and a form of "be"


@lru_cache(maxsize=50_000)
def without_opening(question: str) -> str:
    """The question without a chatty opening, such as "Could you tell me".

    An opening is the text before the first question word. It is chatty if it has only words of `_CHAT`,
    and at least one of them is in `_PERSON`. Any other question is returned unchanged.
    """
    asked = _TOPIC.search(question)
    if asked is None or asked.start() == 0:
        return question
    opening = tokens(question[: asked.start()])
    return (
        question[asked.start() :]
        if opening and set(opening) <= _CHAT and _PERSON & set(opening)
        else question
    )


@lru_cache(maxsize=50_000)
def form(question: str) -> Form:
    """Read the form of a question."""
    text = _SHORT_IS.sub(r"\1 is", plain(question))
    words = _words(text)
    runs = _runs(words)
    return Form(
        words=tuple(words),
        symbols=tuple(sorted(_SYMBOLS.findall(text))),
        asked=_asked(words),
        content=Counter(word for word in words if word not in _EMPTY),
        frame=_frame(words),
        runs=runs,
        passive="by" in words and any(word in BE for word in words),
    )


def swapped(one: Form, other: Form) -> bool:
    """Whether both questions have the same words in exchanged roles: "A bought B", "B bought A". Function words may differ."""
    if Counter(_told(one)) != Counter(_told(other)):
        return False
    if one.frame == other.frame:
        if Counter(map(_bag, one.runs)) != Counter(map(_bag, other.runs)):
            return True  # "from A to B", "from B to A"
        return Counter(filter(_has_deed, one.runs)) != Counter(filter(_has_deed, other.runs))
    if one.passive != other.passive:
        agent = any(before == "by" for form in (one, other) if form.passive for before, _ in form.runs)
        return agent and _told(one) == _told(other)  # "did A sue B", "was A sued by B"
    pairs = ((one, other), (other, one))
    return any(_asks_subject(a) and b.frame[1:2] in _DO for a, b in pairs)  # "whom did A replace"


def _words(text: str) -> list[str]:
    """`Form.words` of a text."""
    stated = facts(text)
    spans = sorted(
        [
            (one.start, one.end, f"#{one.value:.9g}{one.unit if one.measured else ''}")
            for one in stated.amounts
        ]
        + [
            (one.start, one.end, f"@{one.year or ''}-{one.month or ''}-{one.day or ''}")
            for one in stated.dates
        ]
    )
    found, at = list[str](), 0
    for start, end, written in spans:
        found += [*_stems(text[at:start]), written]
        at = end
    return [*found, *_stems(text[at:])]


def _stems(text: str) -> list[str]:
    kept = (_ALIKE.get(word, word) for word in tokens(text) if word not in _DROPPED)
    return [word if word in FUNCTION else stem(_BRITISH.sub("iz", word)) for word in kept]


def _asked(words: list[str]) -> str:
    """The kind of answer, see `Form.asked`."""
    for at, word in enumerate(words):
        following = words[at + 1] if at + 1 < len(words) else ""
        if word in ("who", "whom"):
            return "person"
        if word in ("when", "where", "why") and (following in _AUX or not following):
            return {"when": "time", "where": "place", "why": "reason"}[word]
        if word == "how":
            return "manner" if following in _AUX else "quantity" if following in _QUANTITY else ""
        if word == "what":
            return _kind_of_answer(words, at)
    return ""


def _kind_of_answer(words: list[str], at: int) -> str:
    """The kind of answer (see `Form.asked`) that "what" and the following words ask for, such as "what year".

    `at` is the position of "what".
    """
    if at + 1 < len(words) and words[at + 1] not in _AUX:
        return _HEADS.get(words[at + 1], "")
    head = _HEADS.get(words[at + 2], "") if at + 2 < len(words) else ""
    alone = at + 3 >= len(words) or words[at + 3] in _PREPOSITIONS  # a "date format" is not a date
    return head if alone or head == "quantity" else ""


def _runs(words: list[str]) -> tuple[tuple[str, Run], ...]:
    found, before, run = list[tuple[str, Run]](), "", list[str]()
    for word in [*words, ""]:
        if word and word not in FUNCTION:
            run.append(word)
            continue
        if run:
            found.append((before, tuple(run)))
            run = []
        before = word
    return tuple(found)


def _frame(words: list[str]) -> Run:
    found = list[str]()
    for word in words:
        shown = word if word in FUNCTION else "_"
        if shown != "_" or not found or found[-1] != "_":
            found.append(shown)
    return tuple(found)


def _bag(run: tuple[str, Run]) -> tuple[str, ...]:
    return (run[0], *sorted(run[1]))


def _told(one: Form) -> list[str]:
    return [word for _, run in one.runs for word in run]


def _has_deed(run: tuple[str, Run]) -> bool:
    """Whether the run may be a deed, such as "A bought B". The order of the words matters in a deed.

    The order does not matter in other runs, such as "the daily maximum dose". `run` is an element of `Form.runs`.
    """
    return run[0] in _BEFORE_DEEDS and len(run[1]) > 2


def _asks_subject(one: Form) -> bool:
    """Whether the question asks for its subject: "Who built it first?", but not "What did they build?"."""
    return any(before in ("who", "what") and len(run) > 1 for before, run in one.runs)
