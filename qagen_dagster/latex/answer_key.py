"""The answer of an item in a form that can be checked: values, letters, pairs of a match, or the truth of assertion, reason and link."""

import re
from collections.abc import Iterator, Mapping

from qagen_dagster.latex import comparison
from qagen_dagster.latex.equalities import value_of_side
from qagen_dagster.latex.structure import environments, options_of, solution_of, statement_of

_ENTRY = re.compile(
    r"\\(?:item|task)(?![A-Za-z])\s*(?:\[([^\]]*)\])?((?:(?!\\item|\\task|\\end).)*)", re.DOTALL
)
_NO = re.compile(r"\b(?:not|n't|no)\b|\bbut\b.*\bnot\b", re.IGNORECASE)
_TRUE, _FALSE = r"(?:true|correct|right)", r"(?:false|incorrect|wrong|not true|not correct|untrue)"
_STATEMENTS = {
    "A": r"(?:\bA\b|\bassertion(?:\s*\(A\))?|\bstatement\s*(?:I|1)\b)",
    "R": r"(?:\bR\b|\breason(?:\s*\(R\))?|\bstatement\s*(?:II|2)\b)",
}
_LINK = re.compile(r"\bexplains?\b|\bexplanation\b", re.IGNORECASE)
_PAIR = re.compile(
    r"\(?\b([A-DP-S]|[ivx]{1,4})\)?\s*(?:-|--|:|\\to(?![a-z])|\\rightarrow|\u2192|\u2013|=)\s*\(?([1-6]|[ivx]{1,4}|[P-T]|[A-D])\b\)?"
)
_MATH = re.compile(r"[${}]|\\(?:text|mathrm|textbf|rm)(?![a-z])")
_INTEGER = re.compile(
    r"\bas an? integer\b|\binteger (?:answer|value)|\bnumerical value\b|\bnearest integer\b", re.IGNORECASE
)


def stated_answer(item: str) -> str | None:
    """The answer of an item as text: its right options, else the option that its solution names, else the content of its boxes, else its
    final answer, else None. Several right options are given by their letters, as is an option outside of a tasks environment.
    Several boxes are joined with semicolons. A number that is asked for as an integer has no unit."""
    options, solution = options_of(item), solution_of(item)
    letters = [chr(ord("a") + place) for place, option in enumerate(options) if option.right]
    if len(letters) == 1:
        text = next(option.text for option in options if option.right)
        return re.sub(r"^\$([^$]*)\$$", r"\1", text)  # as in a box
    if letters:
        return ", ".join(f"({one})" for one in letters)
    named, boxes = comparison.named_options(solution), comparison.boxed_answers(solution)
    if named and lettered_options(item):
        return ", ".join(f"({one.upper()})" for one in sorted(named[-1]))
    if len(boxes) > 1:
        return "; ".join(boxes)
    answer = comparison.final_answer(solution) if solution else None
    return _number(answer) if answer is not None and _INTEGER.search(statement_of(item)) else answer


def _number(answer: str) -> str:
    """The number of an answer without its unit; the answer itself if it is not only a number with a unit."""
    value = value_of_side(comparison.bare_answer(answer).strip("$ "))
    found = re.match(r"\s*\$?\s*(-?\d+(?:\.\d+)?)", answer) if value is not None and value.lone else None
    return found.group(1) if found else answer


def lettered_options(item: str) -> dict[str, str]:
    """The entries of the last list of the statement by their letters; empty if there is no list, or if that list has only one entry."""
    statement = statement_of(item)
    spans = [span for name in ("enumerate", "tasks") for span in environments(statement, name)]
    if not spans:
        return {}
    start, end = max(spans)
    entries = [(label, " ".join(text.split())) for label, text in _ENTRY.findall(statement[start:end])]
    return (
        {chr(ord("A") + place): text for place, (_, text) in enumerate(entries)} if len(entries) > 1 else {}
    )


def keyed_faults(kind: str, item: str) -> Iterator[str]:
    """Faults of the answer of an item of a kind with lists; none for other kinds."""
    checks = {"assertion_reason": assertion_faults, "match": match_faults, "passage": passage_faults}
    yield from checks[kind](item) if kind in checks else ()


def uncheckable(kind: str, item: str) -> Iterator[str]:
    """Faults: an item of a kind with lists lacks them, so that its answer cannot be checked."""
    listed = lettered_options(item)
    if len(listed) < 2:
        yield f"{kind} needs an enumerate environment with at least two entries in the statement"
    elif kind == "assertion_reason" and not all(_truths(one) for one in listed.values()):
        yield "each option says of the assertion and the reason whether it is true: Both A and R are true and R explains A."
    elif kind == "match" and len(pairs_of(solution_of(item))) < 2:
        yield "the solution states the whole matching: A-2, B-1, C-3"


def assertion_faults(item: str) -> Iterator[str]:
    """Faults of an assertion-reason item: the option that the solution names contradicts what the solution says."""
    options, solution = lettered_options(item), _MATH.sub(" ", comparison.without_pictures(solution_of(item)))
    if not options:
        return
    letter, fault = _named_option(item, options)
    if fault:
        yield fault
        return
    stated, option = _truths(solution), _truths(_MATH.sub(" ", options[letter]))
    for name in ("A", "R", "link"):
        if name in stated and name in option and stated[name] is not option[name]:
            what = "that R explains A" if name == "link" else f"that {name} is true"
            yield f"the solution {'says' if stated[name] else 'denies'} {what}, but option {letter} says: {options[letter]}"


def _named_option(item: str, options: Mapping[str, str]) -> tuple[str, str]:
    """Returns (letter, fault) of the option that the solution names. `fault` says that there is none, or that it does not exist."""
    named = comparison.named_options(solution_of(item))
    if not named:
        return "", "the solution must name the right option: The correct option is (A)."
    letter = "".join(sorted(named[-1])).upper()
    return letter, "" if letter in options else f"the solution names option {letter}, which does not exist"


def _truths(text: str) -> dict[str, bool]:
    """What a text says of the truth of assertion ("A") and reason ("R"), and of the "link" between them; only what the text states."""
    found: dict[str, bool] = {}
    plain = " ".join(text.split())
    if re.search(rf"\bboth\b[^.;]{{0,60}}\b{_TRUE}\b", plain, re.IGNORECASE):
        found |= {"A": True, "R": True}
    if re.search(rf"\bboth\b[^.;]{{0,60}}\b{_FALSE}\b", plain, re.IGNORECASE):
        found |= {"A": False, "R": False}
    for name, pattern in _STATEMENTS.items():
        verdict = re.search(
            rf"{pattern}\s*(?:is|are)\s+(?:also\s+|a\s+|itself\s+)?(?:(?P<no>{_FALSE})|(?P<yes>{_TRUE}))\b",
            plain,
        )
        if verdict:
            found[name] = bool(verdict.group("yes"))
    links = [one for one in re.split(r"[.;]|\bbut\b", plain) if _LINK.search(one)]
    if links:
        found["link"] = not _NO.search(links[-1])
    return found


def match_faults(item: str) -> Iterator[str]:
    """Faults of a match item: the option that the solution names does not have the pairs that the solution states."""
    options = lettered_options(item)
    if not options or not any(pairs_of(text) for text in options.values()):
        return
    letter, fault = _named_option(item, options)
    if fault:
        yield fault
    else:
        stated, option = pairs_of(solution_of(item)), pairs_of(options[letter])
        wrong = [name for name in stated if name in option and stated[name] != option[name]]
        yield from (
            f"the solution matches {name} with {stated[name]}, but option {letter} with {option[name]}"
            for name in wrong
        )


def pairs_of(text: str) -> dict[str, str]:
    """The pairs of a matching, such as P-2, by the name on their left."""
    return dict(_PAIR.findall(re.sub(r"\s+", " ", _MATH.sub(" ", text))))


def passage_faults(item: str) -> Iterator[str]:
    """Faults of a passage: fewer answers than questions."""
    questions, solution = lettered_options(item), solution_of(item)
    asked = len(questions) if questions else 0
    if asked and not options_of(item):
        answers = max(len(comparison.boxed_answers(solution)), len(comparison.named_options(solution)))
        labels = sum(bool(re.search(rf"(?:^|[\s(]){one}[.)]", solution)) for one in range(1, asked + 1))
        entries = len(re.findall(r"\\item(?![A-Za-z])", solution))
        if max(answers, labels, entries) < asked or (answers < asked and comparison.boxed_answers(solution)):
            yield f"the passage has {asked} questions, but the solution has {answers} answers: put each into \\boxed"
