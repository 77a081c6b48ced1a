"""Extraction of an answer from a piece of the document, by the answer type that the question expects.

The reader uses patterns and word alignment instead of a parser, so that it does not share the generator's mistakes.
"""

from __future__ import annotations

import re

from qagen_dagster.models.embedded.answering.retrieval import Query
from qagen_dagster.models.embedded.answering.units import Unit
from qagen_dagster.models.embedded.text.values import terms
from qagen_dagster.models.embedded.text.vocabulary import word_set

_NUMBER_WORD = (
    "zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|"
    "nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand"
)
_QUANTIFIED = r"(?:(?:about|up to|at least|at most|less than|more than|fewer than|nearly|over|around|only|approximately) )?"
_NUMBER = (
    rf"{_QUANTIFIED}(?:(?<![\w-])[±<>~]?\d[\d,]*(?:\.\d+)?|\b(?:{_NUMBER_WORD})(?:-(?:{_NUMBER_WORD}))?\b)"
)
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
PATTERNS = {
    "number": re.compile(_NUMBER, re.IGNORECASE),
    "duration": re.compile(
        rf"{_NUMBER} (?:second|minute|hour|day|week|month|year|decade)s?\b", re.IGNORECASE
    ),
    "date": re.compile(
        rf"\b(?:\d{{1,2}} )?(?:{_MONTHS})(?: \d{{1,2}},?)?(?: \d{{4}})?\b|\b1[0-9]\d\d\b|\b20\d\d\b"
    ),
    "name": re.compile(
        r"\b(?:[A-ZÀ-Þ][\w.'\u2019-]*)(?: (?:of|de|la|van|von|the|and|for|[A-ZÀ-Þ][\w.'\u2019-]*))*\b(?<! of)(?<! and)(?<! the)"
    ),
}
_STOP = word_set("the a an of in on at to for from by with and or is are was were be its their that which")


def expected(asked: Query) -> str:
    """The answer type that the question expects."""
    text = asked.text.lower()
    for pattern, kind in _EXPECTATIONS:
        if pattern.search(text):
            return kind
    return "text"


_EXPECTATIONS = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"^how (?:many|much)", "number"),
        (r"^(?:for )?how long", "duration"),
        (r"^when ", "date"),
        (r"^(?:who|whom|by whom|where|which organi[sz]ation)\b", "name"),
        (r"^why ", "reason"),
        (r"^what happens (?:when|if|whenever)", "consequence"),
        (r"stand for\?$", "expansion"),
        (r"^which .*\b(?:highest|lowest)\b", "extreme"),
        (r"^what (?:is|are) (?:the |an? )?[^,]{1,60}\?$", "definition"),
    )
)


def answer_in(asked: Query, unit: Unit) -> str:
    """The answer in `unit`, or empty."""
    if unit.cells:
        return cell_for(asked, unit)
    if unit.label:
        return unit.body.strip() if _label_asked(asked, unit) else ""
    if asked.quoted and not all(quoted.lower() in unit.text.lower() for quoted in asked.quoted):
        return ""
    kind = expected(asked)
    if kind == "name":
        return _named(asked, unit.text)
    if kind in PATTERNS:
        return _typed(asked, unit.text, kind)
    if kind == "reason":
        found = re.search(r"\bbecause\b.*", unit.text)
        return found.group().rstrip(".; ") if found else ""
    if kind == "expansion":
        return _expansion(asked, unit.text)
    if kind == "consequence":
        return _consequence(asked, unit.text)
    if kind == "definition":
        return _defined(asked, unit.text)
    return gap(asked, unit.text)


def _named(asked: Query, text: str) -> str:
    """Who or where: the run of words missing from the question that looks most like a name."""
    left_out = [
        run
        for run in gaps(asked, text)
        if 1 <= len(run.split()) <= 12 and len(run) > 2 and not re.search(r"\d", run)
    ]
    if not left_out:
        return _typed(asked, text, "name")
    return max(left_out, key=lambda run: sum(word[0].isupper() for word in run.split()) / len(run.split()))


def _defined(asked: Query, text: str) -> str:
    """The text after "is" in a sentence about exactly the thing asked for."""
    found = re.search(r"\b(?:is|are|was|were|means)\b\s+(.*)", text)
    if found is None:
        return ""
    said = set(terms(text[: found.start()]))
    same = len(said & asked.terms) / max(1, len(said | asked.terms))
    return found.group(1).rstrip(".; ") if same >= 0.6 else ""


def _label_asked(asked: Query, unit: Unit) -> bool:
    """Whether the question asks for this label: it contains the whole label, quoted or as most of the question."""
    label = set(terms(unit.label))
    if any(unit.label.lower() == quoted.lower() for quoted in asked.quoted):
        return True
    return bool(label) and label <= asked.terms and len(label) >= 0.3 * len(asked.terms)


def cell_for(asked: Query, unit: Unit) -> str:
    """The cell under the header asked for, in a row that the question names."""
    rows = [
        index
        for index, cell in enumerate(unit.cells)
        if cell and set(terms(cell)) and set(terms(cell)) <= asked.terms
    ]
    named = bool(rows) or (len(unit.cells) > 0 and unit.table < 0)
    scores = [
        (len(set(terms(head)) & asked.terms) / max(1, len(set(terms(head)))), index)
        for index, head in enumerate(unit.header)
        if index not in rows and unit.cells[index]
    ]
    if not scores or (not named and len(unit.header) < 5):
        return ""
    best, column = max(scores, key=lambda item: (item[0], -item[1]))
    return unit.cells[column] if best >= 0.5 else ""


def _typed(asked: Query, text: str, kind: str) -> str:
    """The span of that type which is new and stands near the question's words."""
    spans = [match for match in PATTERNS[kind].finditer(text) if _is_new(match.group(), asked)]
    if not spans:
        return ""
    if kind == "number":
        thing = next(iter(terms(re.sub(r"^how (?:many|much)", "", asked.text.lower()))), "")
        return min(spans, key=lambda match: _distance(text, match.end(), thing)).group()
    longest = max(len(match.group()) for match in spans) if kind == "date" else 0
    return max(
        spans, key=lambda match: (_words_near(asked, text, match), len(match.group()) == longest)
    ).group()


def _words_near(asked: Query, text: str, span: re.Match[str]) -> float:
    """How many of the question's words stand near the span; nearer ones count more."""
    score = 0.0
    for word in re.finditer(r"[\w'-]+", text):
        if set(terms(word.group())) & asked.terms:
            gap_size = max(word.start() - span.end(), span.start() - word.end(), 0)
            score += 1 / (10 + gap_size)
    return score


def _is_new(span: str, asked: Query) -> bool:
    found = set(terms(span))
    return bool(found) and not found <= asked.terms and span.lower() not in _STOP


def _distance(text: str, end: int, thing: str) -> int:
    for match in re.finditer(r"[\w'-]+", text[end:]):
        if thing in terms(match.group()):
            return match.start()
    return 10_000


def _expansion(asked: Query, text: str) -> str:
    short = re.search(r"(\S+) stand for", asked.text)
    at = text.find(f"({short.group(1)})") if short else -1
    if short is None or at < 0:
        return ""
    before = text[:at].split()
    letters = sum(char.isalpha() for char in short.group(1).rstrip("s"))
    count, start = 0, len(before)
    while start > 0 and count < letters:
        start -= 1
        count += before[start].lower() not in _STOP
    found = " ".join(before[start:])
    return found if found[:1].lower() == short.group(1)[:1].lower() else ""


def _consequence(asked: Query, text: str) -> str:
    """The part of the sentence after the condition's comma."""
    condition = re.sub(r"^what happens ", "", asked.text.lower()).rstrip("?")
    if not text.lower().startswith(condition[:20]):
        return ""
    rest = text[len(condition) :].lstrip(" ,")
    return rest.rstrip(".; ")


def gap(asked: Query, text: str) -> str:
    """The longest run of the sentence's words that the question does not contain."""
    return max(gaps(asked, text), key=lambda run: len(terms(run)), default="")


def gaps(asked: Query, text: str) -> list[str]:
    """The runs of words that the question does not contain, in order."""
    tokens = list(re.finditer(r"\S+", text))
    runs: list[list[int]] = [[]]
    for index, token in enumerate(tokens):
        found = terms(token.group())
        if found and all(term in asked.terms for term in found):
            runs.append([])
        else:
            runs[-1].append(index)
    trimmed = [_trimmed(run, tokens) for run in runs]
    return [text[tokens[run[0]].start() : tokens[run[-1]].end()].strip(" ,.;:") for run in trimmed if run]


def _trimmed(run: list[int], tokens: list[re.Match[str]]) -> list[int]:
    drop = {
        "and",
        "or",
        "to",
        "of",
        "in",
        "on",
        "at",
        "by",
        "with",
        "from",
        "for",
        "is",
        "are",
        "was",
        "were",
        "that",
        "which",
    }
    while run and tokens[run[-1]].group().lower().strip(",.;") in drop | {"the", "a", "an"}:
        run = run[:-1]
    while run and tokens[run[0]].group().lower().strip(",.;") in drop:
        run = run[1:]
    return run
