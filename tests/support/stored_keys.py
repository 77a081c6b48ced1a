"""A key of every kind that the package can make, for tests that hold documentation to them."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from qagen_dagster.answering import full_text
from qagen_dagster.loop.catalog import CATALOG
from qagen_dagster.loop.exams import bank
from qagen_dagster.loop.figures import Drawing
from qagen_dagster.loop.problems import bank as problem_bank
from qagen_dagster.loop.questions.publication import exports
from qagen_dagster.publishing.questions import set_files
from qagen_dagster.records.evaluation import Kind
from qagen_dagster.records.exams.submissions import ExamPart
from qagen_dagster.records.ids import Combination
from qagen_dagster.records.problems.submissions import Picture
from qagen_dagster.store import Store
from tests.support.source_tree import Source, dotted, package

VALUES: dict[str, Any] = {
    "Combination.self": Combination.from_key("corpus/scenario/textual"),
    "ExamPart.self": ExamPart.from_key("exam/M1/easy"),
    "Drawing.self": Drawing(""),
    "Blobs.self": Store("/").blobs("ledger"),
    "combination": Combination.from_key("corpus/scenario/textual"),
    "corpus": "corpus",
    "document_id": "document",
    "fingerprint": "0123abcd",
    "content_id": "0123abcd",
    "question_id": "q-0123abcd",
    "decision_id": "0123abcd",
    "run_id": "run",
    "spending_id": "run",
    "shard": 3,
    "launch": "run",
    "key": "aabbcc",
    "code": "\\draw;",
    "kind": Kind.CLOSED_BOOK,
    "slot": 7,
    "exam": "exam",
    "paper": "paper-0123abcd",
    "sitting": "sitting-0123abcd",
    "problem_set": "mechanics",
    "problem_id": "p-1",
    "task": "variant-numerical-1",
}
SEVERAL: dict[str, tuple[Any, ...]] = {
    "Document.file_key.file": (full_text.PDF, full_text.TEXT, full_text.RECORD),
    "CorpusGenerationResult.file_key.path": (
        set_files.CORPUS_FILE,
        set_files.QUESTIONS_FILE,
        set_files.REJECTED_FILE,
        set_files.RETIRED_FILE,
        set_files.CARD_FILE,
        f"{exports.FOLDER}/ragas/testset.jsonl",
    ),
    "CorpusGenerationResult.version_key.path": (set_files.CORPUS_FILE,),
    "Combination.history_key.path": (set_files.CORPUS_FILE,),
    "Decision.key.set_key": ("corpus/scenario/textual", "exams/exam", "problems/mechanics"),
    "Unfinished.key.path": ("corpus/scenario/textual",),
    "ItemBank.file_key.path": (*bank.FILES, "schemas.json", f"{bank.EXPORTS}/gift.txt"),
    "ItemBank.history_key.path": bank.FILES,
    "ProblemBank.file_key.path": (
        *problem_bank.FILES,
        problem_bank.SOURCES,
        f"{problem_bank.EXPORTS}/moodle.xml",
    ),
    "ProblemBank.history_key.path": problem_bank.FILES,
    "picture_key.picture": tuple(
        Picture.model_validate({"sha256": "aabbcc", "media_type": f"image/{kind}"})
        for kind in ("png", "jpeg")
    ),
}


@cache
def makers() -> dict[str, Callable[..., Any]]:
    """Every function of the package that makes a key, by name."""
    found: dict[str, Callable[..., Any]] = {}
    for source in (one for one in package() if "store_key" in one.text):
        for owner in ast.walk(source.tree):
            if isinstance(owner, ast.ClassDef | ast.Module):
                names = [one.name for one in owner.body if isinstance(one, ast.FunctionDef) and _makes(one)]
                prefix = f"{owner.name}." if isinstance(owner, ast.ClassDef) else ""
                found |= {f"{prefix}{name}": _function(source, f"{prefix}{name}") for name in names}
    return found


def parameters(name: str) -> dict[str, str]:
    """The parameters of a maker with their types."""
    return {
        key: inspect.formatannotation(one.annotation)
        for key, one in inspect.signature(makers()[name]).parameters.items()
    }


def make(name: str, **given: Any) -> str:
    """The key that a maker gives for the values above, or for others."""
    values = {key: given[key] if key in given else _values(name, key)[0] for key in parameters(name)}
    made = makers()[name](**values)
    return made.relative_to("/").as_posix() if isinstance(made, Path) else made


def stored_keys() -> Iterator[str]:
    """A key of every kind that the package can make."""
    yield CATALOG
    for name in makers():
        several = [key for key in parameters(name) if f"{name}.{key}" in SEVERAL]
        for value in _values(name, several[0]) if several else (None,):
            key = make(name, **({several[0]: value} if several else {}))
            is_folder = name.endswith("spending_folder") and name != "SearchIndex.spending_folder"
            yield f"{key}/host-1-0123abcd.json" if is_folder else key


def _values(name: str, parameter: str) -> tuple[Any, ...]:
    if parameter == "self":
        return (VALUES[f"{name.partition('.')[0]}.self"],)
    return SEVERAL.get(f"{name}.{parameter}") or (VALUES[parameter],)


def _makes(function: ast.FunctionDef) -> bool:
    return any(isinstance(one, ast.Call) and dotted(one) == "store_key" for one in ast.walk(function))


def _function(source: Source, name: str) -> Callable[..., Any]:
    found: Any = import_module(source.name.removesuffix(".py").replace("/", "."))
    for part in name.split("."):
        found = getattr(found, part)
    return found
