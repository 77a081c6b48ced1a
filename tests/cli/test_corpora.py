from __future__ import annotations

import pytest

from tests.cli.conftest import Command
from tests.ingest.test_parsing import encrypted_pdf
from tests.support import waterworks


def test_a_new_corpus_is_valid_and_is_never_overwritten(qagen: Command) -> None:
    made = qagen("init", "field_manuals")
    assert made.code == 0
    checked = qagen("corpora", "check")
    assert checked.out == "field_manuals: valid; files: 0; scenarios: retrieval\n"
    assert checked.errors == ["qagen: warning: field_manuals: there are no documents"]
    config = qagen.project.corpora / "field_manuals/corpus.yaml"
    config.write_text("name: mine", encoding="utf-8")
    again = qagen("init", "field_manuals")
    assert again.code == 2
    assert again.errors[0].endswith("field_manuals/documents: already exists")
    assert config.read_text(encoding="utf-8") == "name: mine"


def test_an_existing_description_is_kept(qagen: Command) -> None:
    (qagen.project.corpora / "field_manuals").mkdir(parents=True)
    (qagen.project.corpora / "field_manuals/corpus.yaml").write_text("name: mine", encoding="utf-8")
    ended = qagen("init", "field_manuals")
    assert ended.errors[0].endswith("field_manuals/corpus.yaml: already exists")


@pytest.mark.parametrize("name", ["../water", "exams", "a b", "..."])
def test_a_name_that_cannot_be_a_corpus_makes_nothing(qagen: Command, name: str) -> None:
    ended = qagen("init", name)
    assert (ended.code, len(ended.errors)) == (2, 1)
    assert list(qagen.project.corpora.iterdir()) == []


@pytest.mark.parametrize("name", ["opnai", "embeded"])
def test_an_unknown_profile_of_a_scenario_is_refused(qagen: Command, name: str) -> None:
    assert qagen("init", "manuals").code == 0
    config = qagen.project.corpora / "manuals/corpus.yaml"
    config.write_text(config.read_text() + f"    profile: {name}\n")
    checked = qagen("corpora", "check")
    assert checked.code == 2
    assert "manuals/corpus.yaml: scenarios.retrieval.profile: " in checked.err
    assert name in checked.err


def test_names_stay_whole_in_a_pipe(qagen: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "a" * 70
    qagen.project.corpus(name, waterworks.corpus(), {"ridge.txt": waterworks.notes("ridge")})
    monkeypatch.delenv("COLUMNS", raising=False)
    for command in ("stale", "estimate"):
        assert name in qagen(command).out


UNUSABLE = {
    "contract.pdf": (encrypted_pdf("wool"), "encrypted", "a password is needed"),
    "cut.pdf": (encrypted_pdf("wool")[:400], "corrupt", ""),
    "page.pdf": (b"<!DOCTYPE html><html><body>Not found</body></html>", "not_what_it_says", "HTML"),
    "empty.txt": (b" \n", "empty", "white space"),
    "letter.docx": (b"PK", "unsupported", ".docx"),
    "noise.txt": (bytes(range(32)) * 40, "binary", ""),
}


def test_files_that_cannot_be_used_are_named_and_keep_nothing_out_of_date(qagen: Command) -> None:
    qagen.project.corpus("water", waterworks.corpus(), {"ridge.txt": waterworks.notes("ridge")})
    for name, (data, _, _) in UNUSABLE.items():
        (qagen.project.corpora / "water/documents" / name).write_bytes(data)
    never = qagen("documents")
    assert (never.code, never.out) == (0, "")
    assert "water: its documents were never parsed" in never.err
    ran = qagen("run")
    assert ran.code == 0
    named = [line for line in ran.errors if "water/documents/" in line]
    assert len(named) == 5
    assert "1 more documents cannot be used; see: qagen documents --corpus water" in ran.err
    listed = {row["source"]: row for row in qagen("documents", "--json").value}
    assert listed.pop("ridge.txt")["outcome"] == "parsed"
    for name, (_, outcome, detail) in UNUSABLE.items():
        assert listed[name]["outcome"] == outcome
        assert detail in listed[name]["detail"]
    assert qagen("documents", "--outcome", "encrypted").out.startswith(
        "water | contract.pdf | encrypted | a password"
    )
    assert "documents water" not in qagen("stale").out
    assert "everything is up to date" in qagen("run").err
    assert qagen("documents", "--corpus", "fire").code == 2
