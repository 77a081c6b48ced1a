"""How much of the package one question takes: `qagen run` with one document and one question, under a profiler.

Prints the modules that were loaded, the functions that were called and the files they are in, and how often some of them were called.
"""

from __future__ import annotations

import inspect
import json
import sys
import threading
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

COUNTED = ("plan", "load_profile", "find_corpus")


class Trace:
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
        figures = {
            "files loaded": sum(file.startswith(self._package) for file in loaded),
            "functions": len(functions),
            "files of functions": len({code.co_filename for code in functions}),
        }
        for name in COUNTED:
            figures[f"calls of {name}"] = sum(
                calls for code, calls in self.calls.items() if code.co_qualname == name
            )
        return figures


def main() -> None:
    output, words = Path(sys.argv[1]), sys.argv[2:]
    import qagen_dagster

    trace = Trace(Path(qagen_dagster.__file__).parent)
    threading.setprofile(trace)
    sys.setprofile(trace)
    from qagen_dagster.cli.main import main as qagen

    sys.argv = ["qagen", *words]
    try:
        qagen()
    finally:
        sys.setprofile(None)
        output.write_text(json.dumps(trace.figures()))


if __name__ == "__main__":
    main()
