"""RAGChecker: RAGResults.from_json. Its records are loaded without its evaluator, which needs torch."""

import sys
from importlib.metadata import distribution
from pathlib import Path
from types import ModuleType

from report import report

package = ModuleType("ragchecker")
package.__path__ = [str(distribution("ragchecker").locate_file("ragchecker"))]
sys.modules["ragchecker"] = package

from ragchecker.container import RAGResults  # noqa: E402


def load(folder: Path) -> list[list[str]]:
    found = RAGResults.from_json((folder / "checking_inputs.json").read_text(encoding="utf-8"))
    return [[one.query_id, one.query, one.gt_answer] for one in found.results]


report("ragchecker", "ragchecker", load)
