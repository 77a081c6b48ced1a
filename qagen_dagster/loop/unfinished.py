"""Records which assets of a partition failed, or were interrupted or killed, in their last run.

The record is in the store, so that a command can read it without loading Dagster.
"""

from collections.abc import Iterable

from qagen_dagster.records.run import Unfinished
from qagen_dagster.store import Store

DOCUMENTS = ("parsed_documents", "visual_manifests")
QUESTIONS = ("candidate_qa", "validated_qa", "corpus_json", "grounding_report")


def is_unfinished(store: Store, partition: str, assets: Iterable[str]) -> bool:
    """Whether any of `assets` has not succeeded since a run of it began."""
    known = store.find_valid(Unfinished.key(partition), Unfinished)
    return known is not None and not set(assets).isdisjoint(known.assets)


def mark(store: Store, partition: str, *, begun: Iterable[str] = (), succeeded: Iterable[str] = ()) -> None:
    """Record that a run of the assets in `begun` begins, or that the assets in `succeeded` have succeeded."""
    key = Unfinished.key(partition)
    known = store.find_valid(key, Unfinished)
    assets = sorted({*(known.assets if known else ()), *begun} - set(succeeded))
    if assets:
        store.write(key, Unfinished(assets=tuple(assets)))
    elif known:
        store.remove(key)
