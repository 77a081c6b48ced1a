"""The commands of the documents are run, and print what the pages show.

`pytest tests/test_docs_quickstart.py --snapshot-update` writes the blocks of output anew. The models of the profile `openai` are
played by a local server.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import duckdb
import pymupdf
import pytest

from qagen_dagster.records.ids import Combination
from qagen_dagster.records.questions.published import CorpusGenerationResult
from qagen_dagster.settings import PROJECT_ROOT
from tests.support.command_tree import whole_command
from tests.support.docs_bench import Bench, Case
from tests.support.embedded_server import embedded_server
from tests.support.graph import DAGSTER_WARNINGS
from tests.support.markdown import commands, fenced, table
from tests.support.recorded import Page
from tests.support.wire_server import Fault, WireServer

pytestmark = list(DAGSTER_WARNINGS)
DOCS = PROJECT_ROOT / "docs"
LIMITED = Fault(429, {"error": {"message": "Rate limit reached"}})
REFUSED = Fault(401, {"error": {"message": "Incorrect API key provided"}})
SAME = """\
roles:
  generator: {provider: openai, model: gpt-6-sol}
  validator: {provider: openai, model: gpt-6-sol}
  deduplicator: {provider: openai, model: gpt-6-luna}
"""
CORPUS = """\
name: Some Corpus
corpus_context: Files of several kinds.
scenarios:
  facts: {name: Facts, description: Single facts., modes: [textual], target_count: 3}
"""
BATCH = CORPUS.replace("target_count: 3", "strategy: batch")
KEY = "town_records/facts/textual"
RUN_ELSEWHERE = ("quickstart.md", "how-it-works.md", "troubleshooting.md", "problems.md", "contracts.md")
VALUES = {  # of placeholders
    r"init <name>": "init new_corpus",
    r"--profile (<name>|NAME|name)": "--profile mixed",
    r"--corpus (<name>|(NAME|name|C)\b)": "--corpus town_records",
    r"\bDOCUMENT\b": "market_bylaw.md",
    r"^qagen run\b": "qagen run --replace",  # the pages use several profiles and limits on one store
    r"\bQUESTION\b": "How many pitches does Market Place have?",
}
STORY = "It was late. She walked on and thought of home.\n\nNobody spoke, and the road went on.\n"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Generator[Bench]:
    with embedded_server() as server:
        yield Bench(tmp_path_factory.mktemp("docs") / "project", server.url("openai"))


def test_the_quickstart_runs(bench: Bench, request: pytest.FixtureRequest) -> None:
    bench.sample("instrument_manuals")
    bench.run(Page(DOCS / "quickstart.md"), request)


def test_the_questions_of_how_it_works_and_of_the_readme_are_published(
    bench: Bench, request: pytest.FixtureRequest
) -> None:
    bench.sample("town_records", "market_bylaw.md")
    made = bench.qagen("qagen run --corpus town_records --scenario citizen_enquiry --mode textual")
    assert made.code == 0, made.err
    bench.run(Page(DOCS / "how-it-works.md"), request)
    (example,) = fenced((PROJECT_ROOT / "README.md").read_text(encoding="utf-8"), "json")
    told = json.loads(example)
    key = CorpusGenerationResult.key(Combination.from_key("town_records/citizen_enquiry/textual"))
    published = json.loads((bench.assets / key).read_bytes())["questions"]
    (same,) = (one for one in published if one["id"] == told["id"])
    assert told == {field: same[field] for field in told}


def test_troubles_are_told_as_the_page_says(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    with embedded_server() as server:
        bench = Bench(tmp_path / "project", server.url("openai"))
        quickstart = next(one for one in Page(DOCS / "quickstart.md").blocks if one.language == "yaml")
        manuals = PROJECT_ROOT / "corpora" / "instrument_manuals" / "documents"
        names = ("ct15_probe_calibration.md", "service_bulletin_31.txt")
        documents = {name: (manuals / name).read_bytes() for name in names}
        bench.project.corpus("field_manuals", quickstart.content, documents)
        page, cases = Page(DOCS / "troubleshooting.md"), _cases(bench)
        assert set(cases) <= {one.heading for one in page.blocks}
        bench.run(page, request, cases)


def _cases(bench: Bench) -> dict[str, Case]:
    return {
        "A key is missing": Case(2, environ={"OPENAI_API_KEY": ""}),
        "There is no such profile": Case(2),
        "There is no such corpus": Case(2),
        "No combination matches": Case(2),
        "corpus.yaml is refused": Case(2, _broken(bench)),
        "A budget in dollars is refused": Case(2),
        "Generator and validator are the same model": Case(2, _same(bench)),
        "A variable is not a number": Case(2),
        "A document gives no questions": Case(0, _unusable(bench)),
        "The server refuses the key": Case(1, _faulty(bench, REFUSED)),
        "Rate limited": Case(1, _faulty(bench, LIMITED)),
        "The budget is used up": Case(environ={"QAGEN_DOCUMENT_WORKERS": "1"}),  # it ends at one place then
        "A strategy needs a model that writes": Case(2, _written(bench)),
        "A question cannot be found": Case(1),
        "There is no catalog": Case(1),
        "The store cannot be written to": Case(1),
        "The catalog is in use": Case(1, _held(bench), apart=True),
        "A ledger entry is damaged": Case(1, _damaged(bench), shown=r"ledger: "),
    }


@contextmanager
def _same(bench: Bench) -> Generator[None]:
    bench.project.profile("same", SAME)
    yield


@contextmanager
def _faulty(bench: Bench, fault: Fault) -> Generator[None]:
    """The profile's server answers nothing else."""
    with WireServer(then=fault) as server:
        bench.profile("openai", server.url("openai"), "max_attempts: 2")
        yield
    bench.profile("openai", bench.url)


@contextmanager
def _broken(bench: Bench) -> Generator[None]:
    bench.project.corpus("field_notes", f"{CORPUS}topic: pumps\n", {})
    shutil.rmtree(bench.project.corpus("old_notes", CORPUS, {}) / "documents")
    yield
    for name in ("field_notes", "old_notes"):
        shutil.rmtree(bench.project.corpora / name)


@contextmanager
def _unusable(bench: Bench) -> Generator[None]:
    """A corpus of files of which one can be read."""
    documents = {
        "contract.pdf": _pdf(password="one"),
        "empty.txt": "\n",
        "letter.docx": b"PK\x03\x04",
        "report.pdf": "<html>no PDF</html>",
        "story.txt": STORY,
    }
    bench.project.corpus("mixed_bag", CORPUS, documents)
    yield


def _pdf(text: str = "Between the two parties it is agreed", password: str = "") -> bytes:
    library: Any = pymupdf
    file = library.open()
    file.new_page().insert_text((50, 60), text)
    locked = {"encryption": library.PDF_ENCRYPT_AES_256, "user_pw": password} if password else {}
    data: bytes = file.tobytes(**locked)
    file.close()
    return data


@contextmanager
def _written(bench: Bench) -> Generator[None]:
    bench.project.corpus("reasoning", BATCH, {"a.txt": b"The pump is old."})
    yield


@contextmanager
def _held(bench: Bench) -> Generator[None]:
    with duckdb.connect(bench.assets / "catalog.duckdb"):
        yield


@contextmanager
def _damaged(bench: Bench) -> Generator[None]:
    entry = next((bench.assets / "ledger").glob("*/*"))
    entry.write_text(json.dumps({"sha256": "0", "entry": "half of it"}))
    yield


@pytest.mark.parametrize(
    "every",
    [False, pytest.param(True, marks=pytest.mark.long)],
    ids=["one line of each command", "every line"],
)
def test_commands_of_all_other_pages_run(tmp_path: Path, every: bool) -> None:
    with embedded_server() as server:
        bench = Bench(tmp_path / "project", server.url("openai"))
        bench.profile("mixed", server.url("openai"))
        bench.sample("exams")
        bench.sample("town_records", "market_bylaw.md", "council_minutes_2023_04_18.txt")
        folder = bench.project.corpora / "town_records"
        (folder / "corpus.yaml").write_text(CORPUS)
        _given_files(bench.folder, folder / "documents" / "market_bylaw.md")
        made = bench.qagen("qagen run")
        assert made.code == 0, made.err
        published = json.loads((bench.assets / "published" / KEY / "corpus.json").read_bytes())
        answers = [{"id": one["id"], "answer": one["answer"]} for one in published["questions"]]
        for name in ("mine", "new", "old"):
            (bench.folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in answers))
        values = VALUES | {
            r"\bQUESTION_ID\b": published["questions"][0]["id"],
            r"town_records/rag_eval/textual@\d": f"{KEY}@1",
            r"town_records/rag_eval/textual\b": KEY,
            r"--scenario rag_eval\b": "--scenario facts",
            r"--corpus field_manuals\b": "--corpus town_records",
            r"\bcompare A B\b": f"compare {KEY}@1 {KEY}@1",
        }
        lines = _other_commands()
        firsts = [line for number, line in enumerate(lines) if _name(line) not in map(_name, lines[:number])]
        for line in lines if every else firsts:
            for pattern, value in values.items():
                line = re.sub(pattern, value, line)
            # Parsers stay in the folder in which this process began them, and would not find a relative path.
            ended = bench.qagen(line, apart=" papers/" in line)
            assert ended.code == 0, f"{line}\n{ended.out}{ended.err}"


def _other_commands() -> list[str]:
    """Of pages that no test runs otherwise; a command without what it needs is only mentioned."""
    pages = [PROJECT_ROOT / "README.md", *(DOCS.rglob("*.md"))]
    found = (line for path in pages if path.name not in RUN_ELSEWHERE for line in commands(path.read_text()))
    return list(dict.fromkeys(line for line in found if _is_whole(line)))


def _name(line: str) -> str:
    """The command of a line, without its words."""
    words = line.split()
    return " ".join(words[: 3 if isinstance(whole_command().commands[words[1]], click.Group) else 2])


def _is_whole(line: str) -> bool:
    try:
        command, words = whole_command(), shlex.split(line)[1:]
        # Servers, which do not end; what needs a server; what needs a large bank, which `cli/exams/test_paper.py` has.
        if {"ui", "review", "mcp", "vllm", "paper", "responses", "--push"} & set(words):
            return False
        while isinstance(command, click.Group):
            name = words.pop(0)
            if words and f"{name} {words[0]}" in command.commands:
                name = f"{name} {words.pop(0)}"
            command = command.commands[name]
        command.make_context(line, words)
    except click.MissingParameter:
        return False
    return True


def _given_files(folder: Path, document: Path) -> None:
    """What examples speak of and a reader has."""
    (folder / "paper.pdf").write_bytes(_pdf("The trial treated 240 patients in two hospitals."))
    (folder / "papers").mkdir()
    shutil.copy(document, folder / "papers")
    row = {"document": document.name, "question": "How many pitches are there?", "answer": "58 pitches"}
    (folder / "log.jsonl").write_text(json.dumps({"question": row["question"]}) + "\n")
    (folder / "answers.jsonl").write_text(json.dumps(row) + "\n")


def test_the_map_leads_to_every_page_and_the_glossary_is_in_order() -> None:
    linked = set(re.findall(r"\]\(([\w/.-]+\.md)", (DOCS / "README.md").read_text(encoding="utf-8")))
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} - {"README.md"}
    assert pages <= linked
    terms = [
        row[0].casefold() for row in table((DOCS / "glossary.md").read_text(encoding="utf-8"), "| term ")
    ]
    assert terms == sorted(terms)
