"""A candidate (a question with its answer, evidence and origin), and the names by which it refers to the document, its parts,
columns and rows. Each check is one reason to refuse a candidate, and judges mainly by the words of the question and of
the answer.

A question asks for the value of a label only if the label is certainly the name of a property, such as "mean salinity (g/kg)".
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from qagen_dagster.english.dates import MONTHS
from qagen_dagster.english.words import content_stems, named_words, word_set
from qagen_dagster.models.embedded.conversation import Card, Line, quoted
from qagen_dagster.models.embedded.text.grammar import dictionary_nouns
from qagen_dagster.models.embedded.text.passages import Quote, balanced

# Nouns that name a property, so that "what is the <noun> of X" is idiomatic.
ATTRIBUTES = frozenset(named_words("property_nouns"))

# Nouns that head a table's first column; they are capitalised only as headings.
HEAD_NOUNS = frozenset(named_words("head_nouns"))

_SECTION_NUMBER = re.compile(r"^(?:\d{1,2}(?:\.\d{1,2})*\.?|[IVX]{1,4}\.|[A-Z]\.)\s+(?=\w)")
_SMALL = word_set("a an the of and or in on at to for from by with v. vs.")
_GENERIC_TITLE = re.compile(
    r"(?:cover|title|front) page|(?:application|technical|release|lecture|course)? ?notes?|data ?sheet|readme|index|"
    r"introduction|abstract|summary|contents|table of contents|chapter \w+|appendix \w*|untitled.*|document ?\d*|draft|"
    r"report|article|letter|paper|manuscript|supplementary \w+|overview|preface|foreword|welcome.*|home|main|page \d+|"
    r"(?:\w+ )?(?:university|institute|department|college)(?: of [\w ]+)?|.*\.(?:pdf|docx?|txt|md|tex|html?)",
    re.IGNORECASE,
)
# Words whose meaning depends on the text around the sentence. "You" is the reader of the document.
_POINTING = re.compile(
    r"\b(?:he|she|they|him|her|them|his|we|us|our|i|me|my|it|itself|some|here|there|such|previous|previously|today|yesterday|now|currently|later|then|next|subsequent|"
    r"again|another|only|similar|contrast|respective|in question|aforementioned|latter|former|(?:do|does|did|is|are|was|were|can|may|will|shall|must) (?:its|their)|a different|additional|further|the (?:same|present|other|one|following|relevant|corresponding|associated)|et al|you|your|(?:section|table|figure|fig\.?|box|step|item|line|example|chapter|algorithm|equation|listing|part|page) \(?\d+|appendix)\b|\b(?:above|below)(?! \d)",
    re.IGNORECASE,
)
_REFERRING = re.compile(r"\b(?:such(?! as)|we|our|your?)\b", re.IGNORECASE)  # the same in what tells much
# A text with such an end is cut off, because a formula follows.
_CUT = re.compile(r"\b(?:where|to|of|and|or|by|in|on|at|for|from|with|than|as|because|the|a|v)\??$")
_FORMULA = re.compile(
    r"- |--|[<>=\u0370-\u03ff\u2190-\u21ff]|\w_\w\b|·|[\U0001d400-\U0001d7ff\u2200-\u22ff\\|^{}]|(?<![\w'\u2019.])[b-uw-z](?![\w'.\u2019°])"
)
_TELLING = frozenset({"definition", "property"})  # their answers are mostly good
STRUCTURED = frozenset({"key", "cell"})  # families whose questions are not made from sentences
_MAX_QUESTION_WORDS = 15  # of a question made from a sentence
_MAX_ANSWER_WORDS = 30


@dataclass(frozen=True)
class Context:
    """The document's names. `title` is empty if nothing in the text confirms what seems to be the title."""

    title: str = ""
    plain: frozenset[str] = frozenset()  # words that occur in lower case
    names: frozenset[str] = frozenset()  # words that are capitalised inside a sentence, stored in lower case
    headings: tuple[tuple[int, str], ...] = ()  # (line number, title)

    def inner(self, section: tuple[str, ...]) -> str:
        """The innermost heading that is not a part of the title; empty if there is none."""
        names = (_SECTION_NUMBER.sub("", name) for name in reversed(section))
        return next((name for name in names if name.lower() not in self.title.lower()), "")

    def frame(self, section: tuple[str, ...] = (), *, table: str = "") -> str:
        """The phrase in front of a question that names the document; empty without a title."""
        inner = cased(self.inner(section))
        part = table or (f"the {quoted(inner)} section" if inner else "")
        return f"According to {part}{' of ' if part else ''}{quoted(self.title)}, " if self.title else ""


def cased(title: str) -> str:
    """A title in capitals converted to title case."""
    if not title.isupper():
        return title
    words = [word if any(char.isdigit() for char in word) else word.capitalize() for word in title.split()]
    return " ".join(
        word.lower() if index and word.lower() in _SMALL else word for index, word in enumerate(words)
    )


def _file_title(file: str) -> str:
    """A title from the file's name: "195251-united-states-v-brandon.txt" gives "United States v. Brandon"."""
    parts = file.rsplit("/", 2)[-2:]
    stem = re.sub(r"\.\w{1,5}$", "", parts[-1])
    if stem.lower() in ("index", "readme") and len(parts) > 1:
        stem = parts[0]
    words = re.sub(r"[-_\s]+", " ", re.sub(r"^\d{3,}[-_]", "", stem)).strip()
    return re.sub(r" V\.? ", " v. ", cased(words.upper())) if words else file


def _confirmed(title: str, lines: Sequence[Line], share: int) -> bool:
    """Whether the title is a Markdown heading at the top, or the rest of the text has at least 1/`share` of the title's longer words."""
    if any(line.text.startswith("# ") and title in cased(line.text) for line in lines[:5]):
        return True
    wanted = {
        word for word in re.findall(r"\w+", title.lower()) if len(word) > 3 or any(map(str.isdigit, word))
    }
    rest = (line.text.lower() for line in lines if line.text.strip(" #*").lower() not in title.lower())
    known = frozenset(word for text in rest for word in re.findall(r"\w+", text))
    near = sum(word in known or word.removesuffix("s") in known or f"{word}s" in known for word in wanted)
    return bool(wanted) and share * near >= len(wanted)


def read_context(about: Card, lines: Sequence[Line]) -> Context:
    """The names of a document, from its card and the lines that are known. If the document has no title, the file name serves as its title.
    A title that the text does not confirm, or that is generic, is left out. The text must confirm all longer words of a file name."""
    title = re.sub(r"\s+", " ", cased(about.title or _file_title(about.file))).strip(" .#")
    if _GENERIC_TITLE.fullmatch(title) or not _confirmed(title, lines, 3 if about.title else 1):
        title = ""
    return Context(title, headings=tuple(about.headings.items()))


def plain_words(lines: Sequence[Line]) -> frozenset[str]:
    """Words written in lower case somewhere, which therefore are not names."""
    return frozenset(word for line in lines for word in re.findall(r"\b[a-z][a-z-]+\b", line.text))


def name_words(lines: Sequence[Line]) -> frozenset[str]:
    """Words that are capitalised inside a sentence, converted to lower case."""
    return frozenset(
        word.lower() for line in lines for word in re.findall(r"[a-z,]\s+([A-Z][a-z]+)\b", line.text)
    )


@dataclass(frozen=True)
class Candidate:
    """`family` names the rule; `quality` orders candidates of one family (about 0 to 1)."""

    asked: str  # the question without its frame
    answer: str
    quotes: tuple[Quote, ...]
    family: str
    question_type: str
    quality: float = 0.5
    frame: str = ""  # the phrase that names the document, where the question needs it
    visuals: tuple[str, ...] = ()

    @property
    def question(self) -> str:
        first = self.asked[:1].lower() if self.frame else self.asked[:1].upper()
        return f"{self.frame}{first}{self.asked[1:]}"

    @property
    def line(self) -> int:
        return self.quotes[0].start_line


_CODE_KIND = word_set("option flag parameter setting field key argument property variable command")
_CODE = re.compile(r"^--?\w|^\w+[_.]\w+$|^`")
_ORDINAL = re.compile(r"^(?:first|second|third|last|next|previous|repeated|other|total)\b", re.IGNORECASE)
_UNIT = re.compile(r"^(.*\S)\s*[(\[]([^()\[\]\d]{1,16})[)\]]$")
PREPOSITION = re.compile(r"\s(?:of|per|for|to|in|on|at|above|below|from|with|by|between)\s")
_NUMERIC = re.compile(r"[^\w\s]{0,2} ?\d")
PLAIN_NUMBER = re.compile(r"^\d[\d,]*(?:\.\d+)?$")


def type_of(value: str) -> str:
    """The question type for a value: "numeric" for a number with at most a few words."""
    return "numeric" if _NUMERIC.match(value) and len(value.split()) <= 4 else "factual"


def in_sentence(name: str, context: Context) -> str:
    """A label as it is written inside a sentence: its first letter is small, unless it begins with a name or an abbreviation."""
    first, _, rest = name.partition(" ")
    known = first.lower() in context.plain or first.lower() not in context.names
    lower = first[1:].islower() and (known or first.lower() in HEAD_NOUNS)
    return name[:1].lower() + name[1:] if lower and not any(map(str.isupper, rest)) else name


def property_name(label: str, context: Context) -> str:
    """ "mean salinity in g/kg" for "Mean salinity (g/kg)"; empty if the label names no property."""
    unit = _UNIT.match(label.strip())
    base = unit.group(1) if unit else label.strip()
    head = PREPOSITION.split(base)[0].split()
    if (
        not head
        or len(base.split()) > 6
        or head[-1].lower() not in ATTRIBUTES
        or re.search(r"[\",]", base)
        or _ORDINAL.match(base)
    ):
        return ""
    return f"{in_sentence(base, context)} in {unit.group(2)}" if unit else in_sentence(base, context)


def row_words(first: str, label: str, context: Context) -> str:
    """The words that name a row: the label in its first cell, after the heading `first` of that column if that reads well."""
    kind = first.lower().rstrip("s")
    if _CODE.match(label) or re.fullmatch(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+", label):
        return f"the {kind} `{label}`" if kind in _CODE_KIND else f"`{label}`"
    named = in_sentence(first, context)
    common = named[:1].islower() and len(first.split()) <= 3 and first.replace(" ", "").isalpha()
    if PLAIN_NUMBER.match(label):
        return f"the {named} {label}" if common else f'the row in which "{first}" is {label}'
    return (
        f'the {named} "{label}"' if common and kind not in ("name", *label.lower().split()) else f'"{label}"'
    )


def _pointing(candidate: Candidate, context: Context) -> bool:
    """Whether the question or its answer has a word whose meaning depends on the text around the sentence."""
    in_answer = _REFERRING if candidate.family in _TELLING else _POINTING
    pointing = _POINTING.search(candidate.asked) or in_answer.search(candidate.answer)
    return candidate.family not in STRUCTURED and bool(pointing)


def _answer_shown(candidate: Candidate, context: Context) -> bool:
    """Whether the question reveals the answer."""
    answer = content_stems(candidate.answer)
    return set(answer) <= set(content_stems(candidate.question))


def _bad_form(candidate: Candidate, context: Context) -> bool:
    """Whether the question or the answer is too long, is broken off, or has a formula or an unpaired bracket or quote."""
    asked, answer = candidate.asked, candidate.answer
    from_prose = candidate.family not in STRUCTURED
    if (from_prose and len(asked.split()) > _MAX_QUESTION_WORDS) or len(answer.split()) > _MAX_ANSWER_WORDS:
        return True
    if not (balanced(asked) and balanced(answer)) or "__" in answer:  # or the blank of a form
        return True
    return from_prose and any(one.search(text) for one in (_CUT, _FORMULA) for text in (asked, answer))


_NAME = re.compile(r"(?<![?.!] )(?<!^)\b(?!I\b)[A-Z][\w'-]+|\w\.\w|[`_/]|\b[a-z]+\d|\d[a-z]{2,}|\s--?[a-z]")
_NO_NAME = re.compile(rf"\b(?:{'|'.join(MONTHS)})\b|\b[Tt]he [A-Z][a-z]+\b(?! [A-Z])")  # March, the User


def names_something(asked: str, context: Context) -> bool:
    """Whether the question has a name, a code or a term in backticks. The names of months do not count, nor do words that the
    document also writes in lower case or that are nouns of a dictionary, such as those of "the Finance Committee"."""
    names = {one[0].lower() for one in _NAME.finditer(_NO_NAME.sub("", asked))} - context.plain
    return any({name, name.removesuffix("s")}.isdisjoint(dictionary_nouns()) for name in names)


def _anywhere(candidate: Candidate, context: Context) -> bool:
    """Whether the question could be asked of any document: it names neither the document nor anything else, or has too few words."""
    if candidate.family in STRUCTURED:
        return not candidate.frame
    named = names_something(candidate.asked, context)
    few = len(set(content_stems(candidate.asked))) < (3 if named or candidate.family == "how_many" else 4)
    return (few and candidate.family not in _TELLING) or not (candidate.frame or named)


_CHECKS = (_pointing, _answer_shown, _bad_form, _anywhere)


def refusal(candidate: Candidate, context: Context) -> str | None:
    """The name of the first check that refuses the candidate, or None."""
    return next((check.__name__.strip("_") for check in _CHECKS if check(candidate, context)), None)
