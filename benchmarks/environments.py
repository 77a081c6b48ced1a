"""Python environments of other programs, in a cache folder outside the project."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "qagen-bench"


def environment(cache: Path, name: str, requirements: Sequence[str]) -> Path:
    """The Python of an environment. If the environment is not there, it is made from PyPI."""
    folder = cache / name
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *requirements], check=True)
        (folder / "complete").touch()
    return python
