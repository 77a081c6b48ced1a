"""Runs a checkout on the samples in a temporary store and keeps what it made in canonical form.

Everything runs in processes of the checkout; this module does not import the package.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.equivalence.canonical import Masks, write_canonical

SET = "town_records/rag_eval/textual"
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
    "grade-hybrid": (
        "grade",
        "--answers",
        "grade.jsonl",
        "--documents",
        "corpora/town_records/documents",
        "--json",
    ),
    "grade-keyword": (
        *("grade", "--answers", "grade.jsonl", "--documents", "corpora/town_records/documents"),
        *("--method", "keyword", "--json"),
    ),
    "score": ("score", "--answers", "score.jsonl", "--set", SET, "--output", "out/score.md", "--json"),
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
        first = json.loads(
            (project.root / f"assets/published/{SET}/questions.jsonl").read_text().splitlines()[0]
        )
        project.run("show", ("show", first["id"], "--json"))
        project.script(PROBE, str(project.root / "dagster"))
        paths = {str(project.root): "<root>", str(project.checkout): "<checkout>"}
        for folder in project.root.glob(
            "assets/problems/files-*"
        ):  # named by a hash of the path of the file of problems
            paths[folder.name] = "files-<hash of path>"
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
        """The answers of a system that is often wrong: every third one is that of the next question."""
        published = (self.root / f"assets/published/{SET}/questions.jsonl").read_text().splitlines()
        questions = [json.loads(line) for line in published]
        grade: list[dict[str, str]] = []
        score: list[dict[str, Any]] = []
        for number, question in enumerate(questions):
            answer = questions[(number + (number % 3 == 0)) % len(questions)]["answer"]
            document = question["row"] or Path(question["source_document"]).name
            grade.append({"document": document, "question": question["question"], "answer": answer})
            passages = [evidence["quote"] for evidence in question["evidence"]]
            score.append({"id": question["id"], "answer": answer, "passages": passages})
        for name, rows in (("grade", grade), ("score", score)):
            (self.root / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

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
