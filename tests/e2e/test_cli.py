"""The `qagen` command as a person runs it: processes, exit codes, one line per failure."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.e2e.conftest import BROKEN
from tests.support import waterworks
from tests.support.project import Ended, Project, ended

TEXTUAL, VISUAL = "water/facts/textual", "water/facts/visual"


def test_a_run_shows_a_table_and_where_the_sets_are(finished: Project, first_run: Ended) -> None:
    assert first_run.code == 0
    row = next(line for line in first_run.out.splitlines() if TEXTUAL in line)
    documents, accepted, rejected, calls, cost = [cell.strip() for cell in row.split("│")[2:7]]
    assert (documents, accepted, rejected, cost) == ("4", "6", "0", "$0.0000")
    assert int(calls) > 6
    assert "target_reached 3, not_usable 1" in first_run.out
    assert f"{finished.assets}/published/" in first_run.out
    assert str(finished.home) in first_run.out
    assert len(finished.published(TEXTUAL)["questions"]) == 6
    assert finished.published(VISUAL)["questions"] == []


def test_a_run_tells_its_steps_and_a_broken_corpus_and_nothing_else(
    finished: Project, first_run: Ended
) -> None:
    *steps, warning, unusable = first_run.errors
    assert steps == ["parse water", TEXTUAL, VISUAL, "catalog"]
    place = f"{finished.corpora}/broken/corpus.yaml:5"
    assert warning == f"qagen: warning: {place}: topic: unknown key"
    assert unusable.startswith("qagen: ")
    assert "not pdf" in unusable or "cannot be used" in unusable


def test_a_second_run_changes_nothing_and_calls_no_model(finished: Project) -> None:
    kept = ("published", "candidates", "validated", "journals", "documents", "history", "ledger")
    before = {prefix: finished.stored(prefix) for prefix in kept}
    again = finished.qagen("run", "--json")
    assert again.code == 0
    assert again.value["ok"] is True
    assert again.value["failures"] == []
    assert [one["accepted"] for one in again.value["combinations"]] == [6, 0]
    assert {prefix: finished.stored(prefix) for prefix in kept if prefix} == before
    files = ("corpus.json", "questions.jsonl", "rejected.jsonl", "retired.jsonl", "README.md")
    current = {name for name in before["published"] if "/versions/" not in name}
    assert current == {
        f"published/{key}/{file}" for key in (TEXTUAL, VISUAL) for file in (*files, "latest.json")
    }
    assert len(before["published"].keys() - current) == 2 * len(files)  # one version of each
    assert before["ledger"] == {}


def test_a_forced_run_does_the_work_again_and_keeps_the_set(finished: Project, tmp_path: Path) -> None:
    project = Project(Path(shutil.copytree(finished.root, tmp_path / "project")))
    published = project.stored("published")
    runs = set(project.stored("runs"))
    forced = project.qagen("run", "--json", "--mode", "textual", "--force")
    assert forced.code == 0
    assert [one["combination"] for one in forced.value["combinations"]] == [TEXTUAL]
    added = {name.rsplit("/", 1)[1] for name in set(project.stored("runs")) - runs}
    assert added == {"run.json", "textual.json"}
    assert project.stored("published") == published


def test_status_names_corpora_and_combinations(finished: Project) -> None:
    table = finished.qagen("status")
    assert (table.code, table.err) == (0, "")
    assert {TEXTUAL, VISUAL} <= set(table.out.split())
    assert "parsed 3" in table.out
    value = finished.qagen("status", "--json").value
    assert [(one["corpus"], one["documents"], one["outcomes"]) for one in value["corpora"]] == [
        ("water", 4, {"not_what_it_says": 1, "parsed": 3})
    ]
    assert [(one["combination"], one["accepted"]) for one in value["combinations"]] == [
        (TEXTUAL, 6),
        (VISUAL, 0),
    ]


def test_stats_count_and_can_be_narrowed(finished: Project) -> None:
    every = finished.qagen("stats", "--json").value
    assert [one["combination"] for one in every] == [TEXTUAL, VISUAL]
    (textual,) = finished.qagen("stats", "--mode", "textual", "--json").value
    assert textual == every[0]
    assert (textual["accepted"], textual["pass_rate"], textual["usd"]) == (6, 1.0, 0.0)
    typo = finished.qagen("stats", "--corpus", "watr")
    assert typo.code == 2
    assert "no combination of the catalog matches (there are: water/" in typo.errors[0]
    firsts = [
        line.split()[0]
        for line in finished.qagen("stats", "--mode", "visual").out.splitlines()
        if line.strip()
    ]
    assert "visual" in firsts
    assert "textual" not in firsts


def test_show_gives_the_lineage_of_a_question_by_the_beginning_of_its_id(finished: Project) -> None:
    question = finished.published(TEXTUAL)["questions"][0]
    found = finished.qagen("show", question["id"][:10], "--json").value
    assert found["question_id"] == question["id"]
    assert (found["question"], found["answer"]) == (question["question"], question["answer"])
    assert found["source_document"] == question["source_document"]
    assert found["evidence"] == question["evidence"]
    assert (found["profile"], found["combination"]) == ("dry_run", TEXTUAL)
    assert (found["generator_model"], found["validator_model"]) == ("scripted:cloze", "scripted:cloze-check")
    assert found["document_unchanged"] is True
    assert found["calls"] == len(found["model_calls"]) > 0
    assert found["run_id"] == found["set_run_id"]
    shown = finished.qagen("show", question["id"])
    assert (shown.code, shown.err) == (0, "")
    for text in (question["answer"], question["id"], question["source_document"], "scripted:cloze-check"):
        assert text in shown.out


def test_show_says_what_it_cannot_find(finished: Project) -> None:
    unknown, many = _together(finished, ["show", "q-nothing"], ["show", "q-"])
    assert unknown.code == many.code == 1
    assert "there is no question 'q-nothing'" in _one_line(unknown)
    assert "more than one question begins with 'q-'" in _one_line(many)


def test_corpora_check_names_file_line_and_key_of_each_fault(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project")
    good = waterworks.corpus()
    faults = {
        "bad_mode": (good.replace("textual", "spoken"), "4: scenarios.facts.modes.0: "),
        "bad_name": (good.replace("facts:", "fa/cts:"), "4: scenarios.fa/cts: "),
        "bad_type": (
            good.replace("target_count: 2", "target_count: many"),
            "4: scenarios.facts.target_count: ",
        ),
        "missing_key": (
            good.replace(", description: Single facts.", ""),
            "4: scenarios.facts.description: required key is missing",
        ),
        "missing_scenarios": (good.split("scenarios")[0], "1: scenarios: required key is missing"),
        "not_yaml": ("name: [one, two\nmore: [", "2: is not YAML"),
        "twice": (good + "name: Again\n", "5: name: duplicate key"),
        "unknown": (BROKEN, "5: topic: unknown key"),
    }
    for name, (text, _) in faults.items():
        project.corpus(name, text, {})
    project.corpus("water", good, {"ridge.txt": waterworks.notes("ridge")})
    checked = project.qagen("corpora", "check")
    assert checked.code == 2
    assert checked.out.splitlines() == ["water: valid; files: 1; scenarios: facts"]
    assert len(checked.errors) == len(faults)
    for line, (name, (_, expected)) in zip(checked.errors, faults.items(), strict=True):
        assert line.startswith(f"qagen: error: {project.corpora}/{name}/corpus.yaml:{expected}")
    named = project.qagen("corpora", "check", "water", "--json")
    assert named.value["corpora"]["water"]["combinations"] == [TEXTUAL]


def test_doctor_tells_what_would_fail(finished: Project) -> None:
    well, ill = _together(finished, ["doctor", "--json"], ["--profile", "absent", "doctor"])
    found = {one["check"]: one["ok"] for one in well.value}
    assert (
        found["profile dry_run"] is found["store"] is found["embeddings"] is found["dagster instance"] is True
    )
    assert found["corpus"] is False  # the broken one
    assert well.code == ill.code == 1
    assert "FAIL profile absent: there is no profile 'absent'" in ill.out
    assert ill.err == ""


def test_wrong_names_and_profiles_are_one_line_and_exit_2(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project")
    project.corpus("water", waterworks.corpus(), {"ridge.txt": waterworks.notes("ridge")})
    project.corpus("broken", BROKEN, {})
    alike = "{provider: scripted, model: cloze}"
    project.profile("alike", f"roles:\n  generator: {alike}\n  validator: {alike}\n  deduplicator: {alike}\n")
    corpus, scenario, profile, broken, same, option = _together(
        project,
        ["run", "--corpus", "absent"],
        ["run", "--scenario", "absent"],
        ["run", "--profile", "absent"],
        ["run", "--corpus", "broken"],
        ["run", "--profile", "alike"],
        ["run", "--mode", "spoken"],
    )
    assert "there is no corpus 'absent'" in _one_line(corpus)
    assert "no combination matches */absent/*" in _one_line(scenario)
    assert "there is no profile 'absent' (there are: alike, anthropic, dry_run, embedded, " in _one_line(
        profile
    )
    assert "broken/corpus.yaml:5: topic: unknown key" in _one_line(broken)
    assert "alike.yaml:1: generator and validator are the same model (cloze)" in _one_line(same)
    assert "'--mode': 'spoken' is not one of 'textual', 'visual'" in _one_line(option)
    assert {one.code for one in (corpus, scenario, profile, broken, same, option)} == {2}
    assert not project.assets.exists()


def test_a_traceback_is_shown_to_those_who_ask(finished: Project) -> None:
    quiet, loud = _together(
        finished, ["--assets", "nosuch://place", "status"], ["--debug", "run", "--corpus", "absent"]
    )
    assert quiet.code == 1
    assert "nosuch" in _one_line(quiet)
    assert loud.code == 1
    assert "Traceback" in loud.err
    assert "ConfigError: there is no corpus 'absent'" in loud.errors[-1]


def _one_line(command: Ended) -> str:
    (line,) = command.errors
    assert command.out == ""
    assert line.startswith("qagen: error: ")
    return line


def _together(project: Project, *commands: list[str]) -> list[Ended]:
    """Run commands side by side."""
    return [ended(process) for process in [project.start(*words) for words in commands]]
