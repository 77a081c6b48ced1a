"""YAML files that users write, also hostile ones."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.configuration.corpora import load_corpora
from qagen_dagster.configuration.exams import read_schemas
from qagen_dagster.configuration.problems import load_problem_sets
from qagen_dagster.configuration.yaml_files import read_yaml
from qagen_dagster.errors import ConfigError
from qagen_dagster.records.corpus_options import CorpusConfig
from tests.configuration.test_corpora import add
from tests.configuration.test_problems import make

GOOD = """\
# A corpus
name: Probe manuals
corpus_context: >
  Manuals of probes.
scenarios:
  service:
    name: Service desk
    description: Short questions.
    modes: [textual]
    target_count: 3
  exam:
    name: Exam
    description: Long questions.
documents:
  passwords:
    secret.pdf: SECRET_PDF
"""

FAULTS: dict[str, tuple[str, str, str]] = {
    "unknown key": ("name: Probe manuals", "nmae: Probe manuals", "2: nmae: unknown key"),
    "unknown key deep": ("    target_count: 3", "    target: 3", "10: scenarios.service.target: unknown key"),
    "missing key": (
        "    description: Short questions.\n",
        "",
        "6: scenarios.service.description: required key is missing",
    ),
    "no scenario": ("scenarios:\n", "scenario:\n", "5: scenario: unknown key"),
    "bad type": ("target_count: 3", "target_count: three", "10: scenarios.service.target_count: "),
    "out of range": ("target_count: 3", "target_count: 0", "10: scenarios.service.target_count: "),
    "bad list item": ("modes: [textual]", "modes: [textual, aural]", "9: scenarios.service.modes.1: "),
    "bad name": ("  exam:", "  exam/1:", "11: scenarios.exam/1: "),
    "blank text": ("name: Exam", 'name: " "', "12: scenarios.exam.name: "),
    "key twice": ("name: Exam", "name: Exam\n    name: Again", "13: scenarios.exam.name: duplicate key"),
    "scenario twice": ("  exam:", "  service:", "11: scenarios.service: duplicate key"),
    "alias": ("    name: Exam", "    name: *other", "12: YAML aliases are not supported"),
    "anchor and alias": (
        "    name: Exam",
        "    name: &a Exam\n    profile: *a",
        "13: YAML aliases are not supported",
    ),
    "mapping for a scalar": ("name: Exam", "name: {a: b}", "12: scenarios.exam.name: "),
    "scalar for a mapping": (
        "  passwords:\n    secret.pdf: SECRET_PDF",
        "  passwords: none",
        "15: documents.passwords: ",
    ),
    "bad variable": ("SECRET_PDF", "secret-pdf", "16: documents.passwords.secret.pdf: "),
    "key that is a list": ("  exam:", "  ? [a, b]\n  :", "11: a key must be plain text"),
    "syntax": ("name: Exam", "name: Exam: again", "12: is not YAML: mapping values are not allowed"),
    "unclosed": ("[textual]", "[textual", "10: is not YAML: "),
    "tab": ("  exam:", "\texam:", "11: is not YAML: "),
    "unknown tag": ("name: Exam", "name: !boom Exam", "12: "),
    "python tag": ("name: Exam", "name: !!python/object/apply:os.getcwd []", "12: "),
    "impossible date": ("name: Exam", "name: 2023-99-99", "12: "),
    "impossible number": ("target_count: 3", "target_count: !!int three", "10: "),
    "endless number": ("target_count: 3", "target_count: " + "9" * 5_000, "10: "),
    "second document": ("documents:", "---\ndocuments:", "14: is not YAML: "),
}


def read(tmp_path: Path, data: str | bytes) -> CorpusConfig:
    path = tmp_path / "corpus.yaml"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return read_yaml(path, CorpusConfig)


def complaint(tmp_path: Path, data: str | bytes) -> str:
    """The one line about a faulty file, without its folder."""
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, data)
    text = str(caught.value)
    assert "\n" not in text
    assert text.startswith(f"{tmp_path}/corpus.yaml:")
    return text.removeprefix(f"{tmp_path}/corpus.yaml:").strip()


def test_a_good_file_is_read(tmp_path: Path) -> None:
    config = read(tmp_path, GOOD)
    assert config.scenarios["service"].target_count == 3
    assert config.corpus_context == "Manuals of probes."
    assert list(config.scenarios) == ["service", "exam"]
    assert read(tmp_path, b"\xef\xbb\xbf" + GOOD.encode()) == config
    assert read(tmp_path, GOOD.replace("\n", "\r\n")) == config


@pytest.mark.parametrize(("old", "new", "said"), FAULTS.values(), ids=FAULTS)
def test_every_fault_is_one_line_with_its_place(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in GOOD
    text = complaint(tmp_path, GOOD.replace(old, new, 1))
    assert text.startswith(said), text


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "1: is empty"),
        (b"# nothing\n", "1: is empty"),
        (b"- a\n- b\n", "1: "),
        (b"just words\n", "1: "),
        (b"name: caf\xe9\n", "is not UTF-8 text"),
        (b"name: \x00\n", "is not YAML: "),
        (b"name: x\n" + b"# " + b"x" * 1_000_001, "is larger than 1 MB"),
        (b"[" * 50_000, ""),
        (b"a: " * 3_000 + b"b", ""),
    ],
    ids=["empty", "comment", "list", "scalar", "latin-1", "nul", "huge", "deep", "chain"],
)
def test_what_is_no_configuration_at_all(tmp_path: Path, data: bytes, said: str) -> None:
    assert complaint(tmp_path, data).startswith(said)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent\.yaml: cannot be read: No such file"):
        read_yaml(tmp_path / "absent.yaml", CorpusConfig)
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(ConfigError, match=r"folder\.yaml: cannot be read: Is a directory"):
        read_yaml(tmp_path / "folder.yaml", CorpusConfig)


def test_words_that_yaml_takes_for_something_else_stay_words(tmp_path: Path) -> None:
    for word in ("2023-01-01", "2023-01-01 10:00:00", "yes_or_no"):
        assert read(tmp_path, GOOD.replace("name: Exam", f"name: {word}")).scenarios["exam"].name == word


@given(st.one_of(st.binary(max_size=200), st.text("abc:-[]{}&*!%>|'\"# \n\t0.", max_size=120)))
def test_no_file_raises_anything_else(tmp_path_factory: pytest.TempPathFactory, data: str | bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    with pytest.raises(ConfigError) as caught:
        read_yaml(path, CorpusConfig)
    assert "\n" not in str(caught.value)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(40_000_000_000)


MAKERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "fifo": (os.mkfifo, "cannot be read: it is not a regular file"),
    "device": (endless, "cannot be read: it is not a regular file"),
    "sparse": (huge, "is larger than 1 MB"),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_a_configuration_that_is_no_small_file_is_one_line(tmp_path: Path, kind: str) -> None:
    create, said = MAKERS[kind]
    add(tmp_path, "good")
    add(tmp_path, "bad")
    make(tmp_path, "good")
    make(tmp_path, "bad")
    for path in (tmp_path / "bad" / "corpus.yaml", tmp_path / "problems" / "bad" / "problems.yaml"):
        path.unlink()
        create(path)
    for found, faults in (
        (load_corpora(tmp_path).corpora, load_corpora(tmp_path).faults),
        (load_problem_sets(tmp_path).found, load_problem_sets(tmp_path).faults),
    ):
        assert list(found) == ["good"]
        assert [fault.message for fault in faults] == [said]
    create(tmp_path / "schemas.md")
    with pytest.raises(ConfigError, match=said):
        read_schemas(tmp_path / "schemas.md")


@pytest.mark.parametrize("target", ["/etc", "loop"])
def test_documents_and_sources_do_not_lead_out(tmp_path: Path, target: str) -> None:
    add(tmp_path, "good")
    add(tmp_path, "bad")
    make(tmp_path, "bad")
    (tmp_path / "bad" / "documents").rmdir()
    (tmp_path / "problems" / "bad" / "sources").rename(tmp_path / "old")
    for folder, name in ((tmp_path / "bad", "documents"), (tmp_path / "problems" / "bad", "sources")):
        (folder / name).symlink_to(name if target == "loop" else target)
    corpora = load_corpora(tmp_path)
    said = "is a link to itself" if target == "loop" else "is a link to /etc, which is outside"
    assert list(corpora.corpora) == ["good"]
    for fault in (*corpora.faults, *load_problem_sets(tmp_path).faults):
        assert said in fault.message
    assert len(load_problem_sets(tmp_path).faults) == 1


def test_a_corpus_folder_may_be_a_link_and_documents_a_link_beside(tmp_path: Path) -> None:
    add(tmp_path / "elsewhere", "linked")
    (tmp_path / "corpora").mkdir()
    (tmp_path / "corpora" / "linked").symlink_to(tmp_path / "elsewhere" / "linked")
    add(tmp_path / "corpora", "shared")
    (tmp_path / "corpora" / "shared" / "documents").rmdir()
    (tmp_path / "corpora" / "papers").mkdir()
    (tmp_path / "corpora" / "shared" / "documents").symlink_to("../papers")
    corpora = load_corpora(tmp_path / "corpora")
    assert (list(corpora.corpora), corpora.faults) == (["linked", "shared"], ())


@pytest.mark.parametrize("kind", ["fifo", "device", "long"])
def test_a_problem_source_that_is_no_file_breaks_its_set_alone(tmp_path: Path, kind: str) -> None:
    make(tmp_path, "good")
    name = "x" * 300 + ".tex" if kind == "long" else "b.tex"
    folder = make(tmp_path, "bad", f"name: Bad\nsources:\n  - file: {name}\n")
    if kind != "long":
        MAKERS[kind][0](folder / "sources" / name)
    found = load_problem_sets(tmp_path)
    assert list(found.found) == ["good"]
    said = {"fifo": "it is not a regular file", "device": "it is a link out of sources/", "long": "too long"}
    assert [fault.key for fault in found.faults] == ["sources.0.file"]
    assert said[kind] in found.faults[0].message
