from __future__ import annotations

from pathlib import Path

import pytest

from qagen_dagster.models.embedded_version import embedded_version

MODELS = ("rules", "exam-designer", "problem-scanner")


def versions(package: Path) -> tuple[str, ...]:
    embedded_version.cache_clear()
    return tuple(embedded_version(model, package) for model in MODELS)


def write(package: Path, name: str, text: str) -> None:
    (package / name).parent.mkdir(parents=True, exist_ok=True)
    (package / name).write_text(text, encoding="utf-8")


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for name in ("provider.py", "questions/families/prose.py", "exams/roles.py", "problems/roles.py"):
        write(tmp_path, name, "rules = 1\n")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("questions/families/prose.py", (True, False, False)),
        ("questions/families/new.py", (True, False, False)),
        ("answering/weights.json", (True, False, False)),
        ("text/opposites.txt", (True, False, False)),
        ("exams/roles.py", (False, True, False)),
        ("problems/roles.py", (False, False, True)),
        ("provider.py", (True, True, True)),
        ("questions/__pycache__/prose.cpython-312.pyc", (False, False, False)),
    ],
)
def test_a_changed_file_changes_the_models_whose_rules_it_holds(
    package: Path, name: str, changed: tuple[bool, ...]
) -> None:
    before = versions(package)
    write(package, name, "rules = 2\n")
    after = versions(package)
    assert tuple(old != new for old, new in zip(before, after, strict=True)) == changed


def test_questions_exams_and_problems_have_versions_of_their_own() -> None:
    assert len({embedded_version(model) for model in MODELS}) == 3
