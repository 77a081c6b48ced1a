"""Reads the answers of candidates from a CSV file, and keeps the statistics of the items as a record of the store.

The statistics of items and forms are those of classical test theory, with intervals. Rules set the flags of items. An item is compared
with the score on the other items. Intervals of shares are Wilson's. Intervals of correlations and of KR-20 come from resampling the
candidates with a fixed seed.
"""

import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from io import StringIO
from math import sqrt
from pathlib import Path

import numpy as np

from qagen_dagster.errors import ConfigError, TooLargeError
from qagen_dagster.loop.exams.paper import papers
from qagen_dagster.loop.statistics import Floats, Scores, over, wilson
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.blind import Letter
from qagen_dagster.records.exams.bank import ExamItem
from qagen_dagster.records.exams.paper import (
    PRINTED,
    Estimate,
    FormStatistics,
    ItemFlag,
    ItemStatistics,
    Paper,
    PaperItem,
    Sitting,
    version_of,
)
from qagen_dagster.records.ids import fingerprint
from qagen_dagster.untrusted_file import read_file

_MOST_BYTES = 100_000_000  # maximum size of a file
_COLUMNS = ("candidate", "form", "item", "position", "letter")
_NO_ANSWER = ("", "-", "0")
Z = 1.96  # half the width of a 95 % interval, in standard errors
_SURE = 0.5  # percentile: a key must not be accused by chance, and there are many options
_LEAST_DISCRIMINATION, _MOST_FACILITY = 0.2, 0.95  # items beyond these hardly tell candidates apart
_DEAD_SHARE = 0.05  # an option that surely has a smaller share of the wrong answers is dead


@dataclass
class _Answers:
    """The answers by candidate and item, with letters of the bank; the form of each candidate, and the items of each form."""

    given: dict[str, dict[str, str]]
    forms: dict[str, str]
    items: dict[str, dict[str, None]]
    odd: list[int]  # lines with a letter that the item does not have
    gone: dict[str, None]  # items of the paper that are no longer in the bank


def read_responses(
    space: Workspace, exam: str, items: Sequence[ExamItem], file: Path, paper: str | None
) -> tuple[Sitting, tuple[str, ...]]:
    """Compute the statistics of the answers in `file`, and store them. Also returns warnings about answers that are not used.

    `paper` is the id of a paper. Without it, positions belong to the only paper of the exam, and letters of items are the bank's letters.
    Raises ConfigError for an unreadable file, an unknown paper, or a faulty line, such as an answer to an unknown item.
    """
    text = _text(file)
    rows = _rows(text, file)
    asked = _paper(papers(space, exam), paper, needed="position" in rows[0][1])
    bank = {one.id: one for one in items}
    answers = _answers(rows, file, bank, asked)
    groups: dict[frozenset[str], list[str]] = defaultdict(list)  # forms with the same items
    for form in dict.fromkeys(answers.forms.values()):
        groups[frozenset(answers.items[form])].append(form)
    forms: list[FormStatistics] = []
    statistics: list[ItemStatistics] = []
    for names in groups.values():
        held = [bank[one] for one in answers.items[names[0]]]
        letters = [answers.given[one] for one, form in answers.forms.items() if form in names]
        table = Table([[one.get(item.id, "") for item in held] for one in letters], held)
        forms.append(_form(table, names))
        statistics += map(table.figures, range(len(held)))
    sitting = Sitting(
        id=f"sitting-{fingerprint([exam, asked.id if asked else '', text])}",
        exam=exam,
        paper=asked.id if asked else "",
        file=file.name,
        read=datetime.now(UTC).date(),
        candidates=len(answers.given),
        forms=tuple(forms),
        items=tuple(statistics),
    )
    space.store.write(Sitting.key(exam, sitting.id), sitting)
    return sitting, tuple(_warnings(file, answers, asked, statistics))


def _warnings(
    file: Path, answers: _Answers, paper: Paper | None, found: Iterable[ItemStatistics]
) -> Iterator[str]:
    if answers.odd:
        yield f"{file}:{answers.odd[0]}: {len(answers.odd)} answers with a letter that the item does not have count as wrong"
    for item in answers.gone:
        yield f"item {item} of the paper is no longer in the bank, and is left out"
    printed = {one.item: one.version for form in paper.forms for one in form.items} if paper else {}
    for one in found:
        if printed.get(one.item, one.version) != one.version:
            yield f"item {one.item} has changed since the paper was drawn"


def sittings(space: Workspace, exam: str) -> list[Sitting]:
    """The sittings of an exam, the oldest first. A damaged record is left out."""
    keys = (key for key in space.store.list(Sitting.folder(exam)) if key.endswith(".json"))
    found = (space.store.find_valid(key, Sitting) for key in keys)
    return sorted((one for one in found if one is not None), key=lambda one: (one.read, one.id))


def latest_statistics(found: Iterable[Sitting]) -> dict[str, ItemStatistics]:
    """For each item, its statistics in the last sitting that has it."""
    return {item.item: item for sitting in found for item in sitting.items}


def _text(file: Path) -> str:
    try:
        return read_file(file, _MOST_BYTES).decode("utf-8-sig")
    except TooLargeError:
        raise ConfigError(f"is larger than {_MOST_BYTES // 1_000_000} MB", file=file) from None
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=file) from None
    except UnicodeDecodeError:
        raise ConfigError("is not UTF-8 text", file=file) from None


def _rows(text: str, file: Path) -> list[tuple[int, dict[str, str]]]:
    """The rows as values by column, each with its line number. Raises ConfigError if a column is missing or there is no row."""
    head = text.partition("\n")[0]
    lines = csv.reader(StringIO(text), delimiter=max(",;\t", key=head.count))
    rows: list[tuple[int, dict[str, str]]] = []
    try:
        names = [name.strip().casefold() for name in next(lines, list[str]())]
        for line in lines:
            row = dict(zip(names, (cell.strip() for cell in line), strict=False))
            if any(row.values()):
                rows.append((lines.line_num, {name: row.get(name, "") for name in _COLUMNS if name in names}))
    except csv.Error as error:
        raise ConfigError(f"is not CSV: {error}", file=file, line=lines.line_num) from None
    missing = [name for name in ("candidate", "letter") if name not in names]
    missing += [] if {"item", "position"} & set(names) else ["item or position"]
    if missing:
        shown = ", ".join(names) or "none"
        raise ConfigError(
            f"has no column {' and no column '.join(missing)} (columns: {shown})", file=file, line=1
        )
    if not rows:
        raise ConfigError("has no answers", file=file)
    return rows


def _paper(known: Sequence[Paper], wanted: str | None, *, needed: bool) -> Paper | None:
    """The paper with the id `wanted`. Without an id: the only paper if `needed`, else None. Raises ConfigError."""
    if wanted is None and not needed:
        return None
    found = [one for one in known if wanted in (None, one.id)]
    if len(found) == 1:
        return found[0]
    ids = ", ".join(one.id for one in known) or "none"
    what = f"there is no paper {wanted!r}" if wanted else "name the paper of the positions with --paper"
    raise ConfigError(f"{what} (papers: {ids})")


def _answers(
    rows: Iterable[tuple[int, dict[str, str]]], file: Path, bank: Mapping[str, ExamItem], paper: Paper | None
) -> _Answers:
    """The answers of all lines. Raises ConfigError with the line of an answer that belongs to no item or contradicts another line."""
    printed = {str(form.number): form.items for form in paper.forms} if paper else {}
    only = next(iter(printed)) if len(printed) == 1 else ""
    found = _Answers({}, {}, defaultdict(dict), [], {})
    for line, row in rows:
        candidate, form = row["candidate"], row.get("form", "") or only
        shown, item, fault = _asked(row, form, printed, bank)
        letters = found.given.setdefault(candidate, {})
        if not fault and found.forms.setdefault(candidate, form) != form:
            fault = f"candidate {candidate} has form {form!r} and form {found.forms[candidate]!r}"
        elif not fault and item in letters:
            fault = f"candidate {candidate} answers item {item} twice"
        if fault:
            raise ConfigError(fault, file=file, line=line)
        held = [one.item for one in printed[form]] if printed else [item]
        found.items[form].update(dict.fromkeys(one for one in held if one in bank))
        found.gone.update(dict.fromkeys(one for one in held if one not in bank))
        letter = row["letter"].upper()
        if shown is not None:  # the option of the bank that is printed at the letter
            order: dict[str, str] = dict(zip(PRINTED, shown.order, strict=False))
            letter = order.get(letter, letter.lower())
        letters[item] = letter if item in bank and letter in bank[item].question.options else ""
        if item in bank and not letters[item] and row["letter"] not in _NO_ANSWER:
            found.odd.append(line)
    return found


def _asked(
    row: Mapping[str, str],
    form: str,
    printed: Mapping[str, Sequence[PaperItem]],
    bank: Mapping[str, ExamItem],
) -> tuple[PaperItem | None, str, str]:
    """Returns (printed item, item id, fault or ""). A line names an item by its id or by its position in the form, from 1."""
    held, item, position = printed.get(form, ()), row.get("item", ""), row.get("position", "")
    at = int(position) - 1 if position.isdecimal() else -1
    chosen = [one for place, one in enumerate(held) if (one.item == item if item else place == at)]
    shown, asked, fault = next(iter(chosen), None), item or f"position {row.get('position')}", ""
    item = shown.item if shown else item
    if not row["candidate"]:
        fault = "has no candidate"
    elif printed and form not in printed:
        fault = f"the paper has no form {form!r} (forms: {', '.join(printed)})"
    elif printed and shown is None:
        fault = f"the form has no item {asked}"
    elif not printed and item not in bank:
        fault = f"the bank has no item {asked}"
    return shown, item, fault


class Table(Scores):
    """Answers of candidates (rows) to items (columns); "" is no answer. At least one candidate and one item."""

    def __init__(self, answers: Sequence[Sequence[str]], items: Sequence[ExamItem]) -> None:
        self._items = items
        self._answers = np.array(answers, dtype="U1")
        keys = np.array([item.question.correct_option for item in items])
        super().__init__(self._answers == keys)

    def reliability(self) -> Estimate | None:
        """KR-20; None if it is not defined."""
        items = self.right.shape[1]
        shares, variance = self.weights @ self.right, self.variance(self.scores)
        inner = (shares * (1 - shares)).sum(axis=1)
        if items == 1:
            return None
        return _estimate(items / (items - 1) * (1 - over(inner, variance)))

    def figures(self, column: int) -> ItemStatistics:
        """The statistics of one item."""
        item, letters, right = self._items[column], self._answers[:, column], self.right[:, column]
        key = item.question.correct_option
        rest = self.scores - right
        upper, lower = _third(rest), _third(-rest)
        by_option: dict[Letter, Floats] = {one: (letters == one).astype(float) for one in item.letters}
        with_rest: dict[Letter, Floats] = {
            letter: self.correlation(taken, rest) for letter, taken in by_option.items()
        }
        chosen: dict[Letter, int] = {letter: int(taken.sum()) for letter, taken in by_option.items()}
        high, low = float(upper @ right / upper.sum()), float(lower @ right / lower.sum())
        facility = share_of(right.mean(), len(right))
        discrimination = _estimate(with_rest[key])
        among: dict[Letter, float] = {letter: float(upper @ taken) for letter, taken in by_option.items()}
        dead, suspected = _dead(chosen, key), _suspected(with_rest, among, key)
        return ItemStatistics(
            item=item.id,
            version=version_of(item),
            key=key,
            candidates=len(right),
            facility=facility,
            discrimination=discrimination,
            upper=high,
            lower=low,
            thirds=_difference(share_of(high, upper.sum()), share_of(low, lower.sum())),
            chosen=chosen,
            dead=dead,
            suspected=suspected,
            flags=_flags(facility, discrimination, dead, suspected, len(item.letters)),
        )


def _form(table: Table, names: Sequence[str]) -> FormStatistics:
    return FormStatistics(
        forms=tuple(names),
        candidates=len(table.scores),
        items=table.right.shape[1],
        mean=float(table.scores.mean()),
        deviation=float(table.scores.std()),
        reliability=table.reliability(),
    )


def share_of(share: float, count: float) -> Estimate:
    """A share of `count` with Wilson's interval."""
    low, high = wilson(share * count, count, Z)
    return Estimate(value=share, low=low, high=high)


def _difference(one: Estimate, other: Estimate) -> Estimate:
    """The difference of two independent shares, with Newcombe's interval."""
    value = one.value - other.value
    below = sqrt((one.value - one.low) ** 2 + (other.high - other.value) ** 2)
    above = sqrt((one.high - one.value) ** 2 + (other.value - other.low) ** 2)
    return Estimate(value=value, low=value - below, high=value + above)


def _estimate(values: Floats) -> Estimate | None:
    """The value of the sample, with the interval of its resamples; None if it is not defined."""
    if np.isnan(values[0]):
        return None
    low, high = np.nanpercentile(values, [2.5, 97.5])
    return Estimate(value=float(values[0]), low=float(low), high=float(high))


def _third(scores: Floats) -> Floats:
    """How far each candidate belongs to the third with the highest scores, from 0 to 1. Equal scores have equal values."""
    wanted = len(scores) / 3
    found = np.zeros(len(scores))
    for score in np.unique(scores)[::-1]:
        same = scores == score
        found[same] = min(1.0, max(0.0, wanted) / same.sum())
        wanted -= same.sum()
    return found


def _dead(chosen: dict[Letter, int], key: Letter) -> tuple[Letter, ...]:
    wrong: dict[Letter, int] = {letter: count for letter, count in chosen.items() if letter != key}
    total = sum(wrong.values())
    return tuple(
        letter
        for letter, count in wrong.items()
        if total and share_of(count / total, total).high < _DEAD_SHARE
    )


def _suspected(with_rest: dict[Letter, Floats], upper: dict[Letter, float], key: Letter) -> Letter | None:
    """The wrong option that strong candidates choose most, if it surely correlates with the score, and more than the key; else None."""
    others: list[Letter] = [one for one in upper if one != key]
    other = max(others, key=lambda one: (upper[one], one))
    found, of_key = with_rest[other], np.nan_to_num(with_rest[key])
    if upper[other] <= upper[key] or np.isnan(found[0]):
        return None
    sure = all(np.nanpercentile(values, _SURE) > 0 for values in (found, found - of_key))
    return other if sure else None


def _flags(
    facility: Estimate,
    discrimination: Estimate | None,
    dead: Sequence[Letter],
    suspected: Letter | None,
    options: int,
) -> tuple[ItemFlag, ...]:
    most = 1.0 if discrimination is None else discrimination.high
    rules = {
        ItemFlag.WRONG_KEY: suspected is not None,
        ItemFlag.NEGATIVE: most < 0,
        ItemFlag.WEAK: 0 <= most < _LEAST_DISCRIMINATION,
        ItemFlag.TOO_EASY: facility.low > _MOST_FACILITY,
        ItemFlag.TOO_HARD: facility.high < 1 / options,
        ItemFlag.DEAD: bool(dead),
    }
    return tuple(flag for flag, holds in rules.items() if holds)
