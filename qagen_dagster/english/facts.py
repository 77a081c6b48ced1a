"""Finds the facts of a text that an answer must not change (amounts, dates, names, denials, directions) and compares them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, lru_cache

from qagen_dagster.english.amounts import Amount, amounts, with_bound
from qagen_dagster.english.dates import MONTHS, WEEKDAYS, Date, dates
from qagen_dagster.english.polarity import denied, polarities
from qagen_dagster.english.words import STOP_WORDS, is_content, plain, read, stem, tokens

_CAPITAL = re.compile(
    r"(?<![^\W_])(?:[a-z]{1,3}(?=[A-Z]))?[^\W\d_a-z][\w&]*(?:[.'\u2019&-]\w+)*|\b\w*(?:\d[A-Za-z]|[A-Za-z]\d)\w*\b|\b[A-Za-z]+-\d+\w*"
)
_MARKED = re.compile(r"([a-z]{4,})\d{1,2}")  # a name with the mark of a footnote: "arXiv6"
_OF_A_PLACE = ("n", "an", "ian", "ese", "es", "i")  # as in "Taiwanese", from Taiwan; stems lose a final e
_OPENING = re.compile(r"(?:^|[.!?:;•\n]\s*|[\"“'\u2018(\[]\s*|^\W*\d+[.)]\s+)$")
_CALENDAR = frozenset(name.lower() for name in (*MONTHS, *WEEKDAYS))


class Kind(StrEnum):
    """The kind of difference between two texts."""

    NUMBER = "number"
    DATE = "date"
    NAME = "name"
    NEGATION = "negation"
    DIRECTION = "direction"


@dataclass(frozen=True)
class Conflict:
    """The words of the claim, and the words that the evidence has instead. A negation has only the words that one of the two denies: in
    `claim` if the claim denies them, else in `evidence`."""

    kind: Kind
    claim: str
    evidence: str

    def line(self, place: str = "the evidence") -> str:
        """A description of the conflict: `says "2,400" where line 12 says "2,500"`."""
        if self.kind is Kind.NEGATION:
            return (
                f'denies "{self.claim}", {place} does not'
                if self.claim
                else f'does not deny "{self.evidence}" as {place} does'
            )
        return f'says "{self.claim}" where {place} says "{self.evidence}"'


@dataclass(frozen=True)
class Facts:
    """The facts of a text. Its content words are held as stems in order."""

    amounts: tuple[Amount, ...]
    dates: tuple[Date, ...]
    names: tuple[tuple[str, str], ...]  # stem and original spelling
    apart: tuple[int, ...]  # for each of `names`, the number of the full name that contains it
    denied: frozenset[str] | None  # stems in the scope of a denial; None if there is no denial
    polarities: tuple[tuple[tuple[int, int], str], ...]
    stems: tuple[str, ...]
    written: tuple[str, ...]  # the original words of `stems`

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(self.stems)

    @cached_property
    def values(self) -> frozenset[float]:
        """The values of all amounts, and the years, months and days of all dates that are not decades."""
        of_dates = (
            value
            for date in self.dates
            if not date.decade
            for value in (date.year, date.month, date.day)
            if value is not None
        )
        return frozenset([*(amount.value for amount in self.amounts), *map(float, of_dates)])

    def exact(self) -> "Facts":
        """The facts without comparisons: "before 1967" as 1967."""
        amounts, dates = (amount.exact() for amount in self.amounts), (date.exact() for date in self.dates)
        return replace(self, amounts=tuple(amounts), dates=tuple(dates))


@lru_cache(maxsize=50_000)
def facts(text: str) -> Facts:
    """The facts of `text`, which is a claim or a few sentences."""
    return replace(facts_of_document(text), denied=denied(text), polarities=tuple(polarities(text).items()))


def facts_of_document(text: str) -> Facts:
    """The facts of a whole document. They are not cached, and they have no denials and directions, which belong to sentences."""
    dated = tuple(dates(text))
    content = tuple(token for token in read(text) if is_content(token))
    named = {name: (shown, full) for name, shown, full in _placed(text)}
    return Facts(
        tuple(_outside(amounts(text), dated)),
        dated,
        tuple((name, shown) for name, (shown, _) in named.items()),
        tuple(full for _, full in named.values()),
        None,
        (),
        tuple(stem(token) for token in content),
        content,
    )


def _outside(found: Iterable[Amount], dated: Sequence[Date]) -> Iterator[Amount]:
    """The amounts that are not part of a date. Both arguments must be ordered by position."""
    ahead = 0
    for amount in found:
        while ahead < len(dated) and dated[ahead].end <= amount.start:
            ahead += 1
        if ahead == len(dated) or dated[ahead].start >= amount.end:
            yield amount


def _placed(text: str) -> Iterator[tuple[str, str, int]]:
    """Words that name something: codes, and capitalised words that do not merely begin a sentence. Each is a stem, the original word, and
    the number of its full name. A full name consists of names with only a space or a hyphen between them."""
    text = text if text.isascii() else plain(text)
    full, until = 0, -1
    for match in _CAPITAL.finditer(text):
        word = match.group().removesuffix("'s").removesuffix("\u2019s")
        low = word.lower()
        if low in STOP_WORDS or low in _CALENDAR or (len(word) < 2 and not word.isdigit()):
            continue
        coded = any(char.isdigit() for char in word) or sum(map(str.isupper, word)) > 1
        opens = _OPENING.search(text[max(0, match.start() - 8) : match.start()])
        if coded or not opens or _goes_on(text, match.end()):
            full += until < 0 or text[until : match.start()] not in (" ", "-")
            until = match.end()
            yield from (
                (stem(part), word if part == low else part, full)
                for part in tokens(word)
                if part not in STOP_WORDS
            )


def _goes_on(text: str, end: int) -> bool:
    """Whether another name follows, so that the first word is also a name ("Southern Italy", but not "Low CSF")."""
    following = text[end : end + 3]
    return (
        len(following) == 3
        and following[0] in " -"
        and following[1].isupper()
        and not following[2].isupper()
        and following[2] not in "-/"
    )


def differences(claim: Facts, evidence: Facts) -> list[Conflict]:
    """The conflicts of `claim` with `evidence`, in the order number, date, name, negation, direction."""
    found = [*_amounts(claim, evidence), *_dates(claim, evidence), *_names(claim, evidence)]
    return [*found, *_negation(claim, evidence), *_directions(claim, evidence)]


def missing_amounts(claim: Facts, evidence: Facts) -> list[Amount]:
    """The amounts of the claim that the evidence does not have in any form."""
    values = evidence.values
    return [
        amount
        for amount in claim.amounts
        if not any(amount.same(other) for other in evidence.amounts)
        and (amount.measured or amount.bound or amount.value not in values)
    ]


def missing_dates(claim: Facts, evidence: Facts) -> list[Date]:
    """The dates of the claim that agree with no date of the evidence. A bare year that the evidence has as a number is not missing."""
    values = {amount.value for amount in evidence.amounts}
    return [
        date
        for date in claim.dates
        if not any(date.agrees(other) for other in evidence.dates)
        and not (date.month is None and date.year is not None and not date.decade and date.year in values)
    ]


def missing_names(claim: Facts, evidence: Facts) -> list[str]:
    """The names of the claim, as written, that the evidence lacks. The evidence does not lack an abbreviation
    in capitals if the initials of its names spell it."""
    words = evidence.words | {name for name, _ in evidence.names}
    words |= {found[1] for name, _ in evidence.names if (found := _MARKED.fullmatch(name))}
    words |= {name + ending for name, _ in evidence.names for ending in _OF_A_PLACE}
    initials = "".join(name[0] for name, _ in evidence.names)
    return [
        shown
        for name, shown in claim.names
        if name not in words and not (shown.isupper() and name in initials)
    ]


def _amounts(claim: Facts, evidence: Facts) -> Iterator[Conflict]:
    free = [one for one in evidence.amounts if not any(mine.same(one) for mine in claim.amounts)]
    for amount in missing_amounts(claim, evidence):
        rivals = [one for one in free if amount.comparable(one) and not (one.bound and one.same(amount))]
        rivals.sort(key=lambda rival: (rival.unit != amount.unit, abs(rival.value - amount.value)))
        if rivals:
            yield _conflict(Kind.NUMBER, amount, rivals[0])


def _dates(claim: Facts, evidence: Facts) -> Iterator[Conflict]:
    free = [one for one in evidence.dates if not any(mine.agrees(one) for mine in claim.dates)]
    for date in missing_dates(claim, evidence):
        rivals = [one for one in free if date.comparable(one) and not (one.bound and one.agrees(date))]
        if rivals:
            yield _conflict(Kind.DATE, date, rivals[0])


def _conflict(kind: Kind, claim: Amount | Date, evidence: Amount | Date) -> Conflict:
    """The conflict between two values, with both as written and with their comparisons."""
    mine, theirs = (with_bound(one.text, one.bound, date=kind is Kind.DATE) for one in (claim, evidence))
    return Conflict(kind, mine, theirs)


def _names(claim: Facts, evidence: Facts) -> Iterator[Conflict]:
    mine = claim.words | {name for name, _ in claim.names}
    free = [shown for name, shown in evidence.names if name not in mine]
    missing = missing_names(claim, evidence)
    if missing and free:
        yield Conflict(Kind.NAME, _joined(missing[:3], claim), _joined(free[:3], evidence))


def _joined(shown: Sequence[str], of: Facts) -> str:
    """Words of names, with a comma between words of different names."""
    full = {word: number for (_, word), number in zip(of.names, of.apart, strict=True)}
    pairs = zip(shown, [None, *shown], strict=False)
    return "".join(
        word if before is None else f"{' ' if full[word] == full[before] else ', '}{word}"
        for word, before in pairs
    )


def _negation(claim: Facts, evidence: Facts) -> Iterator[Conflict]:
    if claim.denied is not None and evidence.denied is None:
        shared = _shown(claim, claim.denied & evidence.words)
        if shared or not claim.denied:
            yield Conflict(Kind.NEGATION, shared or "it", "")
    if claim.denied is None and evidence.denied:
        shared = _shown(claim, evidence.denied)
        if shared:
            yield Conflict(Kind.NEGATION, "", shared)


def _shown(claim: Facts, stems: frozenset[str]) -> str:
    """The claim's words with these stems, as written, without duplicates."""
    found = [word for word, root in zip(claim.written, claim.stems, strict=True) if root in stems]
    return " ".join(dict.fromkeys(found))


def _directions(claim: Facts, evidence: Facts) -> Iterator[Conflict]:
    mine, theirs = dict(claim.polarities), dict(evidence.polarities)
    for (axis, side), word in mine.items():
        other = (axis, 1 - side)
        if (axis, side) not in theirs and other in theirs and other not in mine:
            yield Conflict(Kind.DIRECTION, word, theirs[other])
