"""Documents of the public folder, and facts of them: questions with right answers and the quotes that prove them.

TAT-QA and XQuAD have their own questions. Of books and court opinions, a sentence with a gap is the question.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from qagen_dagster.english.sentences import split
from qagen_dagster.records.document import Document, Outcome
from qagen_dagster.toolkit.document_view import DocumentView

MOST = {"TAT-QA": 150, "XQuAD": 40}  # documents
EACH = 6  # facts of each form of one document
NUMBER = re.compile(r"(?<![\w.,-])\d[\d,]*(?:\.\d+)?(?![\w,-])")
NAME = re.compile(r"(?<=[a-z,] )(?:[A-Z][a-z]{3,})(?: [A-Z][a-z]{2,}){0,2}")
_SUM = re.compile(r"\(?\s*([\d,.]+(?:\s*\+\s*[\d,.]+)+)\s*\)?\s*(?:/\s*(\d+))?\s*")
_PAIR = re.compile(r"\s*([\d,.]+)\s*([-/])\s*([\d,.]+)\s*")
_CHANGE = re.compile(r"\s*\(\s*([\d,.]+)\s*-\s*([\d,.]+)\s*\)\s*/\s*([\d,.]+)\s*")


@dataclass(frozen=True)
class Page:
    """A document of the folder. Half of them are set aside by the hash of the name."""

    name: str
    origin: str
    text: str

    @property
    def aside(self) -> bool:
        """Whether the document is in the half that nobody looked at while rules were written."""
        return hashlib.sha256(self.name.encode()).digest()[0] % 2 == 0

    @cached_property
    def view(self) -> DocumentView:
        """The document, opened for agents."""
        lines = tuple(self.text.split("\n"))
        document = Document(
            id=self.name,
            source=self.name,
            format="text",
            outcome=Outcome.PARSED,
            detail="",
            source_sha256=hashlib.sha256(self.text.encode()).hexdigest(),
            parser="text-1",
            line_count=len(lines),
        )
        return DocumentView(document, lines)

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """Its sentences with at least six words, tables left out."""
        found = (one.text for one in split(self.text))
        return tuple(one for one in found if len(one.split()) >= 6 and "|" not in one)


@dataclass(frozen=True)
class Sum:
    """How an answer was computed."""

    operation: str
    items: tuple[str, ...]  # numbers as the document writes them, each within a quote


@dataclass(frozen=True)
class Fact:
    """A question about a page with its right answer. Without all `quotes` the answer is not proven."""

    page: Page
    form: str  # cell, span, list, sum, count, gap
    question: str
    answer: str
    quotes: tuple[str, ...]
    heads: tuple[str, ...] = ()  # the header rows of the table
    parts: tuple[str, ...] = ()  # of a list: one for each quote
    sum: Sum | None = None
    start: int = 0  # of the answer in a quote


def load(folder: Path) -> list[Fact]:
    """Facts of the first documents of each source, in the order of a hash."""
    return [fact for read in (_tatqa, _xquad, _prose) for fact in read(folder)]


def _chosen(names: Sequence[str], origin: str) -> set[str]:
    ordered = sorted(names, key=lambda name: hashlib.sha256(f"planted {name}".encode()).hexdigest())
    return set(ordered[: MOST[origin]])


def _few(facts: Iterator[Fact], name: str) -> list[Fact]:
    groups: dict[str, list[Fact]] = {}
    for fact in facts:
        groups.setdefault(fact.form, []).append(fact)
    chance = random.Random(name)
    return [fact for group in groups.values() for fact in chance.sample(group, min(EACH, len(group)))]


def _tatqa(folder: Path) -> Iterator[Fact]:
    rows: list[dict[str, Any]] = json.loads((folder / "qa/tatqa_dataset_dev.json").read_text("utf-8"))
    chosen = _chosen([row["table"]["uid"] for row in rows], "TAT-QA")
    for row in rows:
        name = row["table"]["uid"]
        if name not in chosen:
            continue
        cells: list[list[str]] = [
            [" ".join(cell.split()) for cell in cells] for cells in row["table"]["table"]
        ]
        lines = [f"| {' | '.join(line)} |" for line in cells]
        text = [" ".join(paragraph["text"].split()) for paragraph in row["paragraphs"]]
        page = Page(f"tatqa-{name[:8]}", "TAT-QA", "\n\n".join([*text, "\n".join(lines)]))
        count = next((n for n, line in enumerate(cells) if line[0] and any(map(NUMBER.search, line[1:]))), 1)
        table = _Table(page, lines, cells, max(1, count))
        facts = [*(fact for one in row["questions"] for fact in table.facts(one)), *table.counts()]
        yield from _few(iter(facts), name)


@dataclass(frozen=True)
class _Table:
    page: Page
    lines: list[str]
    cells: list[list[str]]
    count: int  # of header rows

    @property
    def heads(self) -> tuple[str, ...]:
        return tuple(self.lines[: self.count])

    def facts(self, asked: dict[str, Any]) -> Iterator[Fact]:
        read = {
            "span": self._span, "multi-span": self._list, "arithmetic": self._sum, "count": self._count,
        }[asked["answer_type"]]  # fmt: skip
        found = read(asked)
        if found is not None:
            yield found

    def counts(self) -> Iterator[Fact]:
        """How many rows exceed a value of the first column of numbers."""
        rows = list(zip(self.lines, self.cells, strict=True))[self.count :]
        values = [(line, cells[0], value) for line, cells in rows if (value := _number(cells[1])) is not None]
        head = " ".join(filter(None, (line[1] for line in self.cells[: self.count])))
        ordered = sorted({value for _, _, value in values}, reverse=True)
        if len(ordered) < 4 or not head or not all(label for _, label, _ in values):
            return
        above = [(line, label) for line, label, value in values if value > ordered[3]]
        question = f"How many items exceed {ordered[3]:g} in the column {head}?"
        items, quotes = tuple(label for _, label in above), tuple(line for line, _ in above)
        if len(above) <= 4:
            yield Fact(
                self.page,
                "count",
                question,
                str(len(above)),
                quotes,
                self.heads[-1:],
                sum=Sum("count", items),
            )

    def _rows(self, text: str) -> list[str]:
        pairs = list(zip(self.lines, self.cells, strict=True))[self.count :]
        return [line for line, cells in pairs if text in cells]

    def _prose(self, text: str) -> list[str]:
        return [one for one in self.page.sentences if re.search(rf"(?<!\w){re.escape(text)}(?!\w)", one)]

    def _place(self, text: str) -> tuple[str, bool] | None:
        """The row or else the sentence that alone has the text, and whether it is a row."""
        rows, prose = self._rows(text), self._prose(text)
        if len(rows) == 1:
            return rows[0], True
        return (prose[0], False) if len(prose) == 1 and not rows else None

    def _span(self, asked: dict[str, Any]) -> Fact | None:
        answer = str(asked["answer"][0])
        place = self._place(answer)
        if place is None or len(answer.split()) > 20:
            return None
        quote, row = place
        heads = self.heads if row else ()
        return Fact(
            self.page,
            "cell" if row else "span",
            asked["question"],
            answer,
            (quote,),
            heads,
            start=quote.find(answer),
        )

    def _list(self, asked: dict[str, Any]) -> Fact | None:
        parts = [str(part) for part in asked["answer"] if part]
        places = [self._place(part) for part in parts]
        found = [place for place in places if place is not None]
        quotes = tuple(quote for quote, _ in found)
        if len(found) < len(parts) or len(set(quotes)) < len(parts) or len(parts) < 2:
            return None
        heads = self.heads if any(row for _, row in found) else ()
        return Fact(self.page, "list", asked["question"], "; ".join(parts), quotes, heads, parts=tuple(parts))

    def _sum(self, asked: dict[str, Any]) -> Fact | None:
        """Sums, differences, ratios, means and changes in per cent of numbers, each of which is in one row."""
        made = _computed(asked["derivation"])
        if made is None:
            return None
        rows = [[one for one in self.lines[self.count :] if _in_cells(item, one)] for item in made.items]
        answer = asked["answer"]
        if any(len(found) != 1 for found in rows) or not isinstance(answer, int | float):
            return None
        shown = f"{abs(answer):g}" if abs(answer) < 1e5 else f"{abs(answer):.0f}"
        shown += (
            "%" if asked["scale"] == "percent" and made.operation in ("percent", "percent_change") else ""
        )
        quotes = tuple(dict.fromkeys(found[0] for found in rows))
        return Fact(self.page, "sum", asked["question"], shown, quotes, self.heads, sum=made)

    def _count(self, asked: dict[str, Any]) -> Fact | None:
        items = tuple(" ".join(item.split()) for item in asked["derivation"].split("##"))
        places = [self._place(item) for item in items]
        quotes = tuple(place[0] for place in places if place is not None)
        if len(quotes) < len(items) or len(set(quotes)) not in (1, len(items)) or len(items) < 2:
            return None
        return Fact(
            self.page, "count", asked["question"], str(len(items)), tuple(dict.fromkeys(quotes)), self.heads,
            sum=Sum("count", items),
        )  # fmt: skip


def _number(cell: str) -> float | None:
    match = re.fullmatch(r"[$€£]?\s?(\d[\d,]*(?:\.\d+)?)%?", cell)
    return float(match.group(1).replace(",", "")) if match else None


def _in_cells(number: str, line: str) -> bool:
    return any(cell.strip(" $%()€£") == number for cell in line.split("|"))


def _computed(derivation: str) -> Sum | None:
    if match := _SUM.fullmatch(derivation):
        items = tuple(one.strip() for one in match.group(1).split("+"))
        if match.group(2) is None or int(match.group(2)) == len(items):
            return Sum("mean" if match.group(2) else "sum", items)
    if match := _PAIR.fullmatch(derivation):
        return Sum("difference" if match.group(2) == "-" else "ratio", (match.group(1), match.group(3)))
    if (match := _CHANGE.fullmatch(derivation)) and match.group(2) == match.group(3):
        return Sum("percent_change", (match.group(1), match.group(2)))
    return None


def _xquad(folder: Path) -> Iterator[Fact]:
    articles: list[dict[str, Any]] = json.loads((folder / "qa/xquad.en.json").read_text("utf-8"))["data"]
    chosen = _chosen([article["title"] for article in articles], "XQuAD")
    for article in articles:
        if article["title"] not in chosen:
            continue
        texts = [" ".join(paragraph["context"].split()) for paragraph in article["paragraphs"]]
        title = article["title"].replace("_", " ")
        page = Page(f"xquad-{article['title']}", "XQuAD", "\n\n".join([title, *texts]))
        spans = list(_spans(page, article["paragraphs"], texts))
        yield from _few(iter([*spans, *_joined(spans)]), page.name)


def _spans(page: Page, paragraphs: Sequence[dict[str, Any]], texts: Sequence[str]) -> Iterator[Fact]:
    for paragraph, text in zip(paragraphs, texts, strict=True):
        for asked in paragraph["qas"]:
            answer, start = asked["answers"][0]["text"], asked["answers"][0]["answer_start"]
            if text != paragraph["context"]:
                continue
            holding = [one for one in split(text) if one.start <= start and start + len(answer) <= one.end]
            if holding and len(holding[0].text.split()) >= 6 and answer == text[start : start + len(answer)]:
                place = start - holding[0].start
                yield Fact(page, "span", asked["question"], answer, (holding[0].text,), start=place)


def _joined(spans: Sequence[Fact]) -> Iterator[Fact]:
    """Two questions of a page as one."""
    for one, other in itertools.pairwise(spans):
        if (
            one.quotes != other.quotes
            and other.answer not in f"{one.quotes[0]} {one.question} {other.question}"
        ):
            second = other.question[:1].lower() + other.question[1:]
            question = f"{one.question.rstrip('?')}, and {second}"
            answer, quotes = f"{one.answer}; {other.answer}", (*one.quotes, *other.quotes)
            yield Fact(one.page, "list", question, answer, quotes, parts=(one.answer, other.answer))


def _prose(folder: Path) -> Iterator[Fact]:
    files = [*sorted(folder.glob("txt/court/*.txt")), *sorted(folder.glob("md/srd52/*.md")), folder / "txt/newton-opticks.txt"]  # fmt: skip
    for file in files:
        page = Page(f"prose-{file.stem}", "prose", file.read_text("utf-8", "replace")[:60_000])
        yield from _few(_gaps(page), page.name)


def _gaps(page: Page) -> Iterator[Fact]:
    """Sentences with one number or one name that is nowhere else in them."""
    for sentence in page.sentences:
        flat = " ".join(sentence.split())
        if not 10 <= len(flat.split()) <= 45:
            continue
        for form, pattern in (("gap number", NUMBER), ("gap name", NAME)):
            match = pattern.search(flat)
            if match and flat.count(match.group()) == 1 and len(match.group()) > 1:
                gap = f"{flat[: match.start()]}___{flat[match.end() :]}"
                question = f'In "{page.name.removeprefix("prose-")}", what completes the statement "{gap}"?'
                yield Fact(
                    page, form, question, match.group(), (sentence,), start=sentence.find(match.group())
                )
