"""The names by which a question refers to the document and its parts, so that it stands on its own.

A document is either about one thing ("Acid Ant"), which gives questions its name, or a work that is cited ("DL-8 Data
Logger: Command Reference").
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from qagen_dagster.models.embedded.conversation import Line
from qagen_dagster.models.embedded.text.blocks import Block, Kind, segment
from qagen_dagster.models.embedded.text.passage import plain
from qagen_dagster.models.embedded.text.vocabulary import word_set

_VERSUS = re.compile(r"(?:^|\s)v(?:s)?\.?(?=\s|$)")
_WORK_WORD = re.compile(
    r"\b(?:manual|guide|reference|report|bulletin|handbook|introduction|overview|rules?|glossary|documentation|"
    r"tutorial|datasheet|sheet|catalogue?|journal|proceedings|minutes|notes?|letter|policy|plan|procedure|review|study|survey|"
    r"analysis|history|how|why|what|using|index|faq|examples?|changelog|release|specification|standard|act|order|opinion)\b",
    re.IGNORECASE,
)
_FURNITURE = re.compile(
    r"^(?:\W*|produced by .*|.*project gutenberg.*|.*proofreading team.*|abstract|contents|table of contents|research article|article|original (?:article|paper)|open access|"
    r"case report|correspondence|editorial|.*\b(?:doi|issn|http|www\.|©|copyright|volume|vol\.|pages? \d).*)$",
    re.IGNORECASE,
)
_SECTION_NUMBER = re.compile(r"^(?:\d{1,2}(?:\.\d{1,2})*\.?|[IVX]{1,4}\.|[A-Z]\.)\s+(?=\w)")
_SMALL = word_set("a an the of and or in on at to for from by with v. vs.")


@dataclass(frozen=True)
class Context:
    """The document's names. `thing` is "the Acid Ant", or empty if the document is a work."""

    title: str = ""
    thing: str = ""
    case: bool = False  # a court case
    words: Counter[str] = field(default_factory=Counter[str])  # number of occurrences in lower case
    plain: frozenset[str] = frozenset()  # words that occur in lower case
    names: frozenset[str] = frozenset()  # words with a capital inside a sentence, in lower case
    topic: frozenset[str] = frozenset()  # words of the title and of headings
    headings: Mapping[int, str] = field(default_factory=dict[int, str])

    def inner(self, section: tuple[str, ...]) -> str:
        """The innermost heading that differs from the title."""
        title = self.title.lower()
        names = (_SECTION_NUMBER.sub("", name) for name in reversed(section))
        return next((name for name in names if name.lower() not in title), "")

    def frame(self, section: tuple[str, ...] = (), *, table: str = "") -> str:
        """The phrase in front of a question that does not stand alone; empty without a title."""
        if not self.title:
            return ""
        place = self.title if self.case else f'"{self.title}"'
        inner = _cased(self.inner(section))
        if table:
            return f"According to {table} of {place}, "
        if self.thing:
            return f"According to the {place} entry, "
        if inner:
            return f'According to the "{inner}" section of {place}, '
        return f"In {place}, " if self.case else f"According to {place}, "


def title_of(head: Sequence[Line]) -> str:
    """The document's title from its first lines; empty if there is none."""
    for line in head:
        if line.text.startswith("# "):
            return plain(line.text[2:])[0].strip(" #*")
    if case := next(
        (found for line in head[:6] if (found := _in_line_case(line.text.strip()))), ""
    ) or _case_of(head):
        return case
    if any(re.match(r"#{2,6} ", line.text) for line in head):
        return ""
    return _first_lines(head)


def _first_lines(head: Sequence[Line]) -> str:
    """The first lines that are formatted like a title."""
    title: list[str] = []
    for line in head[:30]:
        text = plain(line.text)[0].strip()
        if title and not text and title[-1].isupper() and len(title) == 1:
            continue
        if title and (
            not text
            or title[0].isupper() != text.isupper()
            or not _is_title_line(text)
            or sum(map(len, title)) > 120
        ):
            break
        if text and _is_title_line(text):
            title.append(text)
        elif text and len(text.split()) > 14:
            break
    while title and title[-1].split()[-1].lower() in _SMALL:
        title.pop()
    title = [part.rstrip(":") for part in title]
    return _cased(": ".join(title) if title and title[0].isupper() else " ".join(title))


_DATED_WORK = re.compile(
    r"\b(?:minutes|report|letter|notice|order|opinion|newsletter|memo|memorandum|meeting)\b", re.I
)
_DAY = re.compile(
    r"\b\d{1,2} (?:January|February|March|April|May|June|July|August|September|October|November|December) \d{4}\b"
)


def _dated(title: str, head: Sequence[Line]) -> str:
    """The title with its date for minutes and letters, which share one title in a series."""
    if not _DATED_WORK.search(title) or any(char.isdigit() for char in title):
        return title
    day = next((found.group() for line in head[:8] if (found := _DAY.search(line.text))), "")
    return f"{title} of {day}" if day else title


def _in_line_case(text: str) -> str:
    """The case's name at the start of a line, such as "Khulumani v. Barclay National Bank"."""
    match = re.match(
        r"((?:[A-Z][\w.'&-]*,? ){1,6}v\. (?:[A-Z][\w.'&-]*(?: (?=[A-Z])|(?=[,;.]|$))){1,6})", text
    )
    return match.group(1).strip(" ,.") if match else ""


def file_title(name: str) -> str:
    """A title from a file's name, as a last resort; empty if the name is meaningless."""
    stem = re.sub(r"\.\w+$", "", name.rsplit("/", 1)[-1])
    words = [word for word in re.split(r"[-_ ]+", stem) if word and not word.isdigit()]
    if words and words[0].lower() in ("index", "readme") and "/" in name:
        return file_title(name.rsplit("/", 1)[0])
    if sum(map(len, words)) < 5 or any(char.isdigit() for char in "".join(words)):
        return ""
    return " ".join(
        word if word == "v" else word.capitalize() if word not in _SMALL or not at else word
        for at, word in enumerate(words)
    ).replace(" v ", " v. ")


_COURT = re.compile(r"\b(?:court of appeals|district court|supreme court|circuit court)\b", re.IGNORECASE)


def _is_title_line(text: str) -> bool:
    words = text.split()
    if _FURNITURE.match(text) or not 1 <= len(words) <= 16 or text[-1] in ".,;" or not text[0].isalnum():
        return False
    letters = sum(char.isalpha() for char in text)
    return (letters >= 0.7 * len(text.replace(" ", "")) and ": " not in text[:-1]) or (
        ":" in text and len(words) > 4
    )


def _cased(title: str) -> str:
    """A title in capitals converted to title case."""
    if not title.isupper():
        return title
    words = [word if any(char.isdigit() for char in word) else word.capitalize() for word in title.split()]
    return " ".join(
        word.lower() if index and word.lower() in _SMALL else word for index, word in enumerate(words)
    )


def _case_of(head: Sequence[Line]) -> str:
    """The case's name from a caption page in capitals: "United States of America v. Pedro Infante-Ruiz"."""
    texts = [line.text.strip(" ,_") for line in head]
    at = next((index for index, text in enumerate(texts) if _VERSUS.fullmatch(text)), None)
    if at is None:
        return ""
    upper = [index for index in range(at) if _is_party(texts[index])]
    left = texts[upper[-1]] if upper else ""
    if len(upper) > 1 and upper[-2] == upper[-1] - 1 and head[upper[-2]].text.strip()[-1:] not in ",.":
        left = f"{texts[upper[-2]]} {left}"
    right = next((text for text in texts[at + 1 :] if _is_party(text)), "")
    return f"{_party(left)} v. {_party(right)}" if left and right else ""


def _is_party(text: str) -> bool:
    letters = [char for char in text if char.isalpha()]
    return len(letters) >= 3 and sum(char.isupper() for char in letters) > 0.8 * len(letters)


def _party(text: str) -> str:
    first = re.split(r",|\bet al\b", text, flags=re.IGNORECASE)[0].strip()
    return " ".join(
        "-".join(part.capitalize() for part in word.split("-"))
        if word.lower() not in _SMALL
        else word.lower()
        for word in first.split()
    )


def read_context(
    head: Sequence[Line], title: str = "", headings: Mapping[int, str] | None = None, file: str = ""
) -> Context:
    """Names from the document's first lines; a `title` from the prompt wins unless the lines show a longer one."""
    read = title_of(head)
    # A title in capitals may be only the first of several title lines.
    fuller = title.isupper() and title.lower() in read.lower() and len(read) <= 120
    title = _cased(re.sub(r"\s+", " ", read if fuller or not title else title)).strip(" .")
    if not title or _COURT.search(title):
        title = file_title(file)
    title = _dated(title, head)
    blocks = segment(head)
    text = " ".join(block.passage.text for block in blocks if block.kind in (Kind.TEXT, Kind.ITEM))
    case = bool(_VERSUS.search(title))
    if len(title) > 120 and len(title.split(": ")[0].split()) >= 4:
        title = title.split(": ")[0]  # long titles lose their subtitle
    if len(title) > 240 or (len(title.split()) < 2 and not title[:1].isupper()):
        title = ""
    counts = Counter(re.findall(r"[a-z][a-z-]+", title.lower()) * 5)
    return Context(title, "" if case else thing_of(title, text), case, counts, headings=headings or {})


def thing_of(title: str, text: str) -> str:
    """The title with its article if it names one thing that the text is about; else empty."""
    words = title.split()
    if (
        not words
        or len(words) > 4
        or ":" in title
        or _WORK_WORD.search(title)
        or words[0].lower().endswith("ing")
    ):
        return ""
    last = re.escape(words[-1])
    if re.search(rf"\bthe (?:\w+ ){{0,2}}{last}\b", text, re.IGNORECASE):
        return f"the {title}"
    if re.search(rf"(?<!the )\b{last}\b", text):
        return title
    return ""


def plain_words(lines: Sequence[Line]) -> frozenset[str]:
    """Words written in lower case somewhere, which therefore are not names."""
    return frozenset(word for line in lines for word in re.findall(r"\b[a-z][a-z-]+\b", line.text))


def name_words(lines: Sequence[Line]) -> frozenset[str]:
    """Words with a capital inside a sentence, in lower case."""
    return frozenset(
        word.lower() for line in lines for word in re.findall(r"(?<=[a-z,] )[A-Z][a-z]+\b", line.text)
    )


def word_counts(blocks: Sequence[Block]) -> Counter[str]:
    """How often each word occurs; words of headings count five times."""
    counts: Counter[str] = Counter()
    for block in blocks:
        if block.kind is not Kind.CODE:
            weight = 5 if block.kind is Kind.HEADING else 1
            for word in re.findall(r"[a-z][a-z-]+", block.passage.text.lower()):
                counts[word] += weight
    return counts


def topic_words(blocks: Sequence[Block], context: Context) -> frozenset[str]:
    """Words of the title, of headings and of many paragraphs: "the logger" then needs no antecedent."""
    named = {word for block in blocks if block.kind is Kind.HEADING for word in _lower_words(block)}
    texts = [set(_lower_words(block)) for block in blocks if block.kind in (Kind.TEXT, Kind.ITEM)]
    spread = Counter(word for words in texts for word in words)
    often = {word for word, count in spread.items() if count >= max(5, len(texts) // 12)}
    return frozenset(named | often | set(re.findall(r"[a-z][a-z-]+", context.title.lower())))


def _lower_words(block: Block) -> list[str]:
    return re.findall(r"[a-z][a-z-]+", block.passage.text.lower())
