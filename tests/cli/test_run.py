from __future__ import annotations

from qagen_dagster.catalog import stats
from tests.cli.conftest import Command
from tests.support import waterworks
from tests.support.wire_reader import read
from tests.support.wire_server import Fault, Seen, Step, WireServer

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
    rail = stats.combinations(project.assets / "catalog.duckdb")[0]
    assert (rail.combination, rail.accepted) == ("rail/facts/textual", 1)


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
    assert qagen("run", "--json").value["combinations"][0]["documents"] == 0
    assert qagen.project.published(KEY)["questions"] == []
