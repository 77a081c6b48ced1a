"""A process that asks by batch: `python -m tests.support.batches.process WIRE URL FOLDER COUNT`.

So many threads ask the deduplicator's kind of question; prints the answers as JSON, in order.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from qagen_dagster.models.batch_records import JobBook
from qagen_dagster.models.batcher import Batchers
from qagen_dagster.models.ledger import Ledger
from qagen_dagster.models.messages import Request, Text, UserMessage
from qagen_dagster.models.providers import build_model
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.store import Store


def main() -> None:
    wire, url, folder, count = sys.argv[1:]
    store = Store(Path(folder) / "store")
    spec = ModelSpec(
        provider=wire,
        model="m-1",
        base_url=url,
        api_key_env="THE_KEY",
        execution="batch",
        batch_window_seconds=2,
        batch_poll_seconds=0.05,
    )
    batchers = Batchers(JobBook(store.blobs("batches")))
    model = build_model(
        spec, Ledger(store.blobs("ledger")), lambda _: "key", Path(folder) / "state", batchers
    )

    def ask(number: int) -> str:
        words = UserMessage(content=(Text(text=f"question {number}"),))
        return model.respond(Request(system="Compare.", messages=(words,))).message.text

    with ThreadPoolExecutor(int(count)) as threads:
        sys.stdout.write(json.dumps(list(threads.map(ask, range(int(count))))))


if __name__ == "__main__":
    main()
