"""promptfoo: `promptfoo eval` with a provider that returns the prompt. It needs Node.js and npm.

The provider also stands in for the model that compares answers, so it does not matter which tests pass. What counts is what
promptfoo made of each of them.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from report import folders, tell

CACHE = Path(sys.argv[2])
PROGRAM = CACHE / "node_modules" / ".bin" / "promptfoo"
CONFIG = """\
prompts: ['{{question}} {{image}}']
providers: [echo]
tests: file://tests.yaml
defaultTest: {vars: {image: ''}, options: {provider: echo}}
"""
LOADED = "iVBOR", "/9j/"  # beginnings of PNG and JPEG in base64
pictures = 0


def install() -> None:
    if (CACHE / "complete").exists():
        return
    CACHE.mkdir(parents=True, exist_ok=True)
    (CACHE / "package.json").write_text("{}")
    subprocess.run(
        ["npm", "install", "--silent", "promptfoo"], cwd=CACHE, check=True, stdout=subprocess.DEVNULL
    )
    (CACHE / "complete").touch()


def load(folder: Path) -> list[list[str]]:
    global pictures
    if not (folder / "tests.yaml").read_text(encoding="utf-8").startswith("-"):
        return []
    (folder / "promptfooconfig.yaml").write_text(CONFIG)
    words = ["eval", "--no-cache", "--no-table", "--no-progress-bar", "--output", "results.json"]
    environ = os.environ | {"PROMPTFOO_CONFIG_DIR": str(folder / ".promptfoo")}
    ended = subprocess.run(
        [PROGRAM, *words], cwd=folder, env=environ, capture_output=True, text=True, check=False
    )
    assert (folder / "results.json").exists(), ended.stderr[-400:]
    found = json.loads((folder / "results.json").read_text(encoding="utf-8"))["results"]["results"]
    rows = []
    for one in sorted(found, key=lambda result: result["testIdx"]):
        test = one["testCase"]
        question, _, picture = one["response"]["output"].rpartition(" ")
        data = picture.rpartition("base64,")[2]
        assert data.startswith(LOADED) if test["vars"]["image"] else not picture, picture[:99]
        pictures += bool(picture)
        # the rubric of a question without an answer ends with what a good response says
        told = test["assert"][0]["value"].rpartition("A good response is: ")[2]
        rows.append([test["description"], question.strip(), told])
    return rows


install()
sets = {key: load(folder) for key, folder in folders("promptfoo")}
version = json.loads((CACHE / "node_modules" / "promptfoo" / "package.json").read_text())["version"]
tell(sets, version, f"equal; {pictures} pictures read")
