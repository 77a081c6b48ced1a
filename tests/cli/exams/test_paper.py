"""`qagen exam paper` and `qagen exam responses` on a bank of 48 items in families of two."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from qagen_dagster.catalog.database import snapshot
from qagen_dagster.loop.catalog import catalog_file
from qagen_dagster.loop.exams.bank import gather
from qagen_dagster.loop.exams.responses import latest_statistics, sittings
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.web.exams import ExamBank
from tests.cli.conftest import Command
from tests.support.exams.papers import SIMULATED, responses, write_bank
from tests.support.once import once
from tests.support.project import Project


@pytest.fixture(scope="session")
def large_bank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a project with the bank. Tests copy it."""
    return once(tmp_path_factory, "large-bank", _bank)


def _bank(folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", "")  # no TeX engine, wherever this runs
        write_bank(Workspace(Project.make(folder).settings(profile="embedded")))


@pytest.fixture
def bank(qagen: Command, large_bank: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command in a copy of `large_bank`."""
    monkeypatch.setenv("QAGEN_PROFILE", "embedded")
    monkeypatch.setenv("PATH", "")
    shutil.rmtree(qagen.project.root)
    shutil.copytree(large_bank, qagen.project.root)
    return qagen


def draw(bank: Command, output: Path, *words: str) -> dict[str, Any]:
    found = bank("exam", "paper", "--output", str(output), "--json", *words)
    assert found.code == 0, found.err
    return json.loads(found.out)


def ideas(bank: Command) -> dict[str, tuple[str, str, str]]:
    """The family, the difficulty and the schema of each item."""
    items = gather(Workspace(bank.project.settings()), "mini").bank.items
    return {one.id: (one.idea_plan.idea_summary, one.difficulty.value, one.schema_id) for one in items}


@pytest.mark.parametrize(
    ("words", "items", "levels", "schemas"),
    [
        (("--items", "10"), 10, {"easy": 5, "hard": 5}, {"M1": 5, "P2": 5}),
        (("--minutes", "20"), 8, {"easy": 4, "hard": 4}, {"M1": 4, "P2": 4}),
        (
            ("--items", "9", "--w-easy", "2", "--w-hard", "1", "--schema", "M,P"),
            9,
            {"easy": 6, "hard": 3},
            None,
        ),
    ],
)
def test_a_form_follows_the_blueprint(
    bank: Command, tmp_path: Path, words: tuple[str, ...], items: int, levels: Any, schemas: Any
) -> None:
    paper = draw(bank, tmp_path / "out", *words)["paper"]
    (form,) = paper["forms"]
    known = ideas(bank)
    drawn = [known[one["item"]] for one in form["items"]]
    assert len(drawn) == items
    assert len({family for family, _, _ in drawn}) == items
    assert levels is None or Counter(level for _, level, _ in drawn) == levels
    assert schemas is None or Counter(schema for _, _, schema in drawn) == schemas
    keys = Counter(one["key"] for one in form["items"])
    assert max(keys.values()) - min(keys[letter] for letter in "ABCDE") <= 1


def test_a_bank_without_enough_families_is_an_error_that_says_what_there_is(
    bank: Command, tmp_path: Path
) -> None:
    easy = {family for family, level, schema in ideas(bank).values() if (level, schema) == ("easy", "P2")}
    words = ("--schema", "P", "--w-easy", "1", "--w-hard", "0", "--output", str(tmp_path / "out"))
    found = bank("exam", "paper", "--items", str(len(easy) + 1), *words)
    assert found.code == 2
    assert f"of {len(easy) + 1} items of easy it has {len(easy)}" in found.err
    found = bank("exam", "paper", "--items", "100", *words)
    assert "it needs 100 items of different families" in found.err
    assert not (tmp_path / "out").exists()
    assert bank("exam", "paper", "--items", str(len(easy)), *words).code == 0


def test_the_same_seed_gives_the_same_bytes_and_another_seed_another_paper(
    bank: Command, tmp_path: Path
) -> None:
    words = ("--items", "10", "--minutes", "30", "--forms", "2")
    first = draw(bank, tmp_path / "a", *words)
    again = draw(bank, tmp_path / "b", *words)
    other = draw(bank, tmp_path / "c", *words, "--seed", "1")
    read = {name: {file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in "abc"}
    assert len(read["a"]) == 12
    assert (read["a"], first["paper"]) == (read["b"], again["paper"])
    assert first["paper"]["id"] != other["paper"]["id"]


@pytest.mark.parametrize("words", [(), ("--shuffle",)])
def test_forms_have_no_common_item_or_the_same_items_in_another_order(
    bank: Command, tmp_path: Path, words: tuple[str, ...]
) -> None:
    forms = draw(bank, tmp_path / "out", "--items", "10", "--forms", "3", *words)["paper"]["forms"]
    sets = [{one["item"] for one in form["items"]} for form in forms]
    assert len(set[str]().union(*sets)) == (10 if words else 30)
    if words:
        assert len({tuple(map(str, form["items"])) for form in forms}) == 3


def test_the_paper_of_the_candidates_tells_nothing_and_the_mark_scheme_has_the_keys(
    bank: Command, tmp_path: Path
) -> None:
    paper = draw(bank, tmp_path, "--items", "10", "--minutes", "30", "--title", "Test & trial")["paper"]
    for name in ("paper-1.tex", "paper-1.html", "answer-sheet-1.tex", "answer-sheet-1.html"):
        text = (tmp_path / name).read_text()
        assert not re.search(
            r"M1-|P2-|Hidden Proportionality|Scaling Laws|CorrectChoice \{|It is a sum", text
        ), name
        assert "Test &" in text.replace("\\&", "&"), name
        assert "30 minutes" in text, name
    assert (tmp_path / "paper-1.tex").read_text().count("\\begin{minipage}") == 10
    scheme = (tmp_path / "mark-scheme-1.html").read_text()
    rows = re.findall(r"<tr><td>(\d+)</td><td>(.)</td><td>([\w.-]+):", scheme)
    assert rows == [
        (str(at), one["key"], one["item"]) for at, one in enumerate(paper["forms"][0]["items"], 1)
    ]
    values = {one.id: one.question for one in gather(Workspace(bank.project.settings()), "mini").bank.items}
    shown = re.findall(
        r"% ([\w.-]+)\n.*?CorrectChoice \{\}\$(\d+)\$", (tmp_path / "mark-scheme-1.tex").read_text(), re.S
    )
    assert len(shown) == 10
    assert all(values[key].options[values[key].correct_option] == f"${value}$" for key, value in shown)


def test_items_of_earlier_papers_are_left_out(bank: Command, tmp_path: Path) -> None:
    first = draw(bank, tmp_path, "--items", "20")["paper"]
    later = draw(bank, tmp_path, "--items", "20", "--unused-since", first["drawn"], "--seed", "1")["paper"]
    used = [{one["item"] for one in paper["forms"][0]["items"]} for paper in (first, later)]
    assert not used[0] & used[1]
    found = bank(
        "exam",
        "paper",
        "--output",
        str(tmp_path),
        "--items",
        "20",
        "--seed",
        "2",
        "--unused-since",
        first["drawn"],
    )
    assert (found.code, "40 used items are left out" in found.err) == (2, True), found.err
    assert draw(bank, tmp_path, "--items", "20", "--seed", "2", "--unused-since", "2999-01-01")["ok"]


def test_a_blueprint_file_is_read_and_its_faults_are_named(bank: Command, tmp_path: Path) -> None:
    blueprint = tmp_path / "blueprint.yaml"
    blueprint.write_text(
        "items: 12\nminutes: 20\nschemas: {M1: 2, P2: 1}\ndifficulties: {easy: 3, hard: 1}\n"
    )
    found = bank("exam", "paper", "--blueprint", str(blueprint), "--output", str(tmp_path / "out"), "--json")
    drawn = [ideas(bank)[one["item"]] for one in json.loads(found.out)["paper"]["forms"][0]["items"]]
    assert Counter(level for _, level, _ in drawn) == {"easy": 9, "hard": 3}
    assert Counter(schema for _, _, schema in drawn) == {"M1": 8, "P2": 4}
    assert "the items take about 21 minutes, more than 20" in found.err
    for line in ("itmes: 3", "difficulties: {easyy: 1}", "schemas: {M1: -1}"):
        blueprint.write_text(f"items: 3\n{line}\n")
        found = bank("exam", "paper", "--blueprint", str(blueprint), "--output", str(tmp_path / "out"))
        assert (found.code, "blueprint.yaml:2" in found.err) == (2, True), found.err
    found = bank("exam", "paper", "--output", str(tmp_path / "out"))
    assert (found.code, "--items" in found.err) == (2, True)


def answer_file(
    file: Path, paper: dict[str, Any], seed: int, wrong: dict[int, str], dead: dict[int, str]
) -> None:
    """The answers to both forms of a paper, by position and printed letter."""
    lines = ["candidate,form,position,letter"]
    for form in paper["forms"]:
        keys = [one["key"] for one in form["items"]]
        for number, row in enumerate(responses(keys, seed + form["number"], wrong, dead)):
            lines += [
                f"c{form['number']}-{number},{form['number']},{at},{letter}"
                for at, letter in enumerate(row, 1)
            ]
    file.write_text("\n".join(lines))


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in (2, 3))])
def test_answers_of_a_known_model_show_both_wrong_keys_and_no_right_one(
    bank: Command, tmp_path: Path, seed: int
) -> None:
    paper = draw(bank, tmp_path / "out", "--items", "20")["paper"]
    items = paper["forms"][0]["items"]
    other = {key: "ABCDE"[(at + 1) % 5] for at, key in enumerate("ABCDE")}
    wrong = {at: other[items[at]["key"]] for at in (4, 11)}
    dead = {7: other[items[7]["key"]]}
    answer_file(tmp_path / "answers.csv", paper, seed, wrong, dead)
    found = bank("exam", "responses", str(tmp_path / "answers.csv"), "--json")
    assert found.code == 0, found.err
    sitting = json.loads(found.out)
    assert sitting["candidates"] == SIMULATED
    by_item = {one["item"]: one for one in sitting["items"]}
    printed = {one["item"]: dict(zip(one["order"], "ABCDEFGH", strict=False)) for one in items}
    suspected = {key: printed[key][one["suspected"]] for key, one in by_item.items() if one["suspected"]}
    assert suspected == {items[at]["item"]: letter for at, letter in wrong.items()}
    assert [printed[items[7]["item"]][one] for one in by_item[items[7]["item"]]["dead"]] == [dead[7]]
    assert all(
        one["facility"]["low"] < one["facility"]["value"] < one["facility"]["high"]
        for one in by_item.values()
    )
    assert 0.5 < sitting["forms"][0]["reliability"]["low"] < sitting["forms"][0]["reliability"]["high"] < 0.95
    shown = bank("exam", "responses", str(tmp_path / "answers.csv"))
    assert shown.out.count("wrong key suspected: ") == 2
    assert "KR-20 0." in shown.out
    space = Workspace(bank.project.settings())
    assert len(sittings(space, "mini")) == 1
    with catalog_file(space.store) as file, snapshot(file) as catalog:
        rows = catalog.execute(
            "SELECT item_id, suspected_key, kr20 > 0.5 FROM exam_statistics WHERE suspected_key IS NOT NULL"
        ).fetchall()
    assert {row[0] for row in rows} == set(suspected)
    page = ExamBank(space, gather(space, "mini"), latest_statistics(sittings(space, "mini")))
    shown = [entry.text for section in page.detail(rows[0][0]).sections for entry in section.entries]
    assert f"wrong key suspected: {rows[0][1]}" in shown


def test_shuffled_forms_are_read_together(bank: Command, tmp_path: Path) -> None:
    paper = draw(bank, tmp_path / "out", "--items", "12", "--forms", "2", "--shuffle")["paper"]
    answer_file(tmp_path / "answers.csv", paper, 5, {}, {})
    sitting = json.loads(bank("exam", "responses", str(tmp_path / "answers.csv"), "--json").out)
    assert [(one["forms"], one["candidates"], one["items"]) for one in sitting["forms"]] == [
        (["1", "2"], 800, 12)
    ]
    assert [one["suspected"] for one in sitting["items"]] == [None] * 12


NO_ANSWERS = (
    ("candidate,letter\nx,A\n", "answers.csv:1: has no column item or position"),
    ("", "has no column candidate"),
    ("candidate,position,letter\n", "has no answers"),
    ("candidate,position,letter\nx,99,A\n", "answers.csv:2: the form has no item position 99"),
    ("candidate;position;letter\nx;1;A\n\nx;1;B\n", "answers.csv:4: candidate x answers item"),
    ("candidate,item,letter\nx,M9-easy-1,A\n", "answers.csv:2: the bank has no item M9-easy-1"),
    ("candidate,position,letter,form\nx,1,A,7\n", "the paper has no form '7' (forms: 1)"),
)


def test_a_file_that_is_no_table_of_answers_is_one_line(bank: Command, tmp_path: Path) -> None:
    draw(bank, tmp_path / "out", "--items", "5")
    for text, said in NO_ANSWERS:
        (tmp_path / "answers.csv").write_text(text)
        found = bank("exam", "responses", str(tmp_path / "answers.csv"))
        assert (found.code, said in found.err) == (2, True), found.err
        assert found.err.count("\n") == 1


def test_answers_to_items_of_the_bank_need_no_paper(bank: Command, tmp_path: Path) -> None:
    items = gather(Workspace(bank.project.settings()), "mini").bank.items[:3]
    lines = [
        f"{who};{one.id};{letter}" for who in "xyz" for one, letter in zip(items, ("a", "Q", ""), strict=True)
    ]
    (tmp_path / "answers.csv").write_text("\ufeffCandidate;Item;Letter\n" + "\n".join(lines))
    found = bank("exam", "responses", str(tmp_path / "answers.csv"), "--json")
    assert found.code == 0, found.err
    assert "answers.csv:3: 3 answers with a letter that the item does not have" in found.err
    assert [one["candidates"] for one in json.loads(found.out)["items"]] == [3, 3, 3]
