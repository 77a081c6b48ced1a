"""How much of the package one question takes: `qagen run` with one document and one question, under a profiler.

`trace` starts this file as a script of the checkout. It counts the modules that are loaded, the functions that are called (without
lambdas and comprehensions) with their files, and the calls of some functions that read configuration or plan.
"""

from __future__ import annotations

import inspect
import json
import shutil
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

COUNTED = ("plan", "load_profile", "find_corpus")
DOCUMENT = "research_journal/documents/lake_ice_diary.xml"
CORPUS = """\
name: Annals
corpus_context: Articles of a small invented research journal.
scenarios:
  facts: {name: Facts, description: Single facts., target_count: 1, modes: [textual]}
"""


def trace(checkout: Path) -> None:
    """Print the figures of a checkout."""
    from benchmarks.equivalence.record import Project

    with tempfile.TemporaryDirectory(prefix="qagen-equivalence-") as name:
        project = Project(Path(name).resolve(), checkout)
        shutil.rmtree(project.root / "corpora")
        documents = project.root / "corpora/journal/documents"
        documents.mkdir(parents=True)
        shutil.copy(checkout / "corpora" / DOCUMENT, documents)
        (documents.parent / "corpus.yaml").write_text(CORPUS)
        project.script(Path(__file__), str(project.root / "trace.json"), "run")
        for figure, value in json.loads((project.root / "trace.json").read_text()).items():
            print(f"{value:6} {figure}")


class Calls:
    """Counts the calls of the package's functions in all threads."""

    def __init__(self, package: Path) -> None:
        self._package = f"{package}/"
        self.calls: Counter[CodeType] = Counter()

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        del argument
        if event == "call" and frame.f_code.co_filename.startswith(self._package):
            self.calls[frame.f_code] += 1

    def figures(self) -> dict[str, int]:
        loaded = [getattr(module, "__file__", None) or "" for module in list(sys.modules.values())]
        functions = [
            code
            for code in self.calls
            if code.co_flags & inspect.CO_NEWLOCALS and not code.co_name.startswith("<")
        ]
        counted = {
            f"calls of {name}": sum(self.calls[code] for code in functions if code.co_qualname == name)
            for name in COUNTED
        }
        return {
            "files loaded": sum(file.startswith(self._package) for file in loaded),
            "functions called": len(functions),
            "files of these functions": len({code.co_filename for code in functions}),
            **counted,
        }


def main() -> None:
    """Run `qagen` with the words after the first one, which names the file for the figures."""
    import qagen_dagster

    output, *words = sys.argv[1:]
    calls = Calls(Path(qagen_dagster.__file__).parent)
    threading.setprofile(calls)
    sys.setprofile(calls)
    from qagen_dagster.cli.main import main as qagen

    sys.argv = ["qagen", *words]
    try:
        qagen()
    finally:
        sys.setprofile(None)
        Path(output).write_text(json.dumps(calls.figures()))


if __name__ == "__main__":
    main()
