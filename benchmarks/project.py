"""A project in a temporary folder, for benchmarks that run the real asset graph."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from qagen_dagster.settings import Settings, load_settings


class Quiet:
    """Progress that says nothing."""

    def step(self, title: str) -> None:
        del title

    def say(self, note: str) -> None:
        del note

    def done(self) -> None: ...


def make(root: Path, corpus: str, description: str, documents: Mapping[str, str], profile: str) -> Settings:
    """One corpus of text documents by name, and an instance of its own; `profiles/` is for the caller's.

    Another call with the same `root` adds a corpus.
    """
    folder = root / "corpora" / corpus / "documents"
    folder.mkdir(parents=True)
    (folder.parent / "corpus.yaml").write_text(description, encoding="utf-8")
    for name, text in documents.items():
        (folder / name).write_text(text, encoding="utf-8")
    (root / "profiles").mkdir(exist_ok=True)
    home = root / "home"
    home.mkdir(exist_ok=True)
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n", encoding="utf-8")
    os.environ["DAGSTER_HOME"] = str(home)
    return replace(
        load_settings(),
        corpora=root / "corpora",
        assets=str(root / "assets"),
        profile=profile,
        profiles=root / "profiles",
    )


def check(failures: list[str]) -> None:
    """End the benchmark when a run failed."""
    if failures:
        raise SystemExit("\n".join(failures))
