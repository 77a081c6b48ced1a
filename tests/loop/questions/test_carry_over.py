"""Sets that live with their corpus: what a changed document keeps, what is judged again, what is retired, and what it costs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from qagen_dagster.catalog.queries import compare
from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import PageImage, RenderOptions
from qagen_dagster.loop.catalog import catalog_file, rebuild_catalog
from qagen_dagster.loop.questions.carry_over import carried, is_same_content, moved
from qagen_dagster.loop.questions.document_work import DocumentWork
from qagen_dagster.loop.questions.plan import RunOptions, collect, plan, results_of
from qagen_dagster.loop.questions.publication.publish import publish
from qagen_dagster.loop.questions.result import result_of
from qagen_dagster.loop.questions.state import Accepted, Done, QAState
from qagen_dagster.loop.questions.stopping import QALimits
from qagen_dagster.loop.questions.validated_set import validate_set
from qagen_dagster.models.messages import Request
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.questions.published import (
    CorpusGenerationResult,
    PublishedQuestion,
    RetiredQuestion,
)
from qagen_dagster.records.questions.results import (
    Candidate,
    CandidateSet,
    DocumentEnd,
    Evidence,
    GenerationResult,
    QAPair,
    RejectionReason,
)
from tests.loop.conftest import COMBINATION, PlayedWorkspace, put_documents
from tests.support.documents import context_of, visual_context
from tests.support.models import Turn
from tests.support.reader import FILLER, PARTS, Reader, fact, station
from tests.support.shards import run_shard

START, END = "2024-01-01T00:00:00+00:00", "2024-01-02T00:00:00+00:00"
LETTERS = "abcdefghijkl"
FIRST, SECOND, THIRD = PARTS[:3]
REVISED = FILLER.replace("ahead", "to come")
QUESTION = {"generator": 2, "validator": 2}  # calls: read the document, then submit


class Killed(Exception):
    """The process died here."""


def corpus() -> dict[str, str]:
    return {f"{letter}.txt": station(letter) for letter in LETTERS}


def run(
    workspace: PlayedWorkspace,
    texts: dict[str, str],
    reader: Reader | None = None,
    target: int = 3,
    run_id: str = "run-1",
) -> Reader:
    """One run over these documents, up to the published set."""
    reader = reader or Reader()
    workspace.plays.append(reader)
    put_documents(workspace, dict(sorted(texts.items())))
    planned = plan(workspace, COMBINATION, RunOptions(target_count=target))
    outcome = run_shard(workspace, planned, [entry.id for entry in planned.documents], run_id)
    assert outcome.failed == {}
    collect(workspace, planned, run_id=run_id, started=START, ended=END)
    validate_set(workspace, COMBINATION, reader.models.encode)
    publish(workspace, COMBINATION, run_id)
    return reader


def rows(workspace: PlayedWorkspace) -> dict[str, PublishedQuestion]:
    """The published rows by id."""
    found = workspace.store.read(CorpusGenerationResult.key(COMBINATION), CorpusGenerationResult)
    return {one.id: one for one in found.questions}


def published(workspace: PlayedWorkspace) -> dict[str, tuple[str, str]]:
    """Question and document by id."""
    return {name: (one.question, one.document_id) for name, one in rows(workspace).items()}


def results(workspace: PlayedWorkspace) -> dict[str, GenerationResult]:
    made = workspace.store.read(CandidateSet.key(COMBINATION), CandidateSet)
    return {one.document_id: one for one in results_of(workspace, made)}


def retired(workspace: PlayedWorkspace) -> list[RetiredQuestion]:
    data = workspace.store.read_bytes(CorpusGenerationResult.file_key(COMBINATION, "retired.jsonl"))
    return [RetiredQuestion.model_validate_json(line) for line in data.splitlines()]


def pair_about(workspace: PlayedWorkspace, document: str, part: str) -> QAPair:
    return next(one for one in results(workspace)[document].accepted if part in one.question)


def calls(reader: Reader) -> dict[str, dict[str, int]]:
    """Calls by station and role."""
    found: dict[str, dict[str, int]] = {}
    for (role, letter), count in reader.calls().items():
        found.setdefault(letter, {})[role] = count
    return found


def test_only_what_changed_is_retired_judged_again_or_paid(workspace: PlayedWorkspace) -> None:
    texts = corpus()
    run(workspace, texts)
    before, before_rows = published(workspace), rows(workspace)
    assert len(before) == 36
    texts["a.txt"] = texts["a.txt"].replace(
        fact(SECOND, "a", 20), f"{fact(SECOND, 'a', 20)}\n\nIt was painted green in the spring."
    )  # a paragraph was added
    texts["b.txt"] = texts["b.txt"].replace("20 kg", "25 kg")  # a number was changed
    texts["c.txt"] = texts["c.txt"].replace(f"{fact(THIRD, 'c', 30)}\n\n", "")  # a section was removed
    texts["d2.txt"] = texts.pop("d.txt")  # a file was renamed
    reader = run(workspace, texts, run_id="run-2")
    after = published(workspace)

    gone = {before[one] for one in before.keys() - after.keys()}
    new = {after[one] for one in after.keys() - before.keys()}
    assert gone == {
        (f"How heavy is the {SECOND} of station b?", "b.txt"),
        (f"How heavy is the {THIRD} of station c?", "c.txt"),
    }
    assert new == {
        (f"How heavy is the {SECOND} of station b?", "b.txt"),
        (f"How heavy is the {PARTS[3]} of station c?", "c.txt"),
    }
    assert calls(reader) == {"a": {"validator": 2}, "b": QUESTION, "c": QUESTION}
    assert {one.id for one in retired(workspace)} == before.keys() - after.keys()
    same = [one for one in before_rows.values() if one.document_id[0] not in "abcd"]
    assert same == [one for one in rows(workspace).values() if one.document_id[0] not in "abcd"]
    renamed = [one for one, (_, document) in after.items() if document == "d2.txt"]
    assert [before[one][1] for one in renamed] == ["d.txt"] * 3
    assert run(workspace, texts, run_id="run-3").requests == []
    assert published(workspace) == after


def test_a_kept_question_has_its_lines_in_the_new_text(workspace: PlayedWorkspace) -> None:
    texts = {"a.txt": station("a")}
    run(workspace, texts)
    old = pair_about(workspace, "a.txt", THIRD)
    texts["a.txt"] = texts["a.txt"].replace("Station a", f"Station a\n\n{FILLER}\n\n{FILLER}\n\n{FILLER}")
    reader = run(workspace, texts, run_id="run-2")
    assert reader.requests == []
    kept = pair_about(workspace, "a.txt", THIRD)
    assert kept.id == old.id
    assert kept.generation_metadata == old.generation_metadata
    line = kept.evidence[0].start_line
    assert line == (old.evidence[0].start_line or 0) + 6
    assert texts["a.txt"].split("\n")[line - 1] == kept.evidence[0].quote
    assert results(workspace)["a.txt"].calls == ()
    assert results(workspace)["a.txt"].stats.validation_pass_rate == 1.0


def test_a_lost_quote_is_retired_with_both_texts(workspace: PlayedWorkspace) -> None:
    run(workspace, {"b.txt": station("b")})
    old = pair_about(workspace, "b.txt", SECOND)
    run(workspace, {"b.txt": station("b").replace("20 kg", "25 kg")}, run_id="run-2")
    (lost,) = retired(workspace)
    assert (lost.id, lost.reason) == (old.id, RejectionReason.EVIDENCE_NOT_FOUND)
    assert lost.detail == "quote 1 of 1 is no longer in the document"
    assert (lost.before, lost.now) == ((fact(SECOND, "b", 20),), (fact(SECOND, "b", 25),))


def test_the_validator_retires_what_its_new_surroundings_contradict(workspace: PlayedWorkspace) -> None:
    run(workspace, {"a.txt": station("a")})
    old = pair_about(workspace, "a.txt", FIRST)
    more = f"{fact(FIRST, 'a', 10)}\n{fact(FIRST, 'a', 99)}"
    reader = run(workspace, {"a.txt": station("a").replace(fact(FIRST, "a", 10), more)}, run_id="run-2")
    (lost,) = retired(workspace)
    assert (lost.id, lost.reason) == (old.id, RejectionReason.WRONG_ANSWER)
    assert "99 kg" in lost.detail
    assert "99 kg" not in lost.before[0]
    assert "99 kg" in lost.now[0]
    assert Counter(role for role, _ in reader.requests)["generator"] > 0
    assert len(results(workspace)["a.txt"].accepted) == 3
    attempts = [one.generation_metadata.attempt_number for one in results(workspace)["a.txt"].accepted]
    assert len(set(attempts)) == 3


def test_only_questions_near_a_change_are_judged_again(workspace: PlayedWorkspace) -> None:
    text = station("a")
    run(workspace, {"a.txt": text})
    reader = run(workspace, {"a.txt": text.replace(FILLER, REVISED, 1)}, run_id="run-2")
    assert calls(reader) == {"a": {"validator": 2}}  # only the first fact is near


def test_a_removed_document_retires_its_questions_and_a_copy_is_no_rename(workspace: PlayedWorkspace) -> None:
    texts = {"a.txt": station("a"), "b.txt": station("b")}
    run(workspace, texts)
    before = published(workspace)
    reader = run(workspace, {"a.txt": texts["a.txt"], "a2.txt": texts["a.txt"]}, run_id="run-2")
    assert calls(reader)["a2"] == {"generator": 6, "validator": 6}
    assert {one.detail for one in retired(workspace)} == {"the document was removed"}
    assert {one.id for one in retired(workspace)} == {
        one for one, (_, document) in before.items() if document == "b.txt"
    }
    run(workspace, {"a.txt": texts["a.txt"]}, run_id="run-3")
    assert len([one for one in retired(workspace) if one.document_id == "b.txt"]) == 3
    assert run(workspace, texts, run_id="run-4").requests == []
    assert published(workspace) == before
    assert [one for one in retired(workspace) if one.document_id == "b.txt"] == []


def test_rows_that_move_in_a_file_without_ids_keep_everything(workspace: PlayedWorkspace) -> None:
    texts = [station(letter) for letter in "abc"]

    def numbered(*rows: str) -> dict[str, str]:
        return {f"{number}.txt": text for number, text in enumerate(rows, 1)}

    run(workspace, numbered(*texts))
    before = published(workspace)
    reader = run(workspace, numbered(station("d"), texts[0], texts[2]), run_id="run-2")
    assert calls(reader) == {"1": {"generator": 6, "validator": 6}}
    after = published(workspace)
    assert {document for one, (_, document) in before.items() if one in after} == {"1.txt", "3.txt"}
    assert sorted(after[one][1] for one in before.keys() & after.keys()) == ["2.txt"] * 3 + ["3.txt"] * 3
    assert {(one.document_id, one.detail) for one in retired(workspace)} == {
        ("2.txt", "the document was removed")
    }


def test_questions_retired_by_several_versions_stay_listed(workspace: PlayedWorkspace) -> None:
    run(workspace, {"a.txt": station("a")})
    run(workspace, {"a.txt": station("a").replace("10 kg", "11 kg")}, run_id="run-2")
    run(
        workspace, {"a.txt": station("a").replace("10 kg", "11 kg").replace("20 kg", "21 kg")}, run_id="run-3"
    )
    assert [one.answer for one in retired(workspace)] in (["10 kg", "20 kg"], ["20 kg", "10 kg"])


def test_another_configuration_starts_anew(workspace: PlayedWorkspace) -> None:
    run(workspace, {"a.txt": station("a")})
    file = workspace.settings.corpora / "probes" / "corpus.yaml"
    file.write_text(file.read_text().replace("Short questions.", "Long questions."))
    reader = run(workspace, {"a.txt": station("a").replace("30 kg", "31 kg")}, run_id="run-2")
    assert calls(reader) == {"a": {"generator": 6, "validator": 6}}
    assert retired(workspace) == []


@pytest.mark.parametrize("target", [2, 4])
def test_a_renamed_document_follows_another_target(workspace: PlayedWorkspace, target: int) -> None:
    run(workspace, {"a.txt": station("a")})
    before = published(workspace)
    reader = run(workspace, {"z.txt": station("a")}, target=target, run_id="run-2")
    assert calls(reader) == ({"z": QUESTION} if target > 3 else {})
    after = published(workspace)
    assert len(after) == max(3, target)  # a lower target removes no question
    assert before.keys() <= after.keys()


def test_a_document_that_ended_early_is_not_asked_again_under_another_name(
    workspace: PlayedWorkspace,
) -> None:
    text = station("a", {FIRST: 10, SECOND: 20})
    run(workspace, {"a.txt": text})
    reader = run(workspace, {"z.txt": text}, run_id="run-2")
    assert reader.requests == []
    assert len(results(workspace)["z.txt"].accepted) == 2


def test_a_comparison_of_versions_says_kept_retired_and_new(workspace: PlayedWorkspace) -> None:
    run(workspace, {"b.txt": station("b")})
    run(workspace, {"b.txt": station("b").replace("20 kg", "25 kg")}, run_id="run-2")
    rebuild_catalog(workspace.store)
    with catalog_file(workspace.store) as file:
        (found,) = compare(file, f"{COMBINATION.key}@1", f"{COMBINATION.key}@2")
    assert found.in_both == 2
    (old,), (new,) = found.only_in_first, found.only_in_second
    assert (old.reason, old.answer, new.reason, new.answer) == ("evidence_not_found", "20 kg", None, "25 kg")
    assert old.text_now == [fact(SECOND, "b", 25)]


def test_a_row_whose_file_changed_elsewhere_keeps_everything() -> None:
    result = visual_result(Mode.TEXTUAL)
    work = visual_work(Mode.TEXTUAL, source_sha256="f" * 64)
    assert is_same_content(work, result)
    moved_result = moved(work, result)
    assert moved_result.document_version == work.context.view.document.version != result.document_version
    assert moved_result.accepted == result.accepted
    assert moved_result.calls == ()


def test_in_visual_mode_a_question_is_judged_again_if_its_visual_looks_different() -> None:
    result = visual_result(Mode.VISUAL)
    assert is_same_content(visual_work(Mode.VISUAL), result)
    changed = carried(visual_work(Mode.VISUAL, source_sha256="f" * 64), result)
    assert ([one.id for one in changed.kept], changed.recheck, changed.retired) == (["q-1"], (), ())
    for look in (lambda _page, _how: PageImage("image/png", b"another", 10, 10), no_picture):
        work = visual_work(Mode.VISUAL, source_sha256="f" * 64)
        view = replace(work.context.view, render=look)
        changed = carried(replace(work, context=context_of(view, Mode.VISUAL)), result)
        assert ([one.id for one in changed.recheck], changed.kept, changed.retired) == (["q-1"], (), ())
    unknown = carried(
        visual_work(Mode.VISUAL, source_sha256="f" * 64), result.model_copy(update={"looks": {}})
    )
    assert [one.id for one in unknown.recheck] == ["q-1"]
    renumbered = carried(visual_work(Mode.VISUAL, label="Table 2", source_sha256="f" * 64), result)
    assert [one.detail for one in renumbered.retired] == ["no visual is labelled 'Table 1' any more"]


def no_picture(_page: int, _how: RenderOptions) -> PageImage:
    raise DocumentError("corrupt", "the file is damaged")


def visual_work(mode: Mode, label: str = "Table 1", **update: str) -> DocumentWork:
    view = visual_context().view
    document = view.document.model_copy(update={"text_sha256": "e" * 64, **update})
    visuals = tuple(one.model_copy(update={"label": label}) for one in view.visuals)
    context = context_of(replace(view, document=document, visuals=visuals), mode)
    limits = QALimits(target_count=3, max_consecutive_failures=3, max_attempts=12)
    return DocumentWork(COMBINATION.model_copy(update={"mode": mode}), context, limits, fingerprint="f" * 16)


def visual_result(mode: Mode) -> GenerationResult:
    """The result of the manual with one question about its table."""
    work = visual_work(mode)
    evidence = Evidence(quote="| May | 0.3 % |", start_line=10, end_line=10, page=2, visual="Table 1")
    asked = Candidate(
        question="What was the drift in May?", answer="0.3 %", evidence=(evidence,), question_type="numeric",
        visuals=("Table 1",),
    )  # fmt: skip
    state = QAState(accepted=(Accepted(candidate=asked, attempt=1, id="q-1"),), attempts=1)
    return result_of(work, Reader().models, state, Done(end=DocumentEnd.MAX_ATTEMPTS), ())


def test_a_document_without_text_retires_its_questions(workspace: PlayedWorkspace) -> None:
    run(workspace, {"a.txt": station("a"), "b.txt": station("b")})
    before = published(workspace)
    reader = run(workspace, {"a.txt": "", "b.txt": station("b")}, run_id="run-2")
    assert reader.requests == []
    assert results(workspace)["a.txt"].end is DocumentEnd.NOT_USABLE
    lost = {one for one, (_, document) in before.items() if document == "a.txt"}
    assert {one.id for one in retired(workspace)} == lost
    assert run(workspace, {"a.txt": station("a"), "b.txt": station("b")}, run_id="run-3").requests == []
    assert published(workspace) == before


def test_the_card_has_the_facts_of_the_set(workspace: PlayedWorkspace) -> None:
    run(workspace, {"a.txt": station("a"), "b.txt": ""})
    key = CorpusGenerationResult.file_key(COMBINATION, "README.md")
    told = workspace.store.read_bytes(key).decode().splitlines()
    for row in (
        "| model: generator | scripted:writer |",
        "| cost | $0 |",
        "| model calls | 15 |",
        "| documents that cannot be used, for example because they have no text | 1 |",
        "| factual | any number | 3 |",
        "| all | 3 | 3 |",
        "| not graded | 3 |",
    ):
        assert row in told, row


@pytest.mark.parametrize("at", range(6))
def test_a_killed_run_repays_nothing(workspace: PlayedWorkspace, at: int) -> None:
    texts = {"a.txt": station("a")}
    run(workspace, texts)
    texts["a.txt"] = texts["a.txt"].replace("30 kg", "31 kg").replace(FILLER, REVISED, 1)
    paid: dict[str, Turn] = {}
    count = iter(range(100))

    def die(_role: str, _request: Request) -> None:
        if next(count) >= at:
            raise Killed

    with pytest.raises(Killed):
        run(workspace, texts, Reader(paid, die), run_id="run-2")
    again = Reader(paid)
    run(workspace, texts, again, run_id="run-3")
    assert len(paid) == 6  # one question judged again, one new
    assert len(again.log) == 6 - at
    assert len(published(workspace)) == 3
