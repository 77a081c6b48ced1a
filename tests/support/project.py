"""A whole project in one folder: corpora, profiles, store, Dagster instance; and the `qagen` command run in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.instance.ref import InstanceRef

from qagen_dagster.settings import Settings
from tests.support import cloze, quick_dagster, warm

quick_dagster.hurry()
QAGEN = Path(sys.executable).with_name("qagen")
INSTANCE = """\
telemetry: {enabled: false}
nux: {enabled: false}
concurrency: {pools: {default_limit: 1}}
"""
# Dagster starts four processes for each run that copy its output to a file, which nobody reads here.
QUIET = {
    "compute_logs": {
        "module": "dagster._core.storage.noop_compute_log_manager",
        "class": "NoOpComputeLogManager",
    }
}


@cache
def _new_instance() -> dict[str, bytes]:
    """The files of a Dagster instance without a run: making its tables takes a second, copying them none."""
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        (folder / "dagster.yaml").write_text(INSTANCE)
        with dg.DagsterInstance.from_config(home) as instance:
            assert instance.get_runs_count() == 0
            assert not instance.all_asset_keys()
            assert not instance.all_instigator_state()
        return {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        }


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def value(self) -> Any:
        """Its JSON output."""
        return json.loads(self.out)

    @property
    def errors(self) -> list[str]:
        return self.err.splitlines()


@dataclass(frozen=True)
class Project:
    """The folders of one project. Nothing of the machine's own project is ever used."""

    root: Path
    number: int = 1

    @classmethod
    def make(cls, root: Path) -> Project:
        project = cls(root)
        for folder in (project.corpora, project.profiles):
            folder.mkdir(parents=True)
        project.profile("dry_run", cloze.PROFILE.read_text())
        return project.with_instance()

    def another(self, number: int) -> Project:
        """The same corpora and profiles with a store and an instance of their own."""
        return replace(self, number=number).with_instance()

    def with_instance(self) -> Project:
        self.home.mkdir()
        for name, content in _new_instance().items():
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return self

    @property
    def corpora(self) -> Path:
        return self.root / "corpora"

    @property
    def profiles(self) -> Path:
        return self.root / "profiles"

    @property
    def assets(self) -> Path:
        return self.root / f"assets-{self.number}"

    @property
    def home(self) -> Path:
        return self.root / f"home-{self.number}"

    def settings(self, **changes: Any) -> Settings:
        usual = Settings(
            corpora=self.corpora,
            assets=str(self.assets),
            profile="dry_run",
            profiles=self.profiles,
            document_workers=3,
            parser_workers=1,
        )
        return replace(usual, **changes)

    def instance(self) -> dg.DagsterInstance:
        return dg.DagsterInstance.from_ref(InstanceRef.from_dir(str(self.home), overrides=QUIET))

    def corpus(self, name: str, description: str, documents: Mapping[str, str | bytes]) -> Path:
        """Write a corpus; `description` is its corpus.yaml."""
        folder = self.corpora / name
        for file, content in documents.items():
            path = folder / "documents" / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        (folder / "documents").mkdir(parents=True, exist_ok=True)
        (folder / "corpus.yaml").write_text(description)
        return folder

    def profile(self, name: str, text: str) -> None:
        (self.profiles / f"{name}.yaml").write_text(text)

    def environment(self, **more: str) -> dict[str, str]:
        """Of a process that works in this project."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("QAGEN_", "DAGSTER_", "PYTEST_"))
        }
        return {
            **kept,
            "DAGSTER_HOME": str(self.home),
            "QAGEN_CORPORA": str(self.corpora),
            "QAGEN_ASSETS": str(self.assets),
            "QAGEN_PROFILES": str(self.profiles),
            "QAGEN_PROFILE": "dry_run",
            "QAGEN_SCRIPTS": cloze.__name__,
            "PYTHONPATH": str(
                Path(cloze.__file__).parents[2]
            ),  # other packages bring folders called tests, too
            "QAGEN_DOCUMENT_WORKERS": "3",
            "QAGEN_PARSER_WORKERS": "1",
            "COLUMNS": "160",
            **more,
        }

    def start(self, *words: str, **environ: str) -> warm.Command:
        """Begin a command; the caller waits for it. It is a process of its own, but has no imports to do."""
        return warm.start(words, self.root, self.environment(**environ))

    def start_fresh(self, *words: str, **environ: str) -> subprocess.Popen[str]:
        """The same as people do it: the installed script in a new interpreter with a hash seed of its own."""
        return subprocess.Popen(
            [str(QAGEN), *words],
            cwd=self.root,
            env=self.environment(**environ),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def qagen(self, *words: str, **environ: str) -> Ended:
        """Run a command to its end."""
        return ended(self.start(*words, **environ))

    def qagen_fresh(self, *words: str, **environ: str) -> Ended:
        """Run a command of the installed script to its end."""
        return ended(self.start_fresh(*words, **environ))

    def published(self, key: str) -> dict[str, Any]:
        """The corpus.json of a combination."""
        return json.loads((self.assets / "published" / key / "corpus.json").read_bytes())

    def stored(self, prefix: str = "") -> dict[str, tuple[bytes, int]]:
        """Content and time of change of every stored file under a prefix."""
        root = self.assets / prefix
        return {
            path.relative_to(self.assets).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns)
            for path in sorted(root.rglob("*"))
            if path.is_file()
        }


def ended(process: subprocess.Popen[str] | warm.Command) -> Ended:
    out, err = process.communicate(timeout=900)
    code = process.poll()
    assert code is not None
    return Ended(code, out, err)
