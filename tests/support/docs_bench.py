"""A project folder as the documents suppose it, in which their commands are run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import (
    AbstractContextManager,
    chdir,
    contextmanager,
    nullcontext,
    redirect_stderr,
    redirect_stdout,
)
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

import pytest

from qagen_dagster.cli.main import main
from qagen_dagster.configuration.profiles import SHIPPED
from qagen_dagster.settings import PROJECT_ROOT
from tests.support.project import Ended, Project
from tests.support.recorded import Page, told

INSTALLED = (
    "make setup",
    "source .venv/bin/activate",
    "make ui",
)  # what a test has already, or cannot wait for
_STEP = re.compile(r"parse \S+|\S+/\S+/(?:textual|visual)|catalog")


@dataclass(frozen=True)
class Case:
    """How the commands below one heading are run and end."""

    code: int = 0
    while_run: AbstractContextManager[object] = field(default_factory=nullcontext)
    environ: Mapping[str, str] = field(default_factory=dict[str, str])
    apart: bool = False  # in a process of its own
    shown: str = ""  # a pattern of the lines that the page shows; all of them if it is empty


class Bench:
    """The folder; `url` leads to a server that plays the models of the profile `openai`."""

    def __init__(self, folder: Path, url: str) -> None:
        self.project = Project.make(folder)
        self.folder, self.url = folder, url
        self.project.home.rename(folder / ".dagster_home")
        (self.project.profiles / "dry_run.yaml").unlink()  # users do not have it
        self.profile("openai", url)

    @property
    def assets(self) -> Path:
        return self.folder / "assets"

    def profile(self, name: str, url: str, *more: str) -> None:
        """The shipped profile `openai` under a name, at an address, with more settings of each role."""
        shipped = (SHIPPED / "openai.yaml").read_text(encoding="utf-8")
        added = "\n    ".join((r"\1", f'base_url: "{url}"', *more))
        self.project.profile(
            name, re.sub(r"^    (provider: .*)$", f"    {added}", shipped, flags=re.MULTILINE)
        )

    def sample(self, corpus: str, *documents: str) -> None:
        """A sample corpus, or some of its documents."""
        target = self.project.corpora / corpus
        shutil.copytree(PROJECT_ROOT / "corpora" / corpus, target)
        for path in (target / "documents").glob("*") if documents else ():
            if path.name not in documents:
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def qagen(self, line: str, environ: Mapping[str, str] | None = None, *, apart: bool = False) -> Ended:
        """A line as it is typed, with variables before it or not; in this process, which has loaded the models already."""
        words = shlex.split(line)
        at = words.index("qagen")
        given = dict(word.split("=", 1) for word in words[:at])
        more = {**self._environment(), **given, **(environ or {})}
        if apart:
            return self.project.qagen(*words[at + 1 :], **more)
        out, err = StringIO(), StringIO()
        with self._here(more), redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
            main(words[at + 1 :])
        assert isinstance(ended.value.code, int)
        return Ended(ended.value.code, out.getvalue(), err.getvalue())

    @contextmanager
    def _here(self, more: Mapping[str, str]) -> Generator[None]:
        """In the folder, with its environment; a command may change that for good."""
        before = dict(os.environ)
        os.environ.update(self.project.environment(**more))
        try:
            with chdir(self.folder):
                yield
        finally:
            os.environ.clear()
            os.environ.update(before)

    def shell(self, line: str) -> str:
        """Any other command of a page, in the environment that `activate` makes."""
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        ran = subprocess.run(
            ["bash", "-c", line],
            cwd=self.folder,
            env=self.project.environment(**self._environment(), PATH=path),
            capture_output=True,
            text=True,
            check=True,
        )
        return ran.stdout

    def run(
        self, page: Page, request: pytest.FixtureRequest, cases: Mapping[str, Case] | None = None
    ) -> None:
        """Run every command of a page and compare what it prints with what the page shows, or write that."""
        for heading in dict.fromkeys(block.heading for block in page.blocks):
            case = (cases or {}).get(heading, Case())
            with case.while_run:
                self._section(page, heading, case)
        if request.config.getoption("update_snapshots"):
            page.write()
        else:
            assert page.differences() == {}, "pytest --snapshot-update writes the blocks of output anew"

    def _section(self, page: Page, heading: str, case: Case) -> None:
        printed = ""
        for block in (one for one in page.blocks if one.heading == heading):
            if block.language == "yaml":
                (self.project.corpora / "field_manuals" / "corpus.yaml").write_text(block.content)
            elif block.language == "text":
                page.record(block, printed)
            for line in block.content.splitlines() if block.language == "bash" else ():
                if line in INSTALLED or line.startswith("export "):
                    continue
                printed = self._told(self._printed(line, case) if "qagen " in line else self.shell(line))

    def _printed(self, line: str, case: Case) -> str:
        ended = self.qagen(line, case.environ, apart=case.apart)
        assert ended.code == case.code, f"{line}\n{ended.err}"
        if case.shown:
            return "\n".join(line for line in ended.out.splitlines() if re.search(case.shown, line))
        return _at_the_end(ended)

    def _told(self, out: str) -> str:
        """As on a page: the profile of the page has no address of a server."""
        return told(out.replace(self.url, "openai's own"), self.folder)

    def _environment(self) -> dict[str, str]:
        return {
            "QAGEN_ASSETS": str(self.assets),
            "DAGSTER_HOME": str(self.folder / ".dagster_home"),
            "QAGEN_STATE": str(self.folder / "state"),
            "QAGEN_PROFILE": "embedded",
            "QAGEN_DOCUMENT_WORKERS": "8",  # the default: the time of an estimate depends on it
            "OPENAI_API_KEY": "sk-0123456789",
        }


def _at_the_end(ended: Ended) -> str:
    """What stands in a terminal: not the steps, which are a bar there, nor what `doctor` says of this machine."""
    said = [line for line in ended.errors if not _STEP.fullmatch(line)]
    errors = [line for line in said if line.startswith("qagen: ")]
    lines = [*(line for line in said if line not in errors), *ended.out.splitlines(), *errors]
    own = next((number for number, line in enumerate(lines) if re.search(r"\bprofile \w+: ", line)), 0)
    return "\n".join(["…", *lines[own:]] if own else lines)
