"""Opens the exports of the sample corpora with the loaders of the programs that they are made for.

`python -m benchmarks.exports [--only NAME] [--cache FOLDER] [--fresh]`. Makes the sets of the sample corpora (and of articles of
XQuAD in QAGEN_REAL_DATA) with the embedded models, adds questions whose evidence is in two documents, exports them, and gives each program an environment of its own in the cache folder: from PyPI, promptfoo from npm. `--fresh`
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
from qagen_dagster.configuration.corpora import load_corpora
from qagen_dagster.loop.questions.publication.publish import publish
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.ids import question_id
from qagen_dagster.records.questions.results import ValidatedSet
from qagen_dagster.settings import PROJECT_ROOT, Settings

LOADERS = Path(__file__).with_name("loaders")
PROGRAMS: dict[str, tuple[str, ...]] = {  # program: what pip installs for it
    "ragas": ("ragas", "langchain-community<0.4"),
    "deepeval": ("deepeval",),
    "llamaindex": ("llama-index-core<0.14.20",),  # 0.14.22 has no LabelledRagDataset
    "inspect": ("inspect-ai",),
    "promptfoo": (),
    "beir": ("--no-deps", "beir", "tqdm"),  # its search models need torch, its loader does not
    "huggingface": ("datasets", "pillow"),
    "croissant": ("mlcroissant", "pyarrow"),
    "mlflow": ("mlflow>=3.4",),
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
FORMATS = {"croissant": "huggingface"}  # program: the format that it opens
QUIET = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "HF_HUB_OFFLINE": "1",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
    "RAGAS_DO_NOT_TRACK": "true",
}
ARTICLES = """\
name: Articles
corpus_context: Articles of an encyclopedia.
scenarios:
  facts:
    name: Facts
    description: Short questions about single facts.
    modes: [textual]
    target_count: 8
    mix: {unanswerable: 0.2, false_premise: 0.2}
"""
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
        environ = _environment(folder)
        expected = _exported(folder, environ)
        print("| program | version | questions | left out | result |\n|---|---|---|---|---|")
        for name in names:
            if given.fresh and name not in SHARED:
                shutil.rmtree(given.cache / name, ignore_errors=True)
            surprises += _row(
                name, _found(given.cache, name, folder, environ), expected[FORMATS.get(name, name)]
            )
    sys.exit(1 if surprises else 0)


def _environment(folder: Path) -> dict[str, str]:
    """The variables of commands that use a store in the folder. `PUSH_PYTHON` is the one that has the package."""
    (folder / "home").mkdir()
    (folder / "home" / "dagster.yaml").write_text("telemetry: {enabled: false}\n", encoding="utf-8")
    return os.environ | {
        "PUSH_PYTHON": sys.executable,
        "QAGEN_ASSETS": str(folder / "assets"),
        "QAGEN_CORPORA": str(_corpora(folder)),
        "QAGEN_PROFILE": "embedded",
        "DAGSTER_HOME": str(folder / "home"),
    }


def _exported(folder: Path, environ: dict[str, str]) -> dict[str, Json]:
    """Publish and export the sample corpora. What each format must hold: combination -> its questions and those left out."""
    _qagen(environ, "run", "--json")
    _with_two_documents(folder)
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


def _corpora(folder: Path) -> Path:
    """The sample corpora, and articles of XQuAD if QAGEN_REAL_DATA has them. Their scenarios ask for questions without an answer, too."""
    corpora = folder / "corpora"
    shutil.copytree(PROJECT_ROOT / "corpora", corpora)
    file = Path(os.environ.get("QAGEN_REAL_DATA", "")) / "qa" / "xquad.en.json"
    if file.is_file():
        documents = corpora / "articles" / "documents"
        documents.mkdir(parents=True)
        (documents.parent / "corpus.yaml").write_text(ARTICLES, encoding="utf-8")
        for article in json.loads(file.read_text(encoding="utf-8"))["data"][:8]:
            text = "\n\n".join(one["context"] for one in article["paragraphs"])
            (documents / f"{article['title']}.txt").write_text(text, encoding="utf-8")
    return corpora


def _with_two_documents(folder: Path) -> None:
    """Publish each set whose scenario has a mix with one question more, whose evidence is in two documents."""
    space = Workspace(Settings(corpora=folder / "corpora", assets=str(folder / "assets"), profile="embedded"))
    for combination in load_corpora(folder / "corpora").combinations():
        if space.corpus(combination.corpus).scenario(combination.scenario).mix is None:
            continue
        stored = space.store.read(ValidatedSet.key(combination), ValidatedSet)
        pairs = [one for one in stored.questions if one.no_answer is None]
        other = next(one for one in pairs if one.document_id != pairs[0].document_id)
        shown = other.evidence[0].model_copy(update={"document_id": other.document_id})
        question = f"Which answers have these two: {pairs[0].question} {other.question}"
        answer = f"{pairs[0].answer}; {other.answer}"
        update: Json = {
            "id": question_id(combination, pairs[0].document_id, question, answer),
            "question": question,
            "answer": answer,
            "evidence": (pairs[0].evidence[0], shown),
            "question_type": "comparison",
        }
        both = pairs[0].model_copy(update=update)
        space.store.write(
            ValidatedSet.key(combination), stored.model_copy(update={"questions": (*stored.questions, both)})
        )
        publish(space, combination, "two-documents")


def _qagen(environ: dict[str, str], *words: str) -> str:
    code = f"from qagen_dagster.cli.main import main; main({list(words)!r})"
    ended = subprocess.run(
        [sys.executable, "-c", code], env=environ, cwd=PROJECT_ROOT, stdout=subprocess.PIPE, check=True
    )
    return ended.stdout.decode()


def _found(cache: Path, name: str, folder: Path, environ: dict[str, str]) -> Json:
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
        env=environ | QUIET | {"HOME": str(home)},
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
