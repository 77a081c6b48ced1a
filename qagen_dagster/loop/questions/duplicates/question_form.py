"""Finds, without a parser, what a question asks for, and which parts are played in it: who does what to whom.

Two questions may state one exchange from both sides: "A bought X from B" is "B sold X to A", but not "A sold X to B".
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from qagen_dagster.english.facts import facts
from qagen_dagster.english.words import plain, stem, tokens, word_set


def stem_of(word: str) -> str:
    """As `stem`, but also equal for the forms of short verbs: "sue" and "sued"."""
    found = stem(word)
    if word.removesuffix("s").endswith("ee"):
        return word.removesuffix("s")  # "employee" and "employer" stay different
    return (found.removesuffix("ed") if 3 < len(found) < 6 else found).removesuffix("e")


_AUX = word_set(
    "is are was were be been being do does did has have had can could may might must shall should will would"
)
BE = word_set("is are was were be been being get gets got gotten")
_BEFORE_DEEDS = _AUX - BE | {"who", "what"}
_WH = word_set("what which who whom whose when where why how")
_PREPOSITIONS = word_set(
    "about above across after against along among around as at before behind below beneath beside besides between beyond by "
    "despite down during for from in inside into near of off on onto out outside over per since than through throughout "
    "till to toward towards under until up upon via with within without"
)
_OTHER = word_set("and or but if that this these those there it its their his her not no also and/or")
FUNCTION = _AUX | _WH | _PREPOSITIONS | _OTHER
_DROPPED = word_set("a an the please exactly")
_DO = (("did",), ("does",), ("do",))
_ALIKE = {"which": "what", "till": "until", "upon": "on", "cannot": "not"}
_QUANTITY = frozenset(
    map(
        stem_of,
        word_set(
            "many much long old high tall deep far fast heavy big large wide often strong hot cold great soon thick quickly"
        ),
    )
)
_HEADS = {
    stem_of(word): kind
    for kind, words in {
        "time": "year date day month",
        "place": "city country place town village location",
        "person": "person author inventor",
        "quantity": "number percentage proportion share amount duration length height width depth weight",
        "reason": "reason purpose cause ground",
    }.items()
    for word in words.split()
}
# Words that only name the kind of answer: "what is the date of ..." asks the same as "when ...".
_FRAMES = frozenset(
    map(
        stem_of,
        word_set("year date day number percentage proportion share amount duration reason many much often"),
    )
)
_ONE_WORD = {
    stem_of(word): stem_of(words.split()[0])
    for words in (
        "long length", "high height tall", "deep depth", "wide width", "heavy weight weigh", "fast speed quick quickly", "old age",
        "far distance", "strong strength", "hot temperature",
    )
    for word in words.split()
}  # fmt: skip
_BRITISH = re.compile(r"(?<=\w{3})is(?=(?:e|ed|es|er|ing|ation)$)")
_SHORT_IS = re.compile(r"\b(what|who|where|when|how|that|there)['\u2019]s\b", re.IGNORECASE)
_POSSESSIVE = re.compile(r"((?:\b[A-Z][\w.-]*\s)*\b[\w.-]+)(?:['\u2019]s|s['\u2019])\s+((?:[\w-]+\s?){1,3})")
_SYMBOLS = re.compile(r"(?<![\w-])--?(?=\w)|[^\w\s.,;:?!'\"()\u2018\u2019\u201c\u201d-]")

# The words of openings that say nothing about the subject: "Could you tell me", "I'm not sure:".
_CHAT = word_set(
    "i i'm i'd i've i'll me my we us our you your it's that's hello hi hey dear please thanks thank sorry excuse so well ok okay not no now "
    "just quite really also and but or if the a an of to for about on can could would will may might shall do does did am is are "
    "be been have has had was don't can't cannot couldn't anyone anybody someone somebody here there this that "
    "sure unsure certain clear know knows knew tell say explain wonder wondering wondered ask asking like want need understand "
    "remember recall confused curious question questions help quick quickly exactly idea any one more again"
)
_PERSON = word_set(
    "i i'm i'd i've i'll me my we us our you your hello hi hey please thanks sorry anyone anybody someone"
)
_TOPIC = re.compile(r"\b(?:what|which|who|whom|whose|when|where|why|how)\b", re.IGNORECASE)

Run = tuple[str, ...]


@dataclass(frozen=True)
class Form:
    """One question. Words are stems. Each number or date is one word in a standard spelling."""

    words: Run  # all words except articles, in order
    symbols: tuple[str, ...]  # signs that are not part of a word: "--", "%", "+"
    asked: str  # "time", "place", "person", "quantity", "reason", "manner", or "" for anything
    kind: str  # the noun directly after "what" or "which", or ""
    content: Counter[str]  # without `kind` and words that only frame the question
    frame: Run  # function words in order, with an underscore for each run between them
    runs: tuple[tuple[str, Run], ...]  # the function word before each run, and the run
    passive: bool


@lru_cache(maxsize=50_000)
def without_opening(question: str) -> str:
    """The question without an opening of words of `_CHAT`. It is unchanged if it has no such opening before a question word."""
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
    """The form of a question."""
    text = _SHORT_IS.sub(r"\1 is", plain(question))
    words = _words(text)
    runs = _runs(words)
    asked, at = _asked(words)
    return Form(
        words=tuple(words),
        symbols=tuple(sorted(_SYMBOLS.findall(text))),
        asked=asked,
        kind=words[kind] if (kind := _kind_at(words, at)) >= 0 and words[kind] not in FUNCTION else "",
        content=_content(words, kind),
        frame=_frame(words),
        runs=runs,
        passive="by" in words and any(word in BE for word in words),
    )


def swapped(one: Form, other: Form) -> bool:
    """Whether both have the same words, but in exchanged roles: "A bought B", "B bought A"."""
    if Counter(_told(one)) != Counter(_told(other)):
        return False
    if one.frame == other.frame:
        if Counter(map(_bag, one.runs)) != Counter(map(_bag, other.runs)):
            return True  # "from A to B", "from B to A"
        return Counter(filter(_has_deed, one.runs)) != Counter(filter(_has_deed, other.runs))
    if one.passive != other.passive:
        return _swapped_voice(one, other) if other.passive else _swapped_voice(other, one)
    return _subject_and_object(one, other) or _subject_and_object(other, one)


def same_roles(one: Form, other: Form) -> bool:
    """Whether the words have the same order, or differ only by the order of whole phrases."""
    if Counter(one.runs) == Counter(other.runs) or _order(one) == _order(other):
        return True
    active, passive = sorted((one, other), key=lambda form: form.passive)
    return passive.passive and _asks_subject(active) and all(before != "by" for before, _ in passive.runs)


def substitution(one: Form, other: Form) -> tuple[Run, Run] | None:
    """The words in which two questions differ, if they begin and end with the same words and differ in at most three words; else None."""
    a, b = one.words, other.words
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    end = 0
    while end < min(len(a), len(b)) - start and a[-1 - end] == b[-1 - end]:
        end += 1
    left, right = a[start : len(a) - end], b[start : len(b) - end]
    kept = [word for word in (*a[:start], *a[len(a) - end :]) if word not in FUNCTION]
    return (left, right) if left and right and kept and max(len(left), len(right)) <= 3 else None


def _words(text: str) -> list[str]:
    """The stems in order. "X's Y" is read as "Y of X"; a number or a date is one word."""
    text = _POSSESSIVE.sub(r"\2 of \1 ", text)
    read = facts(text)
    spans = sorted(
        [(one.start, one.end, f"#{one.value:.9g}{one.unit if one.measured else ''}") for one in read.amounts]
        + [(one.start, one.end, f"@{one.year or ''}-{one.month or ''}-{one.day or ''}") for one in read.dates]
    )
    found, at = list[str](), 0
    for start, end, written in spans:
        found += [*_stems(text[at:start]), written]
        at = end
    return [*found, *_stems(text[at:])]


def _stems(text: str) -> list[str]:
    kept = (_ALIKE.get(word, word) for word in tokens(text) if word not in _DROPPED)
    return [word if word in FUNCTION else stem_of(_BRITISH.sub("iz", word)) for word in kept]


def _asked(words: list[str]) -> tuple[str, int]:
    """The kind of answer that is asked for, and the position of the word that says so."""
    for at, word in enumerate(words):
        following = words[at + 1] if at + 1 < len(words) else ""
        if word in ("who", "whom"):
            return "person", at
        if word in ("when", "where", "why") and (following in _AUX or not following):
            return {"when": "time", "where": "place", "why": "reason"}[word], at
        if word == "how":
            return ("manner" if following in _AUX else "quantity" if following in _QUANTITY else ""), at
        if word == "what":
            return _kind_of_answer(words, at), at
    return "", -1


def _kind_of_answer(words: list[str], at: int) -> str:
    """The kind of answer that the noun after "what" at `at` asks for: "what year", "what is the number of"."""
    if at + 1 < len(words) and words[at + 1] not in _AUX:
        return _HEADS.get(words[at + 1], "")
    head = _HEADS.get(words[at + 2], "") if at + 2 < len(words) else ""
    alone = at + 3 >= len(words) or words[at + 3] in _PREPOSITIONS  # a "date format" is not a date
    return head if alone or head == "quantity" else ""


def _kind_at(words: list[str], at: int) -> int:
    """The position of the noun directly after "what"; -1 if there is none."""
    return at + 1 if 0 <= at < len(words) - 2 and words[at] == "what" else -1


def _content(words: list[str], kind: int) -> Counter[str]:
    return Counter(
        _ONE_WORD.get(word, word)
        for index, word in enumerate(words)
        if word not in FUNCTION and word not in _FRAMES and index != kind
    )


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
    """Whether the run may be a deed: "A bought B". Only in a deed does the order of the words matter, not in "the daily maximum dose"."""
    return run[0] in _BEFORE_DEEDS and len(run[1]) > 2


def _order(one: Form) -> Run:
    """The words as agent, verb and object. A clear passive is turned into the active."""
    # Without the noun that "what" asks for.
    runs = [(before, run[before == "what" :]) for before, run in one.runs]
    agent = [word for before, run in runs if before == "by" for word in run]
    rest = [word for before, run in runs if before != "by" for word in run]
    if one.passive and rest:
        first = next((run for before, run in runs if before in BE), ())
        if first:
            others = [word for word in rest if word not in first]
            return (*agent, first[-1], *first[:-1], *others)
    return (*agent, *rest)


def _asks_subject(one: Form) -> bool:
    """Whether the subject is asked for: "Who built it?", but not "What did they build?"."""
    return not one.passive and one.frame[:2] in (("who", "_"), ("what", "_")) and one.frame[2:3] not in _DO


def _swapped_voice(active: Form, passive: Form) -> bool:
    """Whether the passive has exchanged roles: "When did A sue B" and "When was A sued by B"."""
    return _order(active) != _order(passive) and [word for _, run in active.runs for word in run] == [
        word for before, run in passive.runs if before != "by" for word in run[:-1]
    ] + [run[-1] for before, run in passive.runs if before in BE] + [
        word for before, run in passive.runs if before == "by" for word in run
    ]


def _subject_and_object(asks_subject: Form, asks_object: Form) -> bool:
    """Whether one asks for the subject and the other for the object of a deed: "Who replaced A" and "Whom did A replace"."""
    if not _asks_subject(asks_subject) or asks_object.frame[1:2] not in _DO:
        return False
    deed, done = asks_subject.runs[0][1], asks_object.runs[0][1]
    return Counter(deed) == Counter(done) and deed[0] == done[-1] and len(deed) > 1


# Verbs whose subject gives, each with the verbs of the same exchange whose subject takes.
_EXCHANGES = {
    "sell": "buy purchase acquire",
    "lend": "borrow",
    "give": "receive get obtain accept",
    "award": "receive get",
    "send": "receive get",
    "supply": "receive buy get",
    "teach": "learn",
    "lease": "rent",
    "export": "import",
}
_TAKING = {(stem_of(give), stem_of(take)) for give, takes in _EXCHANGES.items() for take in takes.split()}
_GIVERS, _TAKERS = {give for give, _ in _TAKING}, {take for _, take in _TAKING}
_VERBS = _GIVERS | _TAKERS
_ASKED: Run = ("?",)


@dataclass(frozen=True)
class _Exchange:
    verb: str
    giver: Run
    taker: Run
    thing: Run


def same_exchange(one: Form, other: Form) -> bool | None:
    """Whether both ask about one exchange. None if no verb of one is the converse of a verb of the other, or a party is not named."""
    for a in _exchanges(one):
        for b in _exchanges(other):
            if (a.verb, b.verb) in _TAKING or (b.verb, a.verb) in _TAKING:
                rest = [form.content - Counter([x.verb]) for form, x in ((one, a), (other, b))]
                parties = (a.giver, a.taker, a.thing) == (b.giver, b.taker, b.thing)
                return (parties and rest[0] == rest[1]) or (None if parties else False)
    return None


def _exchanges(form: Form) -> list[_Exchange]:
    """The exchanges of a question of which both parties are named or asked for."""
    found = [_read(form, at) for at, word in enumerate(form.words) if word in _VERBS]
    return [one for one in found if one.giver and one.taker]


def _read(form: Form, at: int) -> _Exchange:
    words, verb = form.words, form.words[at]
    begin = at
    while begin and words[begin - 1] not in FUNCTION:
        begin -= 1
    before = words[begin - 1] if begin else ""
    ahead, behind = words[begin:at], _until_function(words, at + 1)
    passive = before in BE
    subject = _after(words, "by") if passive else ahead or (_ASKED if before in ("who", "what") else ())
    thing = ahead if passive else behind
    if not thing and words[0] == "what":
        thing = _ASKED
    party = _after(words, "to" if verb in _GIVERS else "from")
    return _Exchange(verb, *((subject, party) if verb in _GIVERS else (party, subject)), thing)


def _after(words: Run, preposition: str) -> Run:
    """The words after a preposition. They are `_ASKED` if the preposition ends the question or a function word follows it."""
    if preposition not in words:
        return ()
    at = words.index(preposition)
    return _until_function(words, at + 1) or _ASKED


def _until_function(words: Run, start: int) -> Run:
    end = start
    while end < len(words) and words[end] not in FUNCTION:
        end += 1
    return words[start:end]
