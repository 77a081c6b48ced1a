"""promptfoo: `promptfoo eval` with a provider that returns the prompt; it needs Node.js and npm.

The answers are compared by equality in place of a model: the prompt is the answer, so each test must pass.
"""

import subprocess
import sys
from pathlib import Path

import yaml

CACHE = Path(sys.argv[2])
CONFIG = """\
prompts: ['{{{{question}}}}']
providers: [echo]
tests: file://{tests}
"""


def program() -> list[str]:
    """The installed program."""
    command = CACHE / "node_modules" / ".bin" / "promptfoo"
    if not (CACHE / "complete").exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        (CACHE / "package.json").write_text("{}")
        subprocess.run(
            ["npm", "install", "--silent", "promptfoo"], cwd=CACHE, check=True, stdout=subprocess.DEVNULL
        )
        (CACHE / "complete").touch()
    return [str(command)]


def load(folder: Path) -> list[list[str]]:
    tests = yaml.safe_load((folder / "tests.yaml").read_text(encoding="utf-8"))
    return [[one["description"], one["vars"]["question"], one["assert"][0]["value"]] for one in tests]
