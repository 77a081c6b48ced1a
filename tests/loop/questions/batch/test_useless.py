"""Documents of the batch strategy whose models give no reply of use: unfinished, cheap, and asked again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from qagen_dagster.errors import MalformedResponseError
from qagen_dagster.loop.questions.document_journal import DocumentJournal
from qagen_dagster.loop.questions.document_work import DocumentWork, QAModels
from qagen_dagster.loop.questions.run_document import run_document
from qagen_dagster.models.messages import Stop
from qagen_dagster.records.questions.results import DocumentEnd, GenerationResult
from qagen_dagster.store import Store
from tests.support.batches.play import BatchPlay, Fate
from tests.support.batches.run import COMBINATION, KEY, MIX, fresh, limits_of
from tests.support.documents import context_of
from tests.support.models import FakeModel, Turn, answer, call, say

ROUNDS = [
    [
        ("multi_hop", Fate.GOOD),
        ("multi_hop", Fate.GOOD),
        ("multi_hop", Fate.GOOD),
        ("causal", Fate.GOOD),
        ("causal", Fate.GOOD),
    ]
]
USELESS: dict[str, Turn] = {
    "words": say("I would rather talk about pumps."),
    "nothing": call("submit_questions"),
    "unknown": call("open_valve"),
    "malformed": MalformedResponseError("no choices"),
}


def work(models: QAModels, store: Store) -> GenerationResult:
    asked = DocumentWork(COMBINATION, context_of(), limits_of(MIX), fingerprint="f" * 16)
    return run_document(asked, models, DocumentJournal(store, KEY, "w"))


@pytest.mark.parametrize("role", ["generator", "answerer", "validator"])
@pytest.mark.parametrize("kind", USELESS)
def test_a_document_without_a_reply_of_use_is_unfinished_and_cheap(kind: str, role: str) -> None:
    store, useless = fresh(), FakeModel(lambda _: USELESS[kind])
    for _ in range(6):
        before = len(useless.requests)
        with pytest.raises(MalformedResponseError, match="model_error: "):
            work(replace(BatchPlay(ROUNDS * 40).models, **{role: useless}), store)
        assert before < len(useless.requests) <= before + 30
    found = work(BatchPlay(ROUNDS * 40).models, store)
    assert (found.end, found.stats.accepted_count) == (DocumentEnd.TARGET_REACHED, 5)


@pytest.mark.parametrize("role", ["generator", "answerer", "validator"])
@pytest.mark.parametrize("stop", [Stop.REFUSAL, Stop.FILTER])
def test_a_document_that_a_model_only_refused_is_unfinished_and_asked_again(stop: Stop, role: str) -> None:
    store, model = fresh(), FakeModel(lambda _: answer(say("I cannot help."), stop))
    with pytest.raises(MalformedResponseError, match="I cannot help"):
        work(replace(BatchPlay(ROUNDS * 40).models, **{role: model}), store)
    assert 0 < len(model.requests) <= 30
    found = work(BatchPlay(ROUNDS * 40).models, store)
    assert (found.end, found.stats.accepted_count) == (DocumentEnd.TARGET_REACHED, 5)
