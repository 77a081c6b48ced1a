"""Comparisons around a number or date: "more than 80", "before 1967", "85 or more" state a limit, not a value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum


class Bound(StrEnum):
    """How a stated limit bounds the value that it is about."""

    MORE = ">"
    LEAST = ">="
    LESS = "<"
    MOST = "<="

    @property
    def upward(self) -> bool:
        return self in (Bound.MORE, Bound.LEAST)

    def holds(self, value: float, limit: float) -> bool:
        """Whether `value` is within the limit."""
        if value == limit:
            return self in (Bound.LEAST, Bound.MOST)
        return (value > limit) is self.upward


_LOOSE = (
    r"(?:\s?(?:the|about|around|approximately|early|late|mid|a total of|at least|end of)\b[\s-]?){0,2}\s?$"
)
_AMOUNT: Mapping[Bound, str] = {
    Bound.LEAST: r"at least|between|(?:no|not) (?:less|fewer|lower|smaller) than|(?:a )?minimum of|≥|>=",
    Bound.MOST: r"at most|up to|between [\d.,]{1,12} and|(?:no|not) (?:more|greater|higher|larger|longer) than|(?:a )?maximum of|≤|<=",
    Bound.LESS: r"(?:less|fewer|lower|smaller|shorter|younger|lighter|cheaper|slower) than|under|below|<",
    Bound.MORE: r"(?:more|[a-z]+er) than|over|above|exceed(?:s|ed|ing)?|>",
}
_DATE: Mapping[Bound, str] = {
    Bound.LEAST: r"since|(?:no|not) (?:earlier than|before)|from",
    Bound.MOST: r"until|till|up to|by|(?:no|not) (?:later than|after)",
    Bound.LESS: r"before|prior to|earlier than|<",
    Bound.MORE: r"after|later than|>",
}
_AFTERWARDS = {
    Bound.LEAST: re.compile(r"\+(?!\d)|(?:,?\s(?:or|and)|(?:\s[a-z]{1,20}){1,2} or) (?:more|over|above|older|longer|later|higher)\b|\sonwards?\b", re.IGNORECASE),
    Bound.MOST: re.compile(r"(?:,?\s(?:or|and)|(?:\s[a-z]{1,20}){1,2} or) (?:less|fewer|under|below|younger|shorter|earlier|lower)\b", re.IGNORECASE),
}  # fmt: skip
_FAR = 40  # characters before a number in which its comparison stands


_SHOWN = {
    Bound.MORE: ("more than", "after"),
    Bound.LEAST: ("at least", "since"),
    Bound.LESS: ("less than", "before"),
    Bound.MOST: ("at most", "by"),
}


def with_bound(text: str, bound: Bound | None, *, date: bool = False) -> str:
    """The text of an amount or date with its comparison, for a person."""
    return f"{_SHOWN[bound][date]} {text}" if bound else text


def _before(words: Mapping[Bound, str]) -> dict[Bound, re.Pattern[str]]:
    return {
        bound: re.compile(rf"(?:\b|(?=[<>≤≥]))(?:{one}){_LOOSE}", re.IGNORECASE)
        for bound, one in words.items()
    }


_BEFORE_AMOUNT, _BEFORE_DATE = _before(_AMOUNT), _before(_DATE)


def bound_of(text: str, start: int, end: int, *, date: bool = False) -> Bound | None:
    """The comparison around characters `start` to `end`; None if they state a value."""
    near = text[max(0, start - _FAR) : start]
    found = (bound for bound, one in (_BEFORE_DATE if date else _BEFORE_AMOUNT).items() if one.search(near))
    after = (bound for bound, one in _AFTERWARDS.items() if one.match(text, end))
    return next(found, None) or next(after, None)
