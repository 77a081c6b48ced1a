"""RAGChecker: RAGResults.from_json. Its container is loaded without the evaluator, which needs torch."""

import sys
from importlib.metadata import distribution
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from report import report

file = next(path for path in distribution("ragchecker").files or () if path.name == "container.py")
spec = spec_from_file_location("container", file.locate())
container = module_from_spec(spec)
sys.modules["container"] = container
spec.loader.exec_module(container)


def load(folder: Path) -> list[list[str]]:
    found = container.RAGResults.from_json((folder / "checking_inputs.json").read_text(encoding="utf-8"))
    return [[one.query_id, one.query, one.gt_answer] for one in found.results]


report("ragchecker", "ragchecker", load)
