"""Runs a checkout on the samples in a temporary store and keeps what it made in canonical form.

Everything runs in processes of the checkout; this module does not import the package.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.equivalence.canonical import Masks, write_canonical

SCORED = "town_records/rag_eval/textual"
GRADED = (SCORED, "research_journal/peer_review_reading/textual")
BYLAW = "town_records/documents/market_bylaw.md"
MECHANICS = "problems/mechanics/sources/mechanics.tex"
INSTANCE = "telemetry: {enabled: false}\nnux: {enabled: false}\n"
PROBE = Path(__file__).with_name("probe.py")
MAKE = {  # the commands that fill the store
    "run": ("run", "--json"),
    "exam-run": ("exam", "run", "--items", "12", "--json"),
    "process-set": ("process", "--set", "mechanics", "--json"),
    "index": ("index", "--json"),
    "evaluate": ("evaluate", "--corpus", "research_journal", "--scenario", "rag_eval", "--json"),
    "run-again": ("run", "--json"),
}
SHOW = {  # the commands that only read the store
    "status": ("status", "--json"),
    "status-text": ("status",),
    "stats": ("stats", "--json"),
    "stats-text": ("stats",),
    "questions": ("questions", "--limit", "100000", "--json"),
    "questions-text": ("questions", "--outcome", "rejected"),
    "summary": ("summary", "--json", "--documents", "out/summary"),
    "stale": ("stale", "--json"),
    "corpora": ("corpora", "check", "--json"),
    "exam-status": ("exam", "status", "--json"),
    "exam-status-text": ("exam", "status"),
    "export": ("export", "--output", "out/export", "--json"),
    "exam-export": ("exam", "export", "--output", "out/exam", "--json"),
    "report": ("report", "--output", "out/report.html"),
    "grade": (
        *("grade", "--answers", "grade-town_records.jsonl", "--json"),
        *("--documents", "corpora/town_records/documents"),
    ),
    "grade-keyword": (
        *("grade", "--answers", "grade-research_journal.jsonl", "--json", "--method", "keyword"),
        *("--documents", "corpora/research_journal/documents"),
    ),
    "score": ("score", "--answers", "score.jsonl", "--set", SCORED, "--output", "out/score.md", "--json"),
    "answer": ("answer", f"corpora/{BYLAW}", "What does a casual trader pay for a pitch?", "--json"),
    "process-file": (
        *("process", "-t", f"corpora/{MECHANICS}", "-r", "1", "4", "--variants", "numerical", "context"),
        *("--alternate", "-o", "out/problems", "--json"),
    ),
    "convert": (
        *("convert", "-t", f"corpora/{MECHANICS}", "-r", "1", "2", "--from", "mcq_sc", "--to", "integer"),
        *("-o", "out/integer.tex"),
    ),
}


def record(folder: Path, checkout: Path) -> None:
    """Fill `folder`, which must not exist. A command that fails is recorded as such."""
    folder.mkdir(parents=True)
    began = datetime.now(UTC)
    with tempfile.TemporaryDirectory(prefix="qagen-equivalence-") as name:
        project = Project(Path(name).resolve(), checkout.resolve())
        for command, words in MAKE.items():
            project.run(command, words)
        project.write_answers()
        for command, words in SHOW.items():
            project.run(command, words)
        project.show_first()
        project.script(PROBE, str(project.root / "dagster"))
        paths = {str(project.root): "<root>", str(project.checkout): "<checkout>"}
        for tasks in project.root.glob("assets/problems/files-*"):  # named by a hash of a path
            paths[tasks.name] = "files-<hash of path>"
        masks = Masks.of(paths, project.root / "assets", began, datetime.now(UTC))
        write_canonical(project.root, folder, masks)


class Project:
    """A copy of the checkout's corpora with a store, a Dagster instance and a folder for the output of commands."""

    def __init__(self, root: Path, checkout: Path) -> None:
        self.root, self.checkout = root, checkout
        shutil.copytree(checkout / "corpora", root / "corpora")
        for folder in ("home", "cli", "out"):
            (root / folder).mkdir()
        (root / "home" / "dagster.yaml").write_text(INSTANCE)

    def run(self, name: str, words: tuple[str, ...]) -> None:
        """Run a command of `qagen`, and keep its exit code, its output, and its errors and warnings."""
        print(" ".join(("qagen", *words)), flush=True)
        ended = self._process(str(self.checkout / ".venv/bin/qagen"), *words)
        told = [line for line in ended.stderr.splitlines() if line.startswith("qagen: ")]
        said = "\n".join([f"exit code {ended.returncode}", *told, ended.stdout])
        (self.root / "cli" / f"{name}.txt").write_text(said)

    def script(self, file: Path, *words: str) -> None:
        """Run a script with the Python of the checkout. Raises SystemExit if it fails."""
        ended = self._process(str(self.checkout / ".venv/bin/python"), "-P", str(file), *words)
        if ended.returncode:
            raise SystemExit(ended.stderr)

    def write_answers(self) -> None:
        """The answers of systems to be graded and scored. Some are right, others are wrong in several ways."""
        for name in GRADED:
            questions = self._published(name)
            rows = [
                {"document": _document(question), "question": question["question"], "answer": answer}
                for question, following in zip(questions, questions[1:] + questions[:1], strict=True)
                for answer in _answers(question, following["answer"])
            ]
            _write(self.root / f"grade-{name.partition('/')[0]}.jsonl", rows)
        questions = self._published(SCORED)
        answers = [questions[number - (number % 3 == 0)]["answer"] for number in range(len(questions))]
        rows = [
            {
                "id": question["id"],
                "answer": answer,
                "passages": [part["quote"] for part in question["evidence"]],
            }
            for question, answer in zip(questions, answers, strict=True)
        ]
        _write(self.root / "score.jsonl", rows)

    def show_first(self) -> None:
        """Show one question with its lineage."""
        self.run("show", ("show", self._published(SCORED)[0]["id"], "--json"))

    def _published(self, name: str) -> list[dict[str, Any]]:
        text = (self.root / f"assets/published/{name}/questions.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

    def _process(self, *words: str) -> subprocess.CompletedProcess[str]:
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("QAGEN_", "DAGSTER_"))
        }
        environment = {
            **kept,
            "DAGSTER_HOME": str(self.root / "home"),
            "QAGEN_CORPORA": str(self.root / "corpora"),
            "QAGEN_ASSETS": str(self.root / "assets"),
            "QAGEN_STATE": str(self.root / "state"),
            "COLUMNS": "160",
        }
        return subprocess.run(
            words, cwd=self.root, env=environment, capture_output=True, text=True, check=False
        )


def _document(question: dict[str, Any]) -> str:
    return question["row"] or Path(question["source_document"]).name


def _answers(question: dict[str, Any], other: str) -> tuple[str, ...]:
    """The answer, a wrong one, and the evidence as it is, shortened, with other numbers, and with its opposite."""
    quote = " ".join(question["evidence"][-1]["quote"].split())
    words = quote.split()
    return (
        question["answer"],
        other,
        quote,
        " ".join(word for number, word in enumerate(words) if number % 4 != 3),
        re.sub(r"\d+", lambda number: str(int(number[0]) + 1), quote),
        re.sub(r"\b(is|was|are|were|has|have|had|can|must|may|will)\b", r"\1 not", quote, count=1),
    )


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
