"""Partitions, read from the corpora folder, and how a corpus maps to its combinations."""

from __future__ import annotations

from dataclasses import dataclass

import dagster as dg

from qagen_dagster.configuration.corpora import Corpora


@dataclass(frozen=True)
class Partitions:
    """`corpora` has one key per corpus, `combinations` one per corpus/scenario/mode.

    `fan_out` is explicit because Dagster would otherwise infer an identity mapping and map a corpus to nothing.
    """

    corpora: dg.StaticPartitionsDefinition
    combinations: dg.StaticPartitionsDefinition
    fan_out: dg.StaticPartitionMapping


def build_partitions(corpora: Corpora) -> Partitions:
    """Partitions of all readable corpora."""
    by_corpus = {key: {c.key for c in corpus.combinations()} for key, corpus in corpora.corpora.items()}
    keys = [c.key for corpus in corpora.corpora.values() for c in corpus.combinations()]
    return Partitions(
        corpora=dg.StaticPartitionsDefinition(list(corpora.corpora)),
        combinations=dg.StaticPartitionsDefinition(keys),
        fan_out=dg.StaticPartitionMapping(by_corpus),
    )
