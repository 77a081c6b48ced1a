"""One exchange told from both sides: "A bought X from B" is "B sold X to A", but not "A sold X to B"."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from qagen_dagster.loop.questions.duplicates.question_form import BE, FUNCTION, Form, Run, stem_of

# Verbs whose subject gives, and the verbs of the same exchange whose subject takes.
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
    """Whether both ask about one exchange; None if they do not state converse verbs with both parties."""
    for a in _exchanges(one):
        for b in _exchanges(other):
            if (a.verb, b.verb) in _TAKING or (b.verb, a.verb) in _TAKING:
                rest = [form.content - Counter([x.verb]) for form, x in ((one, a), (other, b))]
                parties = (a.giver, a.taker, a.thing) == (b.giver, b.taker, b.thing)
                return (parties and rest[0] == rest[1]) or (None if parties else False)
    return None


def _exchanges(form: Form) -> list[_Exchange]:
    """The exchanges of a question whose two parties are told or asked for."""
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
    """The words after a preposition; "asked for" if it ends the question or a question word follows."""
    if preposition not in words:
        return ()
    at = words.index(preposition)
    return _until_function(words, at + 1) or _ASKED


def _until_function(words: Run, start: int) -> Run:
    end = start
    while end < len(words) and words[end] not in FUNCTION:
        end += 1
    return words[start:end]
