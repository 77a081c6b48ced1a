"""Reads what a system under test gave: one row per question, with an answer, the retrieved passages, or both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import cast

from pydantic import ValidationError

from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.grading.answer_rows import lines, read_object
from qagen_dagster.records.scores import Passage, SystemAnswer, SystemOutput

_FIELDS = frozenset(SystemAnswer.model_fields)
Faulty = tuple[str, Mapping[str, object] | str]  # the place of a row, and the row or what is wrong with it


def read_output(path: Path, known: Iterable[str]) -> SystemOutput:
    """Read a JSON Lines file. `known`: the ids of the questions. Raises ConfigError when it cannot be read."""
    try:
        return _collect(path.stem, _rows(path), frozenset(known))
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=path) from None


def given_output(name: str, rows: Iterable[Mapping[str, object]], known: Iterable[str]) -> SystemOutput:
    """The same from rows that are in memory."""
    return _collect(name, ((f"{name}:{at}", row) for at, row in enumerate(rows, 1)), frozenset(known))


def _rows(path: Path) -> Iterator[Faulty]:
    for place, line in lines(path):
        try:
            yield f"{path}:{place.line}", read_object(line)
        except ValueError as error:
            yield f"{path}:{place.line}", str(error)


def _collect(name: str, rows: Iterable[Faulty], known: frozenset[str]) -> SystemOutput:
    answers: dict[str, SystemAnswer] = {}
    faults: list[str] = []
    for place, row in rows:
        try:
            if isinstance(row, str):
                raise ValueError(row)
            answer = _answer(row)
            if answer.id not in known:
                raise ValueError(f"no published question has the id {answer.id!r}")
            if answer.id in answers:
                raise ValueError(f"a row above has the id {answer.id!r}, too")
            answers[answer.id] = answer
        except ValueError as error:
            faults.append(f"{place}: {error}")
    return SystemOutput(name=name, answers=answers, faults=tuple(faults))


def _answer(row: Mapping[str, object]) -> SystemAnswer:
    """A row without the fields that are not ours. Raises ValueError, which says what is wrong."""
    fields = {name: value for name, value in row.items() if name in _FIELDS}
    passages = fields.get("passages")
    if isinstance(passages, (list, tuple)):
        fields["passages"] = [_passage(one) for one in cast("Iterable[object]", passages)]
    if not fields.keys() & {"answer", "passages"}:
        raise ValueError("it has neither `answer` nor `passages`")
    try:
        return SystemAnswer.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"`{place}`: {first['msg']}") from None


def _passage(value: object) -> object:
    """A passage that is only a document id counts as the whole document."""
    if isinstance(value, str):
        return {"document_id": value}
    if not isinstance(value, Mapping):
        return value
    fields = cast("Mapping[object, object]", value)
    return {name: fields[name] for name in Passage.model_fields if name in fields}
