"""A key of every kind that the store can make, for tests that hold documentation to them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from qagen_dagster.answering.fulltext import keep
from qagen_dagster.loop.exams import bank
from qagen_dagster.loop.problems import bank as problem_bank
from qagen_dagster.publishing.questions import corpus_json, jsonl
from qagen_dagster.records.exams.item import ExamPart
from qagen_dagster.records.ids import Combination
from qagen_dagster.store import Keys

WHERE = Combination.from_key("corpus/scenario/textual")


def stored_keys() -> Iterator[str]:
    """A key of every kind that the store can make."""
    yield Keys.CATALOG
    yield from (Keys.document("corpus", "document", name) for name in (keep.PDF, keep.TEXT, keep.RECORD))
    values: dict[str, Any] = {
        "corpus": "corpus",
        "document_id": "document",
        "file": "text.txt",
        "combination": WHERE,
        "fingerprint": "0123abcd",
        "path": "corpus.json",
        "run_id": "run",
        "spending_id": "run",
        "shard": 3,
        "launch": "run",
        "prefix": "ledger",
        "key": "aabbcc",
        "kind": "closed_book",
        "part": ExamPart.from_key("exam/M1/easy"),
        "slot": 7,
        "exam": "exam",
        "problem_set": "mechanics",
        "problem_id": "p-1",
        "task": "variant-numerical-1",
        "sha256": "aabbcc",
        "suffix": "png",
    }
    for name, maker in inspect.getmembers(Keys, inspect.isfunction):
        if name == "published":
            yield from (maker(WHERE, path) for path in (corpus_json.FILE, jsonl.FILE))
        elif name in ("exam_file", "exam_history"):
            place = ("exam",) if name == "exam_file" else ("exam", "run")
            made = ("schemas.json", f"{bank.EXPORTS}/gift.txt") if name == "exam_file" else ()
            yield from (maker(*place, path) for path in (*bank.FILES, *made))
        elif name in ("problem_file", "problem_history"):
            place = ("mechanics",) if name == "problem_file" else ("mechanics", "run")
            made = (
                (problem_bank.SOURCES, f"{problem_bank.EXPORTS}/moodle.xml") if name == "problem_file" else ()
            )
            yield from (maker(*place, path) for path in (*problem_bank.FILES, *made))
        elif name == "picture":
            yield from (maker("aabbcc", suffix) for suffix in ("png", "jpg"))
        elif name == "problem_spending":
            yield f"{maker('run', 'mechanics')}/host-1-0123abcd.json"
        elif name == "exam_spending":
            yield f"{maker('run', values['part'])}/host-1-0123abcd.json"
        elif name == "spending":
            yield f"{maker('run', WHERE)}/host-1-0123abcd.json"
        elif name not in ("document", "spending_run"):
            yield maker(*(values[parameter] for parameter in inspect.signature(maker).parameters))
