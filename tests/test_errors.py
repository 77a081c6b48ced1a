from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from qagen_dagster import errors
from qagen_dagster.errors import ConfigError, DocumentError, QagenError, TransientModelError


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ({}, "is wrong"),
        ({"key": "a.b"}, "a.b: is wrong"),
        ({"file": Path("c.yaml")}, "c.yaml: is wrong"),
        ({"file": "c.yaml", "line": 3}, "c.yaml:3: is wrong"),
        ({"file": "c.yaml", "line": 3, "key": "a.b"}, "c.yaml:3: a.b: is wrong"),
        ({"file": "c.yaml", "key": "a.b"}, "c.yaml: a.b: is wrong"),
        ({"line": 3}, "is wrong"),
    ],
)
def test_a_configuration_error_names_its_place(place: dict[str, object], expected: str) -> None:
    error = ConfigError("is wrong", **place)  # pyright: ignore[reportArgumentType]
    assert str(error) == expected
    assert error.message == "is wrong"


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    drawn: list[tuple[int, str]] = []
    for line in inspect.getdoc(errors).split("\n"):  # pyright: ignore[reportOptionalMemberAccess]
        bare = line.lstrip("│├└─ ")
        if bare.partition(" ")[0].endswith("Error"):
            drawn.append(((len(line) - len(bare)) // 4, bare.partition(" ")[0]))
    parents: list[str] = []
    for depth, name in drawn:
        kind = getattr(errors, name)
        assert kind.__base__.__name__ == (parents[depth - 1] if depth else "Exception")
        parents[depth:] = [name]
    defined = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, Exception)
    }
    assert defined == {name for _, name in drawn}


def test_every_expected_failure_is_one_of_ours() -> None:
    assert issubclass(DocumentError, QagenError)
    assert str(DocumentError("corrupt", "no pages")) == "corrupt: no pages"
    assert TransientModelError("busy").retry_after is None
    assert TransientModelError("busy", retry_after=2.5).retry_after == 2.5
