from __future__ import annotations

import pytest

from qagen_dagster.catalog import queries
from tests.cli.conftest import Command
from tests.support import waterworks
from tests.support.wire_reader import read
from tests.support.wire_server import Call, Fault, Reply, Seen, Step, WireServer

KEY = "water/facts/textual"
PROFILE = """\
roles:
  generator: {{provider: openai_compatible, model: asker, base_url: "{url}"}}
  validator: {{provider: openai_compatible, model: judge, base_url: "{url}"}}
  deduplicator: {{provider: openai_compatible, model: twin, base_url: "{url}"}}
"""


def test_a_failed_document_is_named_and_the_rest_goes_on(qagen: Command) -> None:
    project = qagen.project
    project.corpus(
        "water", waterworks.corpus(1), {f"{name}.txt": waterworks.notes(name) for name in ("ridge", "quay")}
    )
    project.corpus("rail", waterworks.corpus(1), {"lock.txt": waterworks.notes("lock")})

    def refuse(seen: Seen, number: int) -> Step:
        if "quay station" in read(seen).whole:
            return Fault(401, {"error": {"message": "no credit on this account"}})
        return waterworks.answer(seen, number)

    with WireServer(refuse) as server:
        project.profile("remote", PROFILE.format(url=server.url("openai_compatible")))
        failed = qagen("run", "--profile", "remote", "--json")
    assert failed.code == 1
    assert failed.value["ok"] is False
    first, second = failed.errors
    assert first.startswith(f"qagen: error: {KEY}: 1 of 2 documents failed; the others are kept")
    assert second.startswith(f"qagen: error: {KEY}: quay.txt: ")
    assert "no credit on this account" in second
    assert [f"qagen: error: {line}" for line in failed.value["failures"]] == failed.errors
    assert [one["accepted"] for one in failed.value["combinations"]] == [1, 0]
    rail = queries.combinations(project.assets / "catalog.duckdb")[0]
    assert (rail.combination, rail.accepted) == ("rail/facts/textual", 1)


def test_a_server_with_nothing_usable_fails_the_run_and_is_asked_again(qagen: Command) -> None:
    project = qagen.project
    project.corpus("water", waterworks.corpus(1), {"ridge.txt": waterworks.notes("ridge")})
    with WireServer(then=Fault(200, {"choices": []})) as server:
        once = PROFILE.replace('{url}"', '{url}", max_attempts: 1')
        project.profile("remote", once.format(url=server.url("openai_compatible")))
        failed = qagen("run", "--profile", "remote", "--json")
        assert failed.code == 1
        assert f"qagen: error: {KEY}: ridge.txt: model_error: malformed: " in failed.errors[1]
        (report,) = failed.value["combinations"]
        assert (report["usd"], report["at_least"]) == (None, True), "the replies may have a price"
        (known,) = qagen("stats", "--json").value
        assert (known["usd"], known["at_least"]) == (None, True)
        assert "unknown" in qagen("stats").out
        assert not (project.assets / "published").exists()
        server.follow(waterworks.answer)
        assert qagen("run", "--profile", "remote").code == 0
    assert len(project.published(KEY)["questions"]) == 1


def test_replies_that_do_not_fit_leave_a_line_that_says_what_to_raise(qagen: Command) -> None:
    qagen.project.corpus("water", waterworks.corpus(3), {"ridge.txt": waterworks.notes("ridge")})

    def cut_later(seen: Seen, number: int) -> Step:
        asked = "At what pressure" in str(seen.body) and "submit_qa" in str(seen.body)
        return Reply(text="At what", stop="length") if asked else waterworks.answer(seen, number)

    with WireServer(cut_later) as server:
        qagen.project.profile("remote", PROFILE.format(url=server.url("openai_compatible")))
        ended = qagen("run", "--profile", "remote")
    assert len(qagen.project.published(KEY)["questions"]) == 1
    said = "replies were cut off at 20 output tokens: raise `max_output_tokens` of the generator"
    assert f"qagen: warning: {KEY}: {said}, or the limit of its server" in ended.errors
    assert sum("At what pressure" in str(one) and "submit_qa" in str(one) for one in server.bodies) == 6


@pytest.mark.parametrize("size", [pytest.param("8", marks=pytest.mark.long), "1"])
def test_a_model_with_broken_tool_calls_ends_the_run_with_one_line(qagen: Command, size: str) -> None:
    names = ("ridge", "quay", "mill", "lock", "dale", "ford", "glen", "hill")
    text = {f"{name}.txt": waterworks.notes(name) for name in names}
    qagen.project.corpus("water", waterworks.corpus(1), text)
    with WireServer(then=Reply(calls=(Call("open_valve", raw='{"valve": "int'),))) as server:
        qagen.project.profile("remote", PROFILE.format(url=server.url("openai_compatible")))
        failed = qagen("run", "--profile", "remote", "--shard-size", size, "--json")
    assert failed.code == 1
    assert len(server.requests) < 30
    first, *more = failed.errors
    (line,) = (one for one in more if "not tried" not in one)
    assert first.startswith(f"qagen: error: {KEY}: 8 of 8 documents failed")
    assert "openai_compatible:asker: stopped after 20" in line
    assert line.endswith("useless replies in a row, the last: unknown tool 'open_valve'")


def test_narrowed_runs_do_that_part_alone(qagen: Command) -> None:
    project = qagen.project
    text = {"ridge.txt": waterworks.notes("ridge")}
    project.corpus("water", waterworks.corpus(3, "textual, visual"), text)
    project.corpus("rail", waterworks.corpus(3), text)
    ended = qagen("run", "--corpus", "water", "--mode", "textual", "--target-count", "2", "--json")
    assert ended.code == 0
    (one,) = ended.value["combinations"]
    assert (one["combination"], one["accepted"], one["outcomes"]) == (KEY, 2, {"target_reached": 1})
    assert sorted(path.name for path in (project.assets / "published").iterdir()) == ["water"]
    more = qagen("run", "--corpus", "water", "--mode", "textual", "--json")
    assert more.value["combinations"][0]["accepted"] == 3
    same = qagen("run", "--corpus", "water", "--mode", "textual")
    assert same.errors == ["everything is up to date"]
    assert KEY in same.out


def test_a_corpus_without_documents_is_named_and_alone_it_is_an_error(qagen: Command) -> None:
    project = qagen.project
    empty = project.corpus("rail", waterworks.corpus(1), {}) / "documents"
    empty.mkdir(exist_ok=True)
    ended = qagen("run", "--corpus", "rail")
    assert (ended.code, ended.errors) == (2, [f"qagen: error: {empty}: there are no documents"])
    project.corpus("water", waterworks.corpus(1), {"ridge.txt": waterworks.notes("ridge")})
    ended = qagen("run", "--mode", "textual")
    assert ended.code == 0
    assert f"qagen: warning: {empty}: there are no documents" in ended.errors


def test_an_edited_file_is_noticed(qagen: Command) -> None:
    folder = qagen.project.corpus("water", waterworks.corpus(1), {"ridge.txt": waterworks.notes("ridge")})
    assert qagen("run", "--json").code == 0
    before = qagen.project.published(KEY)["questions"]
    (folder / "documents/ridge.txt").write_text(waterworks.notes("ridge", ["purge"]))
    assert qagen("run", "--json").code == 0
    after = qagen.project.published(KEY)["questions"]
    assert [len(before), len(after)] == [1, 1]
    assert "purge" in after[0]["question"]
    (folder / "documents/ridge.txt").unlink()
    kept = qagen("run", "--json")
    assert (kept.code, kept.value["combinations"][0]["documents"]) == (1, 0)
    assert kept.errors == [
        f"qagen: error: {KEY}: not published: the new set is empty, so the published set of 1 questions is kept "
        "(--replace replaces it)"
    ]
    assert qagen.project.published(KEY)["questions"] == after
    assert qagen("run", "--replace").code == 0
    assert qagen.project.published(KEY)["questions"] == []


def test_no_model_that_sees_nothing_is_asked_for_visual_questions(qagen: Command) -> None:
    project = qagen.project
    files = {"ridge.txt": waterworks.notes("ridge"), "quay.pdf": waterworks.sheet("quay")}
    project.corpus("water", waterworks.corpus(1, "textual, visual"), files)
    with WireServer(waterworks.answer) as server:
        seeing = PROFILE.format(url=server.url("openai_compatible"))
        blind = seeing.replace("model: asker,", "model: asker, images: false,")
        project.profile("blind", blind)
        refused = qagen("run", "--profile", "blind", "--mode", "visual")
        assert (refused.code, server.requests) == (2, [])
        assert "visual mode needs a generator that sees pictures" in refused.errors[0]
        made = qagen("run", "--profile", "blind", "--json")
        assert (made.code, [one["combination"] for one in made.value["combinations"]]) == (0, [KEY])
        assert "water/facts/visual: not run: visual mode needs" in made.err
        asked = len(server.requests)
        bound = f"{blind}visual:\n  generator: {{provider: openai_compatible, model: asker, base_url: '{server.url('openai_compatible')}'}}\n"
        project.profile("bound", bound)
        assert qagen("run", "--profile", "bound", "--mode", "visual").code == 0
        assert len(server.requests) > asked
