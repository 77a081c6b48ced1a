"""The kinds of fault. Each makes a faulty candidate and its good twin from a fact, with choices drawn from a seed of the fact."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from benchmarks.planted.documents import NAME, NUMBER, Fact, Page

AUXILIARY = re.compile(r"\b(is|are|was|were|has|have|had|can|could|may|will|would|should|does|did)\b(?! not)")
_PLACE = re.compile(
    r"\b(?:table|figure|text|passage|above|below|study|paper|document|report)\b", re.IGNORECASE
)
_POINTING = (
    "According to the table, {}", "In this study, {}", "According to the passage above, {}", "In the document, {}",
    "{} Answer as shown in the table.", "As the author says in this text, {}",
)  # fmt: skip


@dataclass(frozen=True)
class Planted:
    """A candidate as a generator submits it. `honest` is what an honest blind answer says; empty if the page has no answer."""

    kind: str
    good: bool
    fact: Fact
    question: str
    answer: str
    quotes: tuple[str, ...]
    honest: str
    question_type: str = "factual"
    computation: dict[str, Any] | None = None
    whole: str = ""  # what the quotes must say, if it is not the fact's first quote


Change = Callable[[Fact, "Others", random.Random], Iterator[Planted]]


@dataclass(frozen=True)
class Others:
    """All facts, to take questions of other documents from."""

    facts: Sequence[Fact]

    def elsewhere(self, fact: Fact, chance: random.Random) -> Fact:
        """A fact of the same form about another page of the same origin."""
        alike = [
            one for one in self.facts
            if one.page.origin == fact.page.origin and one.page.name != fact.page.name and one.form == fact.form
            and one.answer not in fact.page.text
        ]  # fmt: skip
        return chance.choice(alike or [fact])


def good(fact: Fact) -> Planted:
    """The fact as it is."""
    derived = {"sum": "calculation", "count": "counting", "list": "multi_hop"}
    return Planted(
        "", True, fact, fact.question, fact.answer, (*fact.heads, *fact.quotes), fact.answer,
        derived.get(fact.form, "factual"),
    )  # fmt: skip


def bad(fact: Fact, **changed: Any) -> Planted:
    return replace(good(fact), good=False, **changed)


def pair(fact: Fact, **changed: Any) -> Iterator[Planted]:
    yield bad(fact, **changed)
    yield good(fact)


def _said(fact: Fact) -> str:
    return " ".join((fact.question, *fact.heads, *fact.quotes))


@lru_cache(maxsize=200)
def _all(page: Page, pattern: re.Pattern[str]) -> list[str]:
    return sorted(set(pattern.findall(page.text)))


def _rivals(fact: Fact, pattern: re.Pattern[str], within: str | None = None) -> list[str]:
    """Other values of the page, or of `within`, that the fact does not say."""
    said = _said(fact) if within is None else f"{fact.question} {fact.answer}"
    values = _all(fact.page, pattern) if within is None else sorted(set(pattern.findall(within)))
    return [one for one in values if one not in said and len(one) > 1]


def wrong_number(fact: Fact, _: Others, chance: random.Random) -> Iterator[Planted]:
    """Another number of the document in the answer."""
    match = NUMBER.search(fact.answer)
    rivals = _rivals(fact, NUMBER)
    if (
        match
        and rivals
        and fact.form in ("cell", "span", "gap number")
        and match.group() not in fact.question
    ):
        yield from pair(fact, answer=fact.answer.replace(match.group(), chance.choice(rivals), 1))


def wrong_name(fact: Fact, _: Others, chance: random.Random) -> Iterator[Planted]:
    """Another name of the document in the answer."""
    rivals = _rivals(fact, NAME)
    if fact.form in ("span", "gap name") and NAME.fullmatch(f"a {fact.answer}", 2) and rivals:
        yield from pair(fact, answer=chance.choice(rivals))


def neighbour(fact: Fact, _: Others, chance: random.Random) -> Iterator[Planted]:
    """Another number or name of the same quote."""
    for pattern in (NUMBER, NAME):
        rivals = _rivals(fact, pattern, fact.quotes[0])
        if fact.form == "span" and pattern.fullmatch(f"a {fact.answer}", 2) and rivals:
            yield from pair(fact, answer=chance.choice(rivals))
            return


def negated(fact: Fact, _: Others, _chance: random.Random) -> Iterator[Planted]:
    """The whole sentence as the answer, denied."""
    whole = " ".join(fact.quotes[0].split())
    match = AUXILIARY.search(whole)
    if fact.form == "span" and match and len(whole.split()) <= 40:
        denied = f"{whole[: match.end()]} not{whole[match.end() :]}"
        yield bad(fact, answer=denied, honest=whole)
        yield replace(good(fact), answer=whole, honest=whole)


def _columns(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def _other_rows(fact: Fact) -> list[tuple[str, str]]:
    """Other rows of the table, each with its cell in the column of the answer."""
    column = _columns(fact.quotes[0]).index(fact.answer)
    lines = [line for line in fact.page.text.split("\n") if line.startswith("|")]
    rows = [(line, _columns(line)) for line in lines if line not in (*fact.heads, *fact.quotes)]
    return [
        (line, cells[column]) for line, cells in rows
        if len(cells) > column and any(map(str.isdigit, cells[column])) and cells[column] not in _said(fact)
    ]  # fmt: skip


def other_cell(fact: Fact, _: Others, chance: random.Random) -> Iterator[Planted]:
    """The cell of another row as the answer, with the right row as evidence."""
    rows = _other_rows(fact) if fact.form == "cell" and any(map(str.isdigit, fact.answer)) else []
    if rows:
        yield from pair(fact, answer=chance.choice(rows)[1])


def other_row(fact: Fact, _: Others, chance: random.Random) -> Iterator[Planted]:
    """Answer and evidence of another row."""
    rows = _other_rows(fact) if fact.form == "cell" and any(map(str.isdigit, fact.answer)) else []
    if rows:
        line, cell = chance.choice(rows)
        yield from pair(fact, answer=cell, quotes=(*fact.heads, line))


def fragment(fact: Fact, _: Others, _chance: random.Random) -> Iterator[Planted]:
    """The answer with a word or two around it, and nothing of what it belongs to."""
    quote, start = fact.quotes[0], fact.start
    if fact.form not in ("cell", "span", "gap number", "gap name") or start < 0:
        return
    before, after = quote[:start].split(), quote[start + len(fact.answer) :].split()
    words = [*before[max(0, len(before) - 1) :], *fact.answer.split(), *after[:1]]
    pattern = r"\s+".join(map(re.escape, words))
    place = re.search(rf"(?<!\w){pattern}(?!\w)", quote)
    if place and len(place.group()) * 2 < len(quote) and fact.page.text.count(place.group()) == 1:
        yield from pair(fact, quotes=(place.group(),))


def other_sentence(fact: Fact, _: Others, chance: random.Random) -> Iterator[Planted]:
    """The right answer with a sentence that does not have it."""
    rest = [one for one in fact.page.sentences if fact.answer not in one and one not in fact.quotes]
    if rest and fact.form in ("span", "gap number", "gap name"):
        yield from pair(fact, quotes=(chance.choice(rest),))


def half(fact: Fact, _: Others, _chance: random.Random) -> Iterator[Planted]:
    """A list with the quotes of all parts but the last."""
    if fact.form == "list" and fact.parts[-1] not in " ".join((*fact.heads, *fact.quotes[:-1])):
        yield from pair(fact, quotes=(*fact.heads, *fact.quotes[:-1]))


def _spoilt(number: str, chance: random.Random) -> str:
    """The number with its first digit changed."""
    place = next(at for at, char in enumerate(number) if char.isdigit())
    digit = chance.choice([one for one in "123456789" if one != number[place]])
    return number[:place] + digit + number[place + 1 :]


def _computation(fact: Fact, result: str) -> dict[str, Any] | None:
    if fact.sum is None:
        return None
    return {"operation": fact.sum.operation, "items": list(fact.sum.items), "result": result}


def wrong_sum(fact: Fact, _: Others, chance: random.Random) -> Iterator[Planted]:
    """A wrong result that comes with its computation."""
    if fact.form == "sum":
        result = _spoilt(fact.answer, chance)
        yield bad(fact, answer=result, computation=_computation(fact, result))
        yield replace(good(fact), computation=_computation(fact, fact.answer))


def _other_result(fact: Fact, chance: random.Random) -> str:
    """The difference of two other numbers of the quoted rows, or a spoilt result."""
    items = fact.sum.items if fact.sum is not None else ()
    found = NUMBER.findall(" ".join(fact.quotes))
    others = sorted({float(one.replace(",", "")) for one in found if one not in items})
    if len(others) < 2:
        return _spoilt(fact.answer, chance)
    one, other = chance.sample(others, 2)
    return f"{abs(one - other):.6g}"


def wrong_sum_alone(fact: Fact, _: Others, chance: random.Random) -> Iterator[Planted]:
    """A wrong result without its computation: of other numbers in the quotes, where there are some."""
    result = _other_result(fact, chance) if fact.form == "sum" else fact.answer
    if result != fact.answer:
        yield from pair(fact, answer=result)


def wrong_count(fact: Fact, _: Others, chance: random.Random) -> Iterator[Planted]:
    """One or two too many, with the items that were counted."""
    if fact.form == "count":
        result = str(int(fact.answer) + chance.choice((1, 2)))
        yield bad(fact, answer=result, computation=_computation(fact, result))
        yield replace(good(fact), computation=_computation(fact, fact.answer))


def false_premise(fact: Fact, _: Others, chance: random.Random) -> Iterator[Planted]:
    """A year, number or name of the question changed into one that the page does not have."""
    years = re.findall(r"\b(?:19|20)\d\d\b", fact.question)
    names = [one for one in NAME.findall(fact.question) if one in fact.page.text]
    if fact.form.startswith("gap") or not (years or names):
        return
    old = chance.choice(years or names)
    new = (
        str(int(old) + chance.choice((7, 11, 23)))
        if years
        else chance.choice(("Ostrava", "Lindqvist", "Marabelle"))
    )
    if new not in fact.page.text:
        yield from pair(fact, question=fact.question.replace(old, new), honest="")


def pointing(fact: Fact, _: Others, chance: random.Random) -> Iterator[Planted]:
    """A question that points at a text which its reader does not see."""
    if not fact.form.startswith("gap") and not _PLACE.search(fact.question):
        form = chance.choice(_POINTING)
        first = fact.question if form.startswith("{") else fact.question[:1].lower() + fact.question[1:]
        yield from pair(fact, question=form.format(first))


def absent(fact: Fact, others: Others, chance: random.Random) -> Iterator[Planted]:
    """Question and answer of another document with a sentence of this one."""
    other = others.elsewhere(fact, chance)
    if other is not fact and fact.form in ("span", "cell", "gap number", "gap name") and fact.page.sentences:
        yield from pair(
            fact,
            question=other.question,
            answer=other.answer,
            quotes=(chance.choice(fact.page.sentences),),
            honest="",
        )


def absent_question(fact: Fact, others: Others, chance: random.Random) -> Iterator[Planted]:
    """The question of another document with an answer and evidence of this one."""
    other = others.elsewhere(fact, chance)
    if other is not fact and fact.form in ("span", "cell"):
        yield from pair(fact, question=other.question, honest="")


def needless_hop(fact: Fact, _: Others, chance: random.Random) -> Iterator[Planted]:
    """One sentence answers it, but it claims to need two."""
    rest = [one for one in fact.page.sentences if one not in fact.quotes]
    if fact.form == "span" and rest:
        yield from pair(fact, quotes=(*fact.quotes, chance.choice(rest)), question_type="multi_hop")
