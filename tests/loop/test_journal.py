from __future__ import annotations

import json
from pathlib import Path

import pytest

from qagen_dagster.errors import ResumeError
from qagen_dagster.loop.questions.document_journal import DocumentJournal
from qagen_dagster.loop.questions.state import Compared, Exhausted, GenerationFailed
from qagen_dagster.store import Store

FIRST = GenerationFailed(reason="max_turns", viewed_pages=(1, 2))
SECOND = Exhausted(reason="nothing left")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def test_events_come_back_as_they_were(store: Store) -> None:
    journal = DocumentJournal(store, "j.json", "w")
    assert journal.events == ()
    journal.append(FIRST)
    journal.append(SECOND)
    assert journal.events == (FIRST, SECOND)
    assert DocumentJournal(store, "j.json", "w").events == (FIRST, SECOND)


def test_each_event_is_durable_when_append_returns(store: Store) -> None:
    journal = DocumentJournal(store, "j.json", "w")
    for count in range(1, 4):
        journal.append(Compared(duplicate_of=None))
        assert len(DocumentJournal(store, "j.json", "w").events) == count


def test_comparisons_of_earlier_versions_still_read(store: Store) -> None:
    old = b'{"work": "w", "events": [{"kind": "compared", "duplicate_of": 0, "detail": "same", "calls": []}]}'
    store.write_bytes("j.json", old)
    assert DocumentJournal(store, "j.json", "w").events == (Compared(duplicate_of=0, detail="same"),)


def test_a_new_journal_is_not_written_before_something_happened(store: Store) -> None:
    DocumentJournal(store, "j.json", "w")
    assert not store.exists("j.json")


def test_a_journal_of_other_work_is_refused_by_name(store: Store) -> None:
    DocumentJournal(store, "j.json", "w").append(FIRST)
    with pytest.raises(ResumeError, match=r"j\.json belongs to other work \(w, not v\)"):
        DocumentJournal(store, "j.json", "v")


@pytest.mark.parametrize("data", [b"", b"{", b'{"work": "w", "events": [{"kind": "unheard of"}]}', b"[]"])
def test_a_damaged_journal_is_set_aside_and_begun_again(
    store: Store, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    store.write_bytes("j.json", data)
    journal = DocumentJournal(store, "j.json", "w")
    assert (journal.events, journal.damaged, store.get("j.json")) == ((), True, data)
    journal.append(FIRST)
    again = DocumentJournal(store, "j.json", "w")
    assert (again.events, again.damaged) == ((FIRST,), False)
    assert store.get("j.json.damaged") == data
    (line,) = caplog.messages
    assert line.startswith(f"{store.path('j.json')} is not a valid QuestionJournal (")
    assert line.endswith(" errors): renamed to j.json.damaged, and made again")


def test_steps_that_malformed_replies_failed_are_written_once_another_step_follows(store: Store) -> None:
    malformed = GenerationFailed(reason="malformed: no choices")
    journal = DocumentJournal(store, "j.json", "w")
    for event in (FIRST, malformed, malformed):
        journal.append(event)
    assert DocumentJournal(store, "j.json", "w").events == (FIRST,)
    journal.append(SECOND)
    assert DocumentJournal(store, "j.json", "w").events == (FIRST, malformed, malformed, SECOND)


def test_a_journal_of_an_earlier_version_may_end_with_such_steps(store: Store) -> None:
    events = [
        {"kind": "generation_failed", "reason": reason} for reason in ("max_turns", "malformed: no choices")
    ]
    unheard = {"kind": "judged", "verdict": None, "failure": "comparison: malformed: no choices"}
    store.write_bytes("j.json", json.dumps({"work": "w", "events": [*events, unheard]}).encode())
    journal = DocumentJournal(store, "j.json", "w")
    assert [event.kind for event in journal.events] == ["generation_failed"]
    journal.append(SECOND)
    assert [event.kind for event in DocumentJournal(store, "j.json", "w").events] == [
        "generation_failed",
        "exhausted",
    ]
