"""Opens the exports of the sample corpora with the loaders of the programs that they are made for.

`python -m benchmarks.exports [--only NAME] [--cache FOLDER] [--fresh]`. Makes the sets of the sample corpora with the embedded
models, exports them, and gives each program an environment of its own in the cache folder: from PyPI, promptfoo from npm. `--fresh`
installs the newest versions again. Each loader must find the same questions and answers as the published set, without those that
the export left out. Prints a row per program; exit code 1 if a loader finds something else.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.environments import cache_folder, environment
from qagen_dagster.settings import PROJECT_ROOT

LOADERS = Path(__file__).with_name("loaders")
PROGRAMS: dict[str, tuple[str, ...]] = {  # program: what pip installs for it
    "ragas": ("ragas", "langchain-community<0.4"),
    "deepeval": ("deepeval",),
    "llamaindex": ("llama-index-core<0.14.20",),  # 0.14.22 has no LabelledRagDataset
    "inspect": ("inspect-ai",),
    "promptfoo": (),
    "mlflow": ("mlflow",),
    "beir": ("--no-deps", "beir", "tqdm"),  # its search models need torch, its loader does not
    "huggingface": ("datasets", "pillow"),
    "squad": ("datasets", "pillow"),
    "langsmith": ("langsmith",),
    "ragchecker": (
        "--no-deps",
        "ragchecker",
        "dataclasses-json",
        "marshmallow",
        "typing-inspect",
        "typing-extensions",
        "mypy-extensions",
        "packaging",
    ),
    "csv": ("pandas",),
    "xlsx": ("openpyxl",),
}
SHARED = {"squad": "huggingface"}  # program: whose environment it uses
QUIET = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "HF_HUB_OFFLINE": "1",
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
    "RAGAS_DO_NOT_TRACK": "true",
}
Json = dict[str, Any]


def main() -> None:
    """Make the exports, open them, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PROGRAMS)
    parser.add_argument("--cache", type=Path, default=cache_folder() / "exports")
    parser.add_argument("--fresh", action="store_true")
    given = parser.parse_args()
    names = [given.only] if given.only else list(PROGRAMS)
    surprises = 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        expected = _exported(folder)
        print("| program | version | questions | left out | result |\n|---|---|---|---|---|")
        for name in names:
            if given.fresh and name not in SHARED:
                shutil.rmtree(given.cache / name, ignore_errors=True)
            surprises += _row(name, _found(given.cache, name, folder), expected[name])
    sys.exit(1 if surprises else 0)


def _exported(folder: Path) -> dict[str, Json]:
    """Publish and export the sample corpora. What each format must hold: combination -> its questions and those left out."""
    environ = os.environ | {
        "QAGEN_ASSETS": str(folder / "assets"),
        "QAGEN_CORPORA": str(PROJECT_ROOT / "corpora"),
        "QAGEN_PROFILE": "embedded",
        "DAGSTER_HOME": str(folder / "home"),
    }
    (folder / "home").mkdir()
    (folder / "home" / "dagster.yaml").write_text("telemetry: {enabled: false}\n", encoding="utf-8")
    _qagen(environ, "run", "--json")
    told = json.loads(_qagen(environ, "export", "--output", str(folder / "exports"), "--json"))
    expected: dict[str, Json] = {}
    for one in told["exports"]:
        file = folder / "assets" / "published" / one["combination"] / "corpus.json"
        rows = json.loads(file.read_bytes())["questions"]
        taken = [
            [row["id"], row["question"], row["answer"]] for row in rows if row["id"] not in one["left_out"]
        ]
        expected.setdefault(one["format"], {})[one["combination"]] = (taken, len(one["left_out"]))
    return expected


def _qagen(environ: dict[str, str], *words: str) -> str:
    code = f"from qagen_dagster.cli.main import main; main({list(words)!r})"
    ended = subprocess.run(
        [sys.executable, "-c", code], env=environ, cwd=PROJECT_ROOT, stdout=subprocess.PIPE, check=True
    )
    return ended.stdout.decode()


def _found(cache: Path, name: str, folder: Path) -> Json:
    """What the program's loader found: its version, and per combination id, question and answer."""
    python = (
        Path(sys.executable)
        if name == "promptfoo"
        else environment(cache, SHARED.get(name, name), PROGRAMS[name])
    )
    command = [str(python), str(LOADERS / f"load_{name}.py"), str(folder / "exports"), str(cache / name)]
    home = folder / "user"
    home.mkdir(exist_ok=True)
    ended = subprocess.run(
        command,
        env=os.environ | QUIET | {"HOME": str(home)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        return {"error": " ".join((ended.stderr or ended.stdout).split())[-400:]}
    return json.loads(ended.stdout.splitlines()[-1])


def _row(name: str, found: Json, expected: Json) -> bool:
    """Print the row of a program. Returns whether it found something else than the published sets."""
    wanted = {combination: taken for combination, (taken, _) in expected.items()}
    wrong = found.get("error") or "; ".join(_differences(found.get("sets", {}), wanted))
    count, left_out = sum(map(len, wanted.values())), sum(number for _, number in expected.values())
    result = wrong or found["said"]
    print(f"| {name} | {found.get('version', '')} | {count} | {left_out} | {result} |", flush=True)
    return bool(wrong)


def _differences(found: Json, wanted: Json) -> Iterator[str]:
    """What differs in each combination. A loader gives None for what its format does not have."""
    for combination, rows in wanted.items():
        read = found.get(combination, [])
        if len(read) != len(rows):
            yield f"{combination}: {len(read)} questions in place of {len(rows)}"
        for one, other in zip(read, rows, strict=False):
            pairs = zip(one, other, strict=True)
            if any(text is not None and _flat(text) != _flat(published) for text, published in pairs):
                yield f"{combination}: {one} in place of {other}"


def _flat(text: str) -> str:
    """Answers of SQuAD are written as in the passage: with other case and line breaks."""
    return " ".join(text.split()).casefold()


if __name__ == "__main__":
    main()
