"""The wheel in somebody else's project: a component scaffolded with dg, its set made and read, two of them in one instance."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import httpx
import psutil
import pytest

from qagen_dagster.settings import PROJECT_ROOT
from tests.support.machines import free_port, until

pytestmark = pytest.mark.component
CREATE = PROJECT_ROOT / ".venv-component/bin/create-dagster"
DG = [sys.executable, "-m", "dagster_dg_cli.cli"]
NAME = "another"
SETTINGS = """\
[project]
name = "another"
version = "0.1.0"
[tool.dg]
directory_type = "project"
[tool.dg.project]
root_module = "another"
registry_modules = ["another.components.*"]
"""
DEFINITIONS = """\
from pathlib import Path
from dagster import definitions, load_from_defs_folder
@definitions
def defs():
    return load_from_defs_folder(path_within_project=Path(__file__).parent)
"""
DOWNSTREAM = """\
import json
from pathlib import Path
import dagster as dg
@dg.asset(
    partitions_def=dg.StaticPartitionsDefinition(["example/retrieval/textual"]),
    ins={"found": dg.AssetIn(["my_sets", "corpus_json"])},
)
def rows(found) -> None:
    table = found.to_pandas()
    Path("rows.json").write_text(json.dumps(list(table["question"])))
"""
FIRST = {
    "corpora: corpora": "corpora: data/corpora",
    "store: assets/my_sets": "store: data/store",
    "key_prefix: my_sets": "key_prefix: my_sets",
    '# schedule: "0 2 * * *"': 'schedule: "0 4 * * *"',
    "# max_usd: 5": "max_usd: 1",
}
SECOND = {"corpora: corpora": "corpora: data/corpora", "store: assets/others": "store: data/others"}


@dataclass(frozen=True)
class Strangers:
    """The project, its environment and its Dagster instance."""

    root: Path
    home: Path

    @classmethod
    def make(cls, folder: Path) -> Strangers:
        found = cls(folder / NAME, folder / "home")
        found.home.mkdir(parents=True)
        (found.home / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
        if CREATE.exists():
            _run([str(CREATE), "project", NAME, "--no-uv-sync"], folder, dict(os.environ))
        else:
            found.defs.mkdir(parents=True)
            (found.root / "pyproject.toml").write_text(SETTINGS)
            for file, text in {
                "__init__.py": "",
                "definitions.py": DEFINITIONS,
                "defs/__init__.py": "",
            }.items():
                (found.defs.parent / file).write_text(text)
        found.install(folder / "wheels")
        return found

    @property
    def defs(self) -> Path:
        return self.root / "src" / NAME / "defs"

    @property
    def python(self) -> str:
        return str(self.root / ".venv/bin/python")

    def install(self, wheels: Path) -> None:
        """The wheel of this checkout; what it needs is that of this environment."""
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
        build = ["wheel", "--no-deps", "--no-build-isolation", "-w", str(wheels), str(PROJECT_ROOT)]
        _run([*pip, *build], self.root, dict(os.environ))
        _run([sys.executable, "-m", "venv", "--without-pip", ".venv"], self.root, dict(os.environ))
        (wheel,) = wheels.iterdir()
        _run([*pip, "--python", self.python, "install", "--no-deps", str(wheel)], self.root, dict(os.environ))
        (site,) = (self.root / ".venv/lib").glob("python*/site-packages")
        (site / "shared.pth").write_text(f"{sysconfig.get_path('purelib')}\n{self.root / 'src'}\n")

    @property
    def environment(self) -> dict[str, str]:
        dropped = ("QAGEN_", "DAGSTER_", "PYTEST_", "PYTHONPATH", "VIRTUAL_ENV")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
        return {**kept, "DAGSTER_HOME": str(self.home), "VIRTUAL_ENV": str(self.root / ".venv")}

    def dg(self, *words: str) -> str:
        return _run([self.python, "-m", "dagster_dg_cli.cli", *words], self.root, self.environment)

    def scaffold(self, name: str, edits: dict[str, str]) -> None:
        self.dg("scaffold", "defs", "qagen_dagster.components.QuestionSets", name)
        file = self.defs / name / "defs.yaml"
        text = file.read_text()
        for line, changed in edits.items():
            assert line in text, (line, text)
            text = text.replace(line, changed)
        file.write_text(text)


def _run(words: list[str], folder: Path, environment: dict[str, str]) -> str:
    ended = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=280)
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-4000:]
    return ended.stdout


@contextmanager
def _served(words: list[str], folder: Path, environment: dict[str, str]) -> Generator[str]:
    """The address of the GraphQL server that a command starts. The command and what it started end with the block."""
    port, log = str(free_port()), folder / "dev.log"
    with log.open("w") as out:
        server = subprocess.Popen(
            [*words, "--port", port], cwd=folder, env=environment, stdout=out, stderr=subprocess.STDOUT
        )
    family = [psutil.Process(server.pid)]
    try:
        yield f"http://127.0.0.1:{port}/graphql"
        family += family[0].children(recursive=True)
    finally:
        server.terminate()
        server.wait(60)
    assert psutil.wait_procs(family[1:], 60)[1] == [], log.read_text()


def _locations(server: str) -> dict[str, str]:
    """The code locations and whether they are loaded; none while the server does not answer."""
    query = "{workspaceOrError {... on Workspace {locationEntries {name locationOrLoadError {__typename}}}}}"
    try:
        sent = httpx.post(server, json={"query": query}, timeout=60).json()
    except httpx.TransportError:
        return {}
    entries = sent["data"]["workspaceOrError"]["locationEntries"]
    return {one["name"]: (one["locationOrLoadError"] or {}).get("__typename", "") for one in entries}


def _started(server: str, sensor: str) -> bool:
    """Switch a sensor on, as the UI does; False while the server does not answer."""
    selector = {"repositoryLocationName": NAME, "repositoryName": "__repository__", "sensorName": sensor}
    query = "mutation($one: SensorSelector!) {startSensor(sensorSelector: $one) {__typename}}"
    try:
        sent = httpx.post(server, json={"query": query, "variables": {"one": selector}}, timeout=60)
    except httpx.TransportError:
        return False
    return sent.json()["data"]["startSensor"]["__typename"] == "Sensor"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Strangers:
    made = Strangers.make(tmp_path_factory.mktemp("component"))
    made.scaffold("my_sets", FIRST)
    (made.root / "data").mkdir()
    (made.root / "corpora").rename(made.root / "data/corpora")
    documents = made.root / "data/corpora/example/documents"
    for file in sorted((PROJECT_ROOT / "corpora/town_records/documents").glob("council*"))[:1]:
        (documents / file.name).write_bytes(file.read_bytes())
    (made.defs / "downstream.py").write_text(DOWNSTREAM)
    return made


def test_a_set_is_made_and_read_in_another_project(project: Strangers) -> None:
    project.dg("check", "defs")
    listed = json.loads(project.dg("list", "defs", "--json"))
    keys = {one["asset_key"] for one in listed["assets"]}
    assert {"my_sets/corpus_json", "my_sets/catalog", "rows"} <= keys
    assert not {"my_sets/grounding_report", "my_sets/item_bank", "my_sets/problem_bank"} & keys
    documents = "key:my_sets/parsed_documents or key:my_sets/visual_manifests"
    project.dg("launch", "--assets", documents, "--partition", "example")
    project.dg("launch", "--job", "my_sets_question_set", "--partition", "example/retrieval/textual")
    project.dg("launch", "--assets", "rows", "--partition", "example/retrieval/textual")
    published = json.loads(
        (project.root / "data/store/published/example/retrieval/textual/corpus.json").read_text()
    )
    rows = json.loads((project.root / "rows.json").read_text())
    assert rows == [one["question"] for one in published["questions"]] != []


def test_two_prefixes_share_an_instance_while_a_daemon_runs(project: Strangers) -> None:
    project.scaffold("others", SECOND)
    project.dg("check", "defs")
    with _served(
        [project.python, "-m", "dagster_dg_cli.cli", "dev"], project.root, project.environment
    ) as server:
        until(lambda: _started(server, "others_refresh_changed_combinations"), 120)
        with dg.DagsterInstance.from_config(str(project.home)) as instance:
            made = project.root / "data/others/published/example/retrieval/textual/corpus.json"
            until(made.exists, 240)
            observed = [dg.AssetKey([one, "model_config"]) for one in ("my_sets", "others")]
            until(lambda: all(instance.fetch_observations(one, limit=1).records for one in observed))
            runs = {run.tags.get("qagen/task") for run in instance.get_runs()}
    assert {"others_documents example", "others_questions example/retrieval/textual"} <= runs
    assert not any(task and task.startswith("my_sets") for task in runs)
    mine = project.root / "data/store/published/example/retrieval/textual/corpus.json"
    assert len(json.loads(made.read_text())["questions"]) == len(json.loads(mine.read_text())["questions"])


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    _run(["git", "clone", "-q", str(PROJECT_ROOT), "clone"], tmp_path, dict(os.environ))
    return tmp_path / "clone"


def _as_newcomer(clone: Path) -> dict[str, str]:
    dropped = ("QAGEN_", "DAGSTER_", "PYTEST_", "PYTHONPATH")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return {**kept, "PWD": str(clone)}


def test_dg_works_in_a_fresh_clone(clone: Path) -> None:
    def dg_command(*words: str) -> str:
        return _run([*DG, *words], clone, _as_newcomer(clone))

    dg_command("check", "defs")
    keys = {one["asset_key"] for one in json.loads(dg_command("list", "defs", "--json"))["assets"]}
    assert {"corpus_json", "item_bank", "problem_bank"} <= keys
    dg_command("launch", "--assets", "parsed_documents", "--partition", "town_records")
    assert (clone / "assets/documents/town_records/index.json").is_file()


@pytest.mark.parametrize(
    ("options", "expected"),
    [((), {"qagen_dagster"}), (("-w", "workspace.yaml"), {"qagen_dagster", "downstream_evaluation"})],
    ids=["project", "workspace"],
)
def test_dg_dev_serves_a_fresh_clone(clone: Path, options: tuple[str, ...], expected: set[str]) -> None:
    with _served([*DG, "dev", *options], clone, _as_newcomer(clone)) as server:
        until(lambda: bool(found := _locations(server)) and "" not in found.values(), 240)
        assert _locations(server) == dict.fromkeys(expected, "RepositoryLocation")
