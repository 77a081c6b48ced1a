"""Item-writing flaws by the 19 criteria of arXiv 2503.10533: 15 are found by code, four by the style judge if it is asked for them."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
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
_OPTIONS = {  # an option counts for the first criterion that it meets
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


def flaws_of(package: QuestionPackage, style: StyleReport | None = None) -> dict[str, str]:
    """What is wrong with the writing of an item, by criterion; `style` adds what the judge found."""
    asked = package.question
    stem = " ".join(one.text for one in split(asked.stem) if one.kind == "prose")
    options = {one: " ".join(without_layout(asked.options[one]).split()) for one in sorted(asked.options)}
    key, texts = options[asked.correct_option], dict(options)
    others = [text for one, text in options.items() if one != asked.correct_option]
    found: dict[str, str] = {}
    for name, pattern in _STEM.items():
        if said := re.search(pattern, stem):
            found[name] = f"the stem says '{said.group()}'"
    for name, pattern in _OPTIONS.items():
        if meet := [one for one, text in texts.items() if re.search(pattern, text)]:
            found[name] = f"option {', '.join(meet)}"
            texts = {one: text for one, text in texts.items() if one not in meet}
    for name, detail in _compared(stem, key, others):
        found.setdefault(name, detail)
    if _disordered([*asked.options.values()]):
        found["lost_sequence"] = "the numbers of the options are in no order"
    if same := next(equal_options({**asked.options}), ""):
        found["more_than_one_correct"] = same
    return found | {one.criterion: one.detail for one in (style.flaws if style is not None else ())}


def _compared(stem: str, key: str, others: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Flaws of the stem and the options together."""
    if not _ASKS.search(stem):
        yield "unfocused_stem", "the stem asks nothing"
    if all(map(_TRUTH.fullmatch, (key, *others))):
        yield "true_or_false", "the options only say true or false"
    longest = max(map(len, others))
    if len(key) > max(longest * _LONGER, longest + _MUCH):
        yield (
            "longest_option_correct",
            f"the right option has {len(key)} characters, the others at most {longest}",
        )
    for word in re.findall(r"[a-z]{5,}", key.lower()):
        if re.search(rf"\b{word}\b", stem.lower()) and word not in " ".join(others).lower():
            yield "word_repeats", f"only the right option repeats '{word}' of the stem"
    article = re.search(r"\b(an?)\W*\Z", stem)
    for text in others if article else ():
        if (text[:1].lower() in "aeiou") is not (article is not None and article.group(1) == "an"):
            yield "grammatical_cues", f"the article at the end of the stem does not fit {text}"
    parts = {text: {*_TOKEN.findall(text)} for text in (key, *others)}
    shared = Counter(one for some in parts.values() for one in some)
    scores = {text: sum(shared[one] - 1 for one in parts[text] if shared[one] < len(parts)) for text in parts}
    if len(parts) > len(others) and scores[key] >= max(len(others), *(scores[one] + 2 for one in others)):
        yield "convergence_cues", "the right option shares most parts with the others"


def _disordered(options: Sequence[str]) -> bool:
    """Whether all options are numbers that neither rise nor fall."""
    values = [one for one in map(known_value, options) if one is not None and len({*one.numbers}) == 1]
    numbers = [float(one.numbers[0]) * float(one.unit.factor) for one in values if one.numbers[0]]
    rising = {first < second for first, second in pairwise(numbers) if first != second}
    return len(numbers) == len(options) and len(rising) > 1
