"""The version of an embedded model: a digest of its rules, so that changed rules count as another model."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from qagen_dagster.records.ids import digest

_PACKAGE = Path(__file__).resolve().parent / "embedded"
_RULES = {"exam": ("exams",), "problem": ("problems",)}  # folders by the prefix of the model's name
_QUESTIONS = ("answering", "questions", "text")
_KINDS = (".py", ".json", ".txt")  # of files: code, weights, word lists


@cache
def embedded_version(model: str, package: Path = _PACKAGE) -> str:
    """Sixteen hexadecimal digits of the files that decide the answers of `model`, read once per process."""
    folders = _RULES.get(model.partition("-")[0], _QUESTIONS)
    files = [*package.glob("*"), *(file for folder in folders for file in (package / folder).rglob("*"))]
    kept = sorted((file.relative_to(package).as_posix(), file) for file in files if file.suffix in _KINDS)
    return digest(*(part for name, file in kept for part in (name, file.read_bytes())))[:16]
