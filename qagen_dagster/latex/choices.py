"""Finds faults in the statement and the options of a question: a missing figure, catch-all options, a right option that stands out."""

import re
from collections.abc import Iterator, Mapping
from itertools import combinations

from qagen_dagster.latex.comparison import without_layout, without_pictures
from qagen_dagster.latex.possible import impossible_answer
from qagen_dagster.mathematics.units import ONE
from qagen_dagster.mathematics.values import equal, known_value

_CATCH_ALL = re.compile(
    r"\W*(?:none|all|both|any|neither|either|two|more than one)\s+(?:of\s+)?(?:the\s+(?:other\s+)?|these\b|them\b)?\s*"
    r"(?:above|below|these|those|options?|answers?|statements?|choices?|others?|them)?(?:\s+(?:is|are)\s+(?:correct|right|true))?\W*",
    re.IGNORECASE,
)
_OF_OPTIONS = re.compile(r"\b(?:above|these|those|options?|answers?|choices?|of them)\b", re.IGNORECASE)
_LETTERS = re.compile(r"(?i)\W*(?:both\s+)?\(?[A-H]\)?\s+(?:and|or|&)\s+\(?[A-H]\)?(?:\s+only)?\W*")
_FIGURE = r"(?:graph|diagram|figure|sketch|picture|drawing|circuit|table|chart|image)"
_REFERS = re.compile(
    rf"\b{_FIGURE}s?\s+(?:shown|below|above|opposite|on the right)\b|\bas\s+(?:is\s+)?(?:shown|depicted|drawn|illustrated)\b(?!\s+by\b)"
    rf"|\b(?:shown|given|depicted|drawn)\s+(?:below|above|in\s+the\s+{_FIGURE}|on\s+the\s+right|opposite)\b"
    rf"|\b(?:the|this)\s+(?:\w+\s+)?{_FIGURE}\s+(?:shows|gives|represents|depicts|illustrates)\b|\bin\s+the\s+(?:figure|diagram|graph|picture)\b"
    rf"|\bthat\s+is\s+shown\b",
    re.IGNORECASE,
)
_FIGURES = re.compile(
    r"%\s*diagram\b|\\begin\s*\{(?:tikzpicture|circuitikz|tabular|array|figure|picture|table)|\\includegraphics|\|.*\|.*\|",
    re.IGNORECASE,
)
_MUCH_LONGER, _VALUE_WORDS = 6, 3  # words by which a right option stands out; maximum words of the others


def without_figure(statement: str) -> Iterator[str]:
    """Faults: the statement refers to a figure or a table, but has none."""
    found = _REFERS.search(without_pictures(statement))
    if found and not _FIGURES.search(statement):
        yield f"it says '{' '.join(found.group().split())}', but there is no figure"


def option_faults(question: str, options: Mapping[str, str], right: frozenset[str]) -> Iterator[str]:
    """Faults of options. Each catch-all is a fault. If exactly one option is right, there are other faults: this option is impossible or
    stands out by its length, or another option is in a unit of another quantity."""
    for letter, text in options.items():
        if _is_catch_all(text):
            yield f"option {letter} says '{text}': every option states an answer of its own"
    keys = [options[letter] for letter in sorted(right)]
    if len(keys) == 1:
        yield from impossible_answer(question, keys[0])
        yield from _of_another_quantity(options, keys[0])
        yield from _standing_out(options, keys[0])


def equal_options(options: Mapping[str, str]) -> Iterator[str]:
    """Faults: two options are the same value in other forms or units. Options of the same text are not compared."""
    values = {letter: value for letter, text in options.items() if (value := known_value(text)) is not None}
    for one, other in combinations(values, 2):
        if options[one] != options[other] and equal(values[one], values[other]):
            yield f"options {one} and {other} are the same value: {options[one]} and {options[other]}"


def _is_catch_all(text: str) -> bool:
    plain = " ".join(without_layout(text).split())
    return bool((_CATCH_ALL.fullmatch(plain) and _OF_OPTIONS.search(plain)) or _LETTERS.fullmatch(plain))


def _of_another_quantity(options: Mapping[str, str], key: str) -> Iterator[str]:
    mine = known_value(key)
    if mine is None or mine.unit == ONE:
        return
    for letter, text in options.items():
        other = known_value(text)
        if other is not None and other.unit != ONE and not other.unit.comparable(mine.unit):
            yield f"option {letter} is in {other.unit.text}, a unit of another quantity than {mine.unit.text}"


def _standing_out(options: Mapping[str, str], key: str) -> Iterator[str]:
    words = {text: len(re.findall(r"[A-Za-z]{2,}", without_layout(text))) for text in options.values()}
    others = [count for text, count in words.items() if text != key]
    if others and max(others) <= _VALUE_WORDS and words[key] >= max(others) + _MUCH_LONGER:
        yield f"the right option stands out by its length: {key}"
