"""The commands of the documents are run: those of the quickstart in order, on a server that plays the models of its profile; then
all that other pages show, in the same project."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from qagen_dagster.configuration.profiles import SHIPPED
from qagen_dagster.settings import PROJECT_ROOT
from tests.support.embedded_server import embedded_server
from tests.support.project import Ended, Project
from tests.support.recorded import Page, told

DOCS = PROJECT_ROOT / "docs"
INSTALLED = ("make setup", "source .venv/bin/activate", "make ui")  # what a test has already, or cannot wait for
_STEP = re.compile(r"parse \S+|\S+/\S+/(?:textual|visual)|catalog")


class Bench:
    """A project folder as the pages suppose it, whose profiles lead to a local server."""

    def __init__(self, folder: Path, url: str) -> None:
        self.project = Project.make(folder)
        self.folder, self.url = folder, url
        self.project.home.rename(folder / ".dagster_home")
        shipped = (SHIPPED / "openai.yaml").read_text(encoding="utf-8")
        for name in ("openai", "mixed"):
            text = re.sub(r"^(    provider: .*)$", rf'\1\n    base_url: "{url}"', shipped, flags=re.MULTILINE)
            self.project.profile(name, text)
        for name in ("instrument_manuals", "exams"):
            shutil.copytree(PROJECT_ROOT / "corpora" / name, self.project.corpora / name)

    def environment(self) -> dict[str, str]:
        return {
            "QAGEN_ASSETS": str(self.folder / "assets"),
            "DAGSTER_HOME": str(self.folder / ".dagster_home"),
            "QAGEN_PROFILE": "embedded",
            "OPENAI_API_KEY": "sk-0123456789",
        }

    def told(self, out: str) -> str:
        """As on a page: the profile of the page has no address of a server."""
        return told(out.replace(self.url, "openai's own"), self.folder)

    def qagen(self, line: str) -> Ended:
        return self.project.qagen(*shlex.split(line)[1:], **self.environment())

    def shell(self, line: str) -> str:
        """Any other command of a page."""
        ran = subprocess.run(
            ["bash", "-c", line],
            cwd=self.folder,
            env=self.project.environment(**self.environment()),
            capture_output=True,
            text=True,
            check=True,
        )
        return ran.stdout


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Generator[Bench]:
    with embedded_server() as server:
        yield Bench(tmp_path_factory.mktemp("docs") / "project", server.url("openai"))


def test_the_quickstart_runs_and_prints_what_it_shows(bench: Bench, request: pytest.FixtureRequest) -> None:
    _run(Page(DOCS / "quickstart.md"), bench, request)


def test_the_question_of_how_it_works_is_one(bench: Bench, request: pytest.FixtureRequest) -> None:
    corpus = bench.project.corpora / "town_records"
    shutil.copytree(PROJECT_ROOT / "corpora" / corpus.name, corpus, ignore=_all_but("market_bylaw.md"))
    made = bench.qagen(f"qagen run --corpus {corpus.name} --scenario citizen_enquiry --mode textual")
    assert made.code == 0, made.err
    _run(Page(DOCS / "how-it-works.md"), bench, request)


def _all_but(document: str) -> Callable[[str, list[str]], list[str]]:
    """For `copytree`: of the documents this one alone."""
    return lambda folder, names: [one for one in names if one != document and Path(folder).name == "documents"]


def _run(page: Page, bench: Bench, request: pytest.FixtureRequest) -> None:
    printed = ""
    for block in page.blocks:
        if block.language == "yaml":
            (bench.project.corpora / "field_manuals" / "corpus.yaml").write_text(block.content)
        elif block.language == "text":
            page.record(block, printed)
        for line in block.content.splitlines() if block.language == "bash" else ():
            if line in INSTALLED or line.startswith("export "):
                continue
            if not line.startswith("qagen "):
                printed = bench.told(bench.shell(line))
                continue
            ended = bench.qagen(line)
            assert ended.code == 0, f"{line}\n{ended.err}"
            printed = bench.told(_shown(ended))
    _settle(page, request)


def _shown(ended: Ended) -> str:
    """What stands in a terminal at the end: not the steps, which are a bar there, nor what `doctor` says of this machine."""
    out = "".join(f"{line}\n" for line in ended.errors if not _STEP.fullmatch(line)) + ended.out
    own = out.find("profile openai")
    return out if own < 0 else "…\n" + out[out.rindex("\n", 0, own) + 1 :]


def _settle(page: Page, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("update_snapshots"):
        page.write()
    else:
        assert page.differences() == {}, "pytest --snapshot-update writes the blocks of output anew"
