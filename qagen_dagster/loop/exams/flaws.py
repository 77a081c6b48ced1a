"""Item-writing flaws by the 19 criteria of arXiv 2503.10533: 15 are found by code, four by the style judge if it is asked for them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from qagen_dagster.latex.choices import equal_options
from qagen_dagster.latex.comparison import without_layout
from qagen_dagster.mathematics.values import known_value
from qagen_dagster.publishing.markup import split
from qagen_dagster.records.exams.submissions import QuestionPackage, StyleReport

_STEM = {
    "negative_wording": r"(?i:\b(?:which|what)\b[^.?]*\b(?:not|never|false|incorrect|untrue|cannot|least likely)\b|\bexcept\b)|\bNOT\b",
    "fill_in_the_blank": r"_{2,}|\.{4,}",
}
_OPTIONS = {
    "none_of_the_above": r"(?i)\bnone of (?:the above|these|them)\b",
    "all_of_the_above": r"(?i)\ball of (?:the above|these|them)\b",
    "complex_or_k_type": r"\A(?:both )?\(?(?:[IVX]+|[A-H])\)?(?:(?:, ?| and | & )+\(?(?:[IVX]+|[A-H])\)?)+(?: only)?\.?\Z",
    "absolute_terms": r"(?i)\b(?:always|never|all|every|only|completely|entirely|invariably|absolutely|impossible)\b",
    "vague_terms": r"(?i)\b(?:sometimes|usually|often|frequently|occasionally|generally|typically|mostly|many|several|may|might)\b",
}
_ASKS = re.compile(
    r"\?|\b(?:what|which|who|when|where|how|why|find|calculate|determine|estimate|evaluate|simplify|solve|give|state|choose|select|express)\b",
    re.IGNORECASE,
)
_TRUTH = re.compile(r"(?:both |neither )?(?:true|false|yes|no)\W*", re.IGNORECASE)
_TOKEN = re.compile(r"\\[A-Za-z]+|[A-Za-z]+|\d+(?:\.\d+)?")
_LONGER, _MUCH = 1.5, 12  # how much longer the key is than each other option: as a factor, and in characters
_LONG_WORD = 5  # letters


@dataclass(frozen=True)
class _Item:
    package: QuestionPackage

    @cached_property
    def options(self) -> dict[str, str]:
        """The texts of the options without layout, by letter."""
        options = self.package.question.options
        return {one: " ".join(without_layout(options[one]).split()) for one in sorted(options)}

    @cached_property
    def prose(self) -> str:
        return " ".join(one.text for one in split(self.package.question.stem) if one.kind == "prose")

    @property
    def key(self) -> str:
        return self.options[self.package.question.correct_option]

    @cached_property
    def others(self) -> list[str]:
        return [text for one, text in self.options.items() if one != self.package.question.correct_option]


def flaws_of(package: QuestionPackage, style: StyleReport | None = None) -> dict[str, str]:
    """What is wrong with the writing of an item, by criterion; `style` adds what the judge found."""
    item, found = _Item(package), dict[str, str]()
    for name, pattern in _STEM.items():
        if said := re.search(pattern, item.prose):
            found[name] = f"the stem says '{said.group()}'"
    texts = item.options
    for name, pattern in _OPTIONS.items():
        if said := [one for one, text in texts.items() if re.search(pattern, text)]:
            found[name] = f"option {', '.join(said)}"
            texts = {one: text for one, text in texts.items() if one not in said}
    for name, check in _CHECKS.items():
        if told := next(check(item), ""):
            found[name] = told
    return found | {one.criterion: one.detail for one in (style.flaws if style is not None else ())}


def _true_or_false(item: _Item) -> Iterator[str]:
    if all(_TRUTH.fullmatch(text) for text in item.options.values()):
        yield "the options only say true or false"


def _longest(item: _Item) -> Iterator[str]:
    longest = max(map(len, item.others))
    if len(item.key) > max(longest * _LONGER, longest + _MUCH):
        yield f"the right option has {len(item.key)} characters, the others at most {longest}"


def _convergence(item: _Item) -> Iterator[str]:
    """The right option shares the most parts with the others, as it does if they were made by changing it."""
    parts = {text: {*_TOKEN.findall(text)} for text in (item.key, *item.others)}
    shared = Counter(one for some in parts.values() for one in some)
    scores = {
        text: sum(shared[one] - 1 for one in some if shared[one] < len(parts)) for text, some in parts.items()
    }
    rival = max(scores[text] for text in item.others)
    if len(parts) > len(item.others) and scores[item.key] >= max(rival + 2, len(item.others)):
        yield "the right option shares most parts with the others"


def _repeats(item: _Item) -> Iterator[str]:
    asked, others = item.prose.lower(), " ".join(item.others).lower()
    for word in re.findall(rf"[a-z]{{{_LONG_WORD},}}", item.key.lower()):
        if re.search(rf"\b{word}\b", asked) and word not in others:
            yield f"only the right option repeats '{word}' of the stem"


def _grammar(item: _Item) -> Iterator[str]:
    end = re.search(r"\b(an?)\W*\Z", item.package.question.stem)
    if end and end.group(1):
        unfit = [text for text in item.others if (text[:1].lower() in "aeiou") is not (end.group(1) == "an")]
        if unfit:
            yield f"the stem ends in '{end.group(1)}', which {unfit[0]} does not continue"


def _sequence(item: _Item) -> Iterator[str]:
    values = [known_value(text) for text in item.package.question.options.values() if text]
    if any(one is None or len({*one.numbers}) != 1 or not one.numbers[0] for one in values):
        return
    numbers = [float(one.numbers[0] or 0) * float(one.unit.factor) for one in values if one is not None]
    rising = [first < second for first, second in pairwise(numbers) if first != second]
    if True in rising and False in rising:
        yield "the numbers of the options are in no order"


def _several(item: _Item) -> Iterator[str]:
    yield from equal_options({**item.package.question.options})


def _unfocused(item: _Item) -> Iterator[str]:
    if not _ASKS.search(item.prose):
        yield "the stem asks nothing"


_CHECKS: dict[str, Callable[[_Item], Iterator[str]]] = {
    "longest_option_correct": _longest, "true_or_false": _true_or_false, "convergence_cues": _convergence, "word_repeats": _repeats,
    "grammatical_cues": _grammar, "lost_sequence": _sequence, "more_than_one_correct": _several, "unfocused_stem": _unfocused,
}  # fmt: skip
