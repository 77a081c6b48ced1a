"""How far estimates are off, on the sample corpora: before any run, after half of the documents, after another scenario.

`python -m benchmarks.estimate [--profile embedded] [--workers 8]` works every corpus in a store of its own, in a temporary
folder. Each line compares what was expected with what the run then took; `out` says that it left the range.

`--wire` compares money instead: the priced models of `tests/support/moody_server.py` are asked over HTTP, and the server
counts what it was paid for another scenario, more questions, and other models; `--seeds 8` repeats that with other moods.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from qagen_dagster.ingest.parsing import build_manifests, parse_corpus
from qagen_dagster.loop.catalog import rebuild_catalog
from qagen_dagster.loop.estimate.amounts import Range, Use, use_of
from qagen_dagster.loop.estimate.combinations import CombinationEstimate, estimate
from qagen_dagster.loop.questions.plan import RunOptions, collect, plan
from qagen_dagster.loop.questions.validated_set import validate_set
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models import embedders
from qagen_dagster.records.ids import Combination, Mode
from qagen_dagster.records.questions.results import CallSummary, GenerationResult
from qagen_dagster.settings import load_settings
from tests.support.moody_server import MoodyServer
from tests.support.shards import run_shard

_USUAL = RunOptions()
_NEAR = 0.3


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", default="embedded")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--wire", action="store_true")
    parser.add_argument("--seeds", type=int, default=1, help="so many servers of other moods, with --wire")
    words = parser.parse_args()
    usual = replace(load_settings(), profile=str(words.profile), document_workers=int(words.workers))
    embedders.shared().encode(["loaded before anything is timed"])
    off: dict[str, list[float]] = {}
    for key in Workspace(usual).corpora.corpora:
        for seed in range(int(words.seeds) if words.wire else 1):
            with tempfile.TemporaryDirectory() as folder:
                space = Workspace(replace(usual, assets=folder))
                if not words.wire:
                    _measure(space, _read(space, key))
                    continue
                for title, share in _pay(space, key, Path(folder) / "profiles", seed):
                    off.setdefault(title, []).append(share)
    for title, shares in off.items():
        near = sum(abs(share) <= _NEAR for share in shares)
        print(f"{title}: middle {median(shares):+.0%}, {near} of {len(shares)} within {_NEAR:.0%}")


def _read(space: Workspace, key: str) -> Sequence[Combination]:
    corpus = space.corpus(key)
    index = parse_corpus(corpus, space.store, space.parsers(), space.settings).index
    build_manifests(corpus, index, space.store, space.parsers(), space.settings)
    return corpus.combinations()


def _pay(space: Workspace, key: str, profiles: Path, seed: int) -> Iterator[tuple[str, float]]:
    """Money after one run of the first scenario in textual mode, and how far the estimate was off."""
    profiles.mkdir()
    with MoodyServer(seed) as server:
        (profiles / "moody.yaml").write_text(server.profile(), encoding="utf-8")
        (profiles / "newer.yaml").write_text(server.profile("-2"), encoding="utf-8")
        space = Workspace(replace(space.settings, profiles=profiles, profile="moody"))
        here, other = [one for one in _read(space, key) if one.mode is Mode.TEXTUAL][:2]
        usual = RunOptions(target_count=3)
        for title, where, options in (
            ("before any run", here, usual),
            ("another scenario", other, usual),
            ("more questions", here, RunOptions(target_count=6)),
            ("other models", other, RunOptions(profile="newer", target_count=4)),
        ):
            expected = _estimate(space, where, options).usd
            _work(space, where, None, options)
            _end(space, where, options)
            paid = server.settle().usd
            if expected is None:
                raise SystemExit("a price is unknown")
            inside = "in" if expected.low <= paid <= expected.high else "out"
            told = f"{expected.low:>8.2f} {expected.expected:>8.2f} {expected.high:>8.2f}"
            print(
                f"{where.key}: {title:<18} ${told}   paid ${paid:.2f} {expected.expected / paid - 1:>+7.0%} {inside}"
            )
            yield title, expected.expected / paid - 1


def _measure(space: Workspace, combinations: Sequence[Combination]) -> None:
    first = combinations[0].scenario
    for where in combinations:
        documents = [one.id for one in plan(space, where, RunOptions()).documents]
        if where.scenario != first:
            _compare("after another scenario", space, where, documents)
            continue
        _show(f"{where.key}: before any run", _estimate(space, where), None, 0.0)
        _work(space, where, documents[::2])
        _compare("after half of the documents", space, where, documents[1::2])


def _compare(title: str, space: Workspace, where: Combination, documents: Sequence[str]) -> None:
    expected = _estimate(space, where)
    started = time.monotonic()
    calls = _work(space, where, documents)
    seconds = time.monotonic() - started
    total = Use()
    for use in use_of((*calls, *_end(space, where))).values():
        total = total.plus(use)
    _show(f"{where.key}: {title}", expected, total, seconds)


def _estimate(space: Workspace, where: Combination, options: RunOptions = _USUAL) -> CombinationEstimate:
    return estimate(space, [where], options).combinations[0]


def _work(
    space: Workspace, where: Combination, ids: Sequence[str] | None, options: RunOptions = _USUAL
) -> list[CallSummary]:
    """Work documents, all of them where `ids` is None."""
    planned = plan(space, where, options)
    chosen = [one for one in planned.documents if ids is None or one.id in ids]
    run_shard(space, planned, [one.id for one in chosen], "run")
    keys = [planned.result_key(one) for one in chosen]
    return [call for key in keys for call in space.store.read(key, GenerationResult).calls]


def _end(space: Workspace, where: Combination, options: RunOptions = _USUAL) -> Sequence[CallSummary]:
    now = datetime.now(UTC).isoformat()
    collect(space, plan(space, where, options), run_id="run", started=now, ended=now)
    validated = validate_set(space, where, embedders.shared().encode)
    rebuild_catalog(space.store)
    return validated.calls


def _show(title: str, found: CombinationEstimate, total: Use | None, seconds: float) -> None:
    print(f"{title}, {found.to_do} documents ({found.basis})")
    rows: list[tuple[str, Range, Callable[[Use], float]]] = [
        ("calls", found.calls, lambda use: use.calls),
        ("input tokens", found.input_tokens, lambda use: use.input_tokens),
        ("output tokens", found.output_tokens, lambda use: use.output_tokens),
        ("seconds", found.seconds, lambda _use: seconds),
    ]
    for name, told, taken in rows:
        line = f"  {name:<14} {told.low:>10,.0f} {told.expected:>10,.0f} {told.high:>10,.0f}"
        if total is not None and taken(total):
            actual = taken(total)
            inside = "in" if told.low <= actual <= told.high else "out"
            line += f"   took {actual:>10,.1f} {told.expected / actual - 1:>+7.0%} {inside}"
        print(line)


if __name__ == "__main__":
    main()
