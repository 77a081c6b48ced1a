"""Tells whether the search index of a corpus is out of date, and why."""

from __future__ import annotations

from collections.abc import Mapping

from qagen_dagster.ingest.parsing import USABLE
from qagen_dagster.loop.configuration import OTHER_VERSION, Configuration, differences
from qagen_dagster.loop.index.build import index_version, is_indexed
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.vectors import EmbedderSpec
from qagen_dagster.records.document import SearchIndex
from qagen_dagster.records.text import counted


def wanted_index(space: Workspace, corpus: str, profile: str | None = None) -> Configuration:
    """The configuration with which a run would build the index. Raises ConfigError."""
    spec = space.profile(profile or space.settings.profile).embedder
    cut = space.corpus(corpus).config.index.model_dump()
    settings = {f"index {name}": str(value) for name, value in cut.items()}
    return Configuration(index_version(space, corpus, profile), _parts(spec), settings)


def made_index(space: Workspace, corpus: str, _wanted: Configuration) -> Configuration | None:
    """The configuration of the stored index; None if there is none."""
    index = space.store.find_valid(SearchIndex.key(corpus), SearchIndex)
    if index is None:
        return None
    return Configuration(index.fingerprint, _parts(EmbedderSpec.model_validate(index.embedder)))


def why_index_outdated(space: Workspace, corpus: str, profile: str | None = None) -> tuple[str, ...]:
    """Why an index that was built once is out of date, in one line each. Raises ConfigError and StoreError."""
    index = space.store.find_valid(SearchIndex.key(corpus), SearchIndex)
    if index is None:
        return ()
    wanted = wanted_index(space, corpus, profile)
    if index.fingerprint != wanted.version:
        return differences(_parts(EmbedderSpec.model_validate(index.embedder)), wanted.parts) or (
            OTHER_VERSION,
        )
    if is_indexed(space, corpus):
        return ()
    now = {one.id: one.text_sha256 for one in space.index(corpus).documents if one.outcome in USABLE}
    known = {one.id: one.text_sha256 for one in index.documents if one.failure is None}
    differing = [name for name in {**known, **now} if known.get(name) != now.get(name)]
    return tuple(counted("outdated documents", differing)) or ("one of its files is damaged",)


def _parts(spec: EmbedderSpec) -> Mapping[str, str]:
    return {"embedder": spec.name}
