"""Decides without a model whether the evidence supports an answer: its numbers and most of its words must occur in the quotes.

A number that no quote has must be computable from numbers of the evidence and the question: a sum, difference, product, quotient or
percentage, the total or mean of a unit, or a count of listed things. The validator judges every answer that passes. The type of a
question is a claim of the model that wrote it: a type that promises a derived answer allows computed numbers and more words that are not
in the quotes, but no type turns the check off.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations

from qagen_dagster.english.facts import facts, facts_of_document, missing_names
from qagen_dagster.english.words import content_stems, is_content, stem

_PLAIN = re.compile(r"\d+(?:\.(\d+))?")
_COUNTS = re.compile(r"\b(?:how many|number of|count)\b", re.IGNORECASE)
_BETWEEN_ITEMS = re.compile(r"[,;]|\band\b|\bor\b")
_MOST = 60  # numbers of a text that are combined


def computable(number: str, evidence: Sequence[str], question: Sequence[str]) -> bool:
    """Whether `number` is the result of a computation with the tokens of the evidence and the question."""
    parsed = _PLAIN.fullmatch(number)
    if parsed is None:
        return False
    wanted, decimals = float(number), len(parsed.group(1) or "")
    rounded = len(number.replace(".", "").strip("0")) > 1
    tolerance = 0.5 * 10.0**-decimals if rounded else 0.0
    results = (*_numbers(evidence), *_pairs(_numbers(evidence), _numbers(question)), *_groups(evidence))
    return any(
        math.isclose(one, wanted, rel_tol=1e-9) or abs(one - wanted) <= tolerance
        for one in results
        if math.isfinite(one)
    )


def counts(number: str, question: str, answer: str, quotes: str) -> bool:
    """Whether the question asks for a count and `number` counts the quoted lines, or the items that a line or the answer lists."""
    if _COUNTS.search(question) is None:
        return False
    lines = [line for line in quotes.splitlines() if line.strip()]
    items = [len(_BETWEEN_ITEMS.split(text)) for text in (answer, *lines)]
    return number in {str(count) for count in (len(lines), sum(items[1:]), *items) if count > 1}


def _numbers(tokens: Sequence[str]) -> list[float]:
    return [float(token) for token in tokens if _PLAIN.fullmatch(token)][:_MOST]


def _pairs(evidence: list[float], question: list[float]) -> Iterator[float]:
    """The results for each pair of numbers. At least one number of a pair is from the evidence."""
    known = [*((one, True) for one in evidence), *((one, False) for one in question)]
    for (one, quoted), (other, also) in permutations(known, 2):
        if not (quoted or also):
            continue
        yield from (one + other, one - other, one * other, (one + other) / 2)
        if other:
            yield from (one / other, 100 * one / other, 100 * abs(one - other) / other)


def _groups(tokens: Sequence[str]) -> Iterator[float]:
    """The total and the mean of all numbers, and of the numbers before the same word."""
    groups: defaultdict[str, list[float]] = defaultdict(list)
    for token, follows in zip(tokens, (*tokens[1:], ""), strict=True):
        if _PLAIN.fullmatch(token):
            groups[""].append(float(token))
            groups[follows].append(float(token))
    for numbers in groups.values():
        yield from (sum(numbers), sum(numbers) / len(numbers))


_WORD = re.compile(r"[^\W\d_][\w'\u2019]*|\d[\d.,:/]*\d|\d", re.UNICODE)
_LISTED = re.compile(r"(?<=\d),(?=\d)(?!(?:\d\d,)*\d{3}(?!\d))")  # the comma of "{0,1}", not of "1,234"
_DERIVED_TYPES = (
    "aggregation analysis calculation comparison computed counterfactual counting evaluation inference multi_hop "
    "multi-hop numeric synthesis"
)
_DERIVED = frozenset(_DERIVED_TYPES.split())
_NUMBER_WORDS = "zero one two three four five six seven eight nine ten eleven twelve"
_SMALL_NUMBERS = {word: str(value) for value, word in enumerate(_NUMBER_WORDS.split())}
_FUNCTION_WORD_LIST = (
    "a an and are as at be but by for from has have in into is it its no not of on or per so than that the their then "
    "there these they this those to was were which with yes"
)
_FUNCTION_WORDS = frozenset(_FUNCTION_WORD_LIST.split())
_NOWHERE = "stand in no evidence quote"
_FOOTNOTE = re.compile(r"(\d{3,}\.)\d{1,2}(?=\s+[^\W\d_a-z]|\s*$)", re.MULTILINE)  # as in "in 2003.2 He"
_PARTS = re.compile(r"[;\n\u2022]")
_CAPITALS = re.compile(r"(?<=[^\W\d_] )[^\W\d_a-z]\w*")
MOST_CAPITALS = 0.3  # maximum share of words with a capital inside a sentence, in English text
_LEAST_START, _MOST_ENDING = 4, 3  # characters: forms of a word differ only in a short ending
_LEAST_SUBJECT = 2  # minimum words of the question that the document has; a single word can occur by chance
MIN_SHARE = 0.5  # minimum share of the words of an answer that the quotes must have
MIN_DERIVED_SHARE = 0.2  # the same for a derived answer
_NEAR = 60  # characters before a number that may hedge it
_ROUNDED = r"about|almost|approx|approximately|around|circa|ca|nearly|roughly"
_ESTIMATED = r"estimated|estimate|estimates"
_AVERAGE = r"averages?|averaged|averaging|mean"
# For each kind of amount: the words before a number that mark the kind, and the words by which an answer states the kind. People leave
# rounding out of an answer. A result of rounded values may be wrong in its last digits, so rounding counts only for computed results.
_HEDGES = {"an estimate": (_ESTIMATED, f"{_ESTIMATED}|{_ROUNDED}"), "an average": (_AVERAGE, _AVERAGE)}
_HEDGES_OF_PARTS = {"a rounded value": (_ROUNDED, f"{_ESTIMATED}|{_ROUNDED}"), **_HEDGES}
_PRONOUN = re.compile(
    r"\b(?:this|that|the|each|every|no|any|which|another)\s+(?:(?:only|first|last|same|other|new|old|(?:larg|small)er)\s+)?one\b"
    r"|\bone\s+(?:of|another|by|after|that|who|which|must|can|cannot|may|might|should|would|could|has\s+to|needs\s+to)\b",
    re.IGNORECASE,
)


def unsupported(
    question: str, answer: str, evidence: str, question_type: str, *, graded: bool = False, beside: str = ""
) -> str | None:
    """The reason why `evidence` does not support `answer`; None if it does.

    `beside` is the text above the evidence: title, section and table header. The words of a derived answer that is `graded`
    afterwards are left to grading.
    """
    derived = question_type.strip().lower().replace(" ", "_") in _DERIVED
    context = f"{evidence}\n{beside}"
    quoted, asked = [*_tokens(context), *_tokens("\n".join(_FOOTNOTE.findall(context)))], _tokens(question)
    wanted = [token for token in _tokens(_PRONOUN.sub(" ", answer)) if token not in _FUNCTION_WORDS]
    missing = [token for token in wanted if not _covered(token, {*quoted, *asked})]
    if derived:
        missing = [
            one
            for one in missing
            if not one[0].isdigit()
            or not (computable(one, quoted, asked) or counts(one, question, answer, evidence))
        ]
    numbers = [token for token in missing if token[0].isdigit()]
    if numbers:
        return f"the answer's {', '.join(numbers[:3])} stands in no evidence quote"
    if hedge := unhedged(question, answer, numbers_of([answer]), evidence):
        return hedge
    if derived and graded:
        return None
    if derived and len(wanted) - len(missing) < MIN_DERIVED_SHARE * len(wanted):
        return f"most words of the answer {_NOWHERE} ({', '.join(missing[:5])})"
    several = _PARTS.search(answer) is not None
    words = None if derived and not several else _missing_words(answer, quoted, asked)
    return words or _missing_names(answer, question, evidence, beside)


def unhedged(
    question: str, answer: str, numbers: Sequence[str], evidence: str, *, computed: bool = False
) -> str | None:
    """The fault that the quotes give a number only as an estimate or average, but neither question nor answer says so; None without such a
    fault. Rounded values count only if the answer is `computed` from them."""
    plain = evidence.replace(",", "")
    for number in numbers:
        places = re.finditer(rf"(?<![\d.]){re.escape(number)}(?!\.?\d)", plain)
        before = [plain[max(0, one.start() - _NEAR) : one.start()] for one in places]
        for name, (words, admitting) in (_HEDGES_OF_PARTS if computed else _HEDGES).items():
            admitted = re.search(rf"\b(?:{admitting})\b", f"{question} {answer}", re.IGNORECASE)
            hedge = re.compile(rf"\b(?:{words})\b\.?(?:[^\s.;:]*\s+){{1,3}}[$€£(]?$", re.IGNORECASE)
            if before and not admitted and all(map(hedge.search, before)):
                return f"the quotes give {number} only as {name}: say so in the answer"
    return None


def without_subject(question: str, told: str, document: str) -> str | None:
    """The reason why `told`, the quotes and the text above them, does not show the subject of a question: it has none of the question's
    words, but the rest of the document has some. None if there is no such fault."""
    subject, known = {*content_stems(question)}, {*content_stems(document)}
    if subject & {*content_stems(told)} or len(subject & known) < _LEAST_SUBJECT:
        return None
    missing = [word for word in dict.fromkeys(_WORD.findall(question)) if {*content_stems(word)} & known]
    return f"no evidence quote names what the question asks about: quote the passage with {', '.join(missing[:5])}, too"


def _missing_words(answer: str, quoted: list[str], asked: list[str]) -> str | None:
    """The reason why quotes do not support the words of an answer or of a part of a list. Words of the question do not count."""
    for part in filter(str.strip, _PARTS.split(_PRONOUN.sub(" ", answer))):
        own = [token for token in _tokens(part) if is_content(token) and not _covered(token, {*asked})]
        missing = [token for token in own if not token[0].isdigit() and not _covered(token, {*quoted})]
        if len(own) - len(missing) < MIN_SHARE * len(own):
            whole = "the answer" if part == answer else f"{' '.join(part.split())[:60]!r}"
            return f"most words of {whole} {_NOWHERE} ({', '.join(missing[:5])})"
    return None


def _missing_names(answer: str, question: str, evidence: str, beside: str) -> str | None:
    known = f"{evidence}\n{question}\n{beside}"
    if len(_CAPITALS.findall(known)) > MOST_CAPITALS * len(_WORD.findall(known)):
        return None  # a language that capitalises nouns, or a list of names
    words, own = _tokens(known), {*_tokens(answer)}
    initials = "".join(word[0] for word in words)
    missing = [
        shown
        for shown in missing_names(facts(answer), facts_of_document(known))
        if shown.casefold() in own
        and not _covered(shown.casefold(), {*words})
        and shown.casefold() not in initials
    ]
    return f"the answer's {', '.join(missing[:3])} {_NOWHERE}" if missing else None


def numbers_of(texts: Iterable[str]) -> list[str]:
    """The numbers of texts, as `unhedged` takes them."""
    return [token for text in texts for token in _tokens(text) if token[0].isdigit()]


def _tokens(text: str) -> list[str]:
    """Words and numbers in lower case. Small numbers are digits. Commas of thousands are removed; a comma in a list of digits separates."""
    found: list[str] = []
    words: list[str] = _WORD.findall(_LISTED.sub(", ", text).casefold())
    for token in words:
        plain = token.replace(",", "").rstrip(".:/") if token[0].isdigit() else token.replace("\u2019", "'")
        found.append(_SMALL_NUMBERS.get(token, plain))
    return found


def _covered(token: str, known: set[str]) -> bool:
    """Whether the token is known, or another form of the word (same beginning)."""
    if token in known or token[0].isdigit():
        return token in known
    if len(token) < _LEAST_START:
        return False
    start = token[: max(_LEAST_START, len(token) - _MOST_ENDING)]
    return any(word.startswith(start) for word in known) or stem(token) in {stem(word) for word in known}
