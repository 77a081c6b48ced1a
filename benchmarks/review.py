"""How fast the review page is with a large set: opening it, filtering, deciding.

`python -m benchmarks.review [--documents 1500] [--decisions 3000] [--rounds 5]` writes a published set of ten questions and a rejected
candidate for each document, and starts `qagen review` on it. Chromium opens the page and filters it. A time ends when the browser
has painted the result. Prints the median and the maximum in milliseconds, and the median of the CPU time that the page took: on a
busy machine the times are longer, the CPU time is not.
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from qagen_dagster.loop.review_decisions import append
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.decisions import Action, Decision
from qagen_dagster.records.questions.published import CorpusGenerationResult
from qagen_dagster.settings import Settings, export
from tests.support.chromium import CHROMIUM, Tab, chromium
from tests.support.reviewed import KEY, reviewed

QUESTIONS = 10  # of a document
WATCH = """
const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now()))));
addEventListener("DOMContentLoaded", () =>
  new MutationObserver(async () => { if (document.querySelector(".passage")) window.opened ??= await painted(); })
    .observe(document.body, { childList: true, subtree: true }));
async function timed(act) { const start = performance.now(); act(); return (await painted()) - start; }
function choose(input, value) {
  return timed(() => { input.value = value; input.dispatchEvent(new Event(input.tagName === "SELECT" ? "change" : "input")); });
}
"""
FILTERS = {
    "search for a word": 'choose(list.search, "valve 7")',
    "search for a letter": 'choose(list.search, "a")',
    "no search": 'choose(list.search, "")',
    "one document": 'choose(list.inputs.document, "station-700.txt")',
    "any document": 'choose(list.inputs.document, "")',
    "accepted by reviewers": 'choose(list.inputs.state, "accepted")',
    "any review": 'choose(list.inputs.state, "")',
    "sample of 200": "choose(list.sample, 200)",
    "no sample": 'choose(list.sample, "")',
    "most expensive first": 'choose(list.order, "usd")',
    "as made": 'choose(list.order, "")',
    "show all": "timed(() => list.reset())",
    "scroll to the end": "timed(() => { list.box.scrollTop = 1e9; })",
    "next question": "timed(() => list.move(1))",
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1500)
    parser.add_argument("--decisions", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    if CHROMIUM is None:
        raise SystemExit("there is no Chromium: make browser")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        space = reviewed(folder / "project", documents=given.documents, questions=QUESTIONS)
        _decide(space, given.decisions)
        start = time.perf_counter()
        with _page(space.settings) as address:
            print(f"{'`qagen review` until it gives the address':<44}{_ms(time.perf_counter() - start)}")
            with chromium(folder / "browser") as tab:
                _measure(tab, address, given.rounds)


def _measure(tab: Tab, address: str, rounds: int) -> None:
    tab.send("Page.enable")
    tab.send("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
    times: dict[str, list[tuple[float, float]]] = {}
    for _ in range(rounds):
        tab.send("Page.navigate", url="about:blank")
        tab.send("Performance.enable", timeDomain="threadTicks")
        begun = _cpu(tab)
        tab.open(address)
        tab.wait("window.opened")
        times.setdefault("open the page, with the first question", []).append(
            (tab.run("opened"), _cpu(tab) - begun)
        )
        for name, script in FILTERS.items():
            begun = _cpu(tab)
            times.setdefault(name, []).append((tab.run(script), _cpu(tab) - begun))
        begun = _cpu(tab)
        times.setdefault("decide", []).append((_decision(tab), _cpu(tab) - begun))
    print(f"{tab.run('list.rows.length')} questions, {rounds} rounds{'median':>20}{'maximum':>14}{'CPU':>14}")
    for name, found in times.items():
        wall, cpu = zip(*found, strict=True)
        print(
            f"{name:<44}{statistics.median(wall):7.0f} ms{max(wall):11.0f} ms{statistics.median(cpu):11.0f} ms"
        )


def _cpu(tab: Tab) -> float:
    """Milliseconds of CPU that the main thread of the page has taken."""
    metrics = {one["name"]: one["value"] for one in tab.send("Performance.getMetrics")["metrics"]}
    return metrics["TaskDuration"] * 1000


def _decision(tab: Tab) -> float:
    """Milliseconds from a key to the stored decision."""
    tab.run("list.moveToNew((row) => !isMine(row))")
    before = tab.run("byId('progress').textContent")
    start = time.perf_counter()
    tab.press("a")
    tab.wait(f"byId('progress').textContent !== {before!r}", pause=0.002)
    return (time.perf_counter() - start) * 1000


def _decide(space: Workspace, count: int) -> None:
    published = space.store.read(CorpusGenerationResult.key(KEY), CorpusGenerationResult)
    for one in published.questions[:count]:
        texts = {"document_id": one.document_id, "question": one.question, "answer": one.answer}
        decision = {"set_key": KEY.key, "question_id": one.id, "reviewer": "bo", "action": Action.ACCEPT}
        append(space, Decision.model_validate({**decision, **texts}))


@contextmanager
def _page(settings: Settings) -> Generator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    words = ["-c", "from qagen_dagster.cli.main import main; main()", "review", "--port", str(port)]
    command = [sys.executable, *words, "--reviewer", "ann"]
    environment = os.environ | export(settings)
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            if "http" not in line:
                raise SystemExit(line + process.stderr.read())
            yield f"http://127.0.0.1:{port}/"
        finally:
            process.terminate()


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:7.0f} ms"


if __name__ == "__main__":
    main()
