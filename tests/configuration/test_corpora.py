from __future__ import annotations

from pathlib import Path

import pytest

from qagen_dagster.configuration.corpora import Corpora, find_corpus, load_corpora
from qagen_dagster.errors import ConfigError
from qagen_dagster.records.ids import Mode

YAML = """\
name: {name}
corpus_context: Manuals.
scenarios:
  service:
    name: Service
    description: Short.
  exam:
    name: Exam
    description: Long.
    modes: [visual]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for key in ("probes", "bells"):
        add(tmp_path, key)
    return tmp_path


def add(folder: Path, key: str, text: str | None = None) -> None:
    (folder / key / "documents").mkdir(parents=True)
    (folder / key / "corpus.yaml").write_text(text or YAML.format(name=key.title()))


def test_corpora_come_in_name_order_with_their_combinations(folder: Path) -> None:
    corpora = load_corpora(folder)
    assert list(corpora.corpora) == ["bells", "probes"]
    assert corpora.faults == ()
    assert [one.key for one in corpora.combinations()] == [
        "bells/service/textual",
        "bells/service/visual",
        "bells/exam/visual",
        "probes/service/textual",
        "probes/service/visual",
        "probes/exam/visual",
    ]
    assert find_corpus(corpora.folder, "bells").config.name == "Bells"
    assert find_corpus(corpora.folder, "bells").documents_folder == folder / "bells" / "documents"


@pytest.mark.parametrize(
    ("corpus", "scenario", "mode", "count"),
    [
        (None, None, Mode.TEXTUAL, 2),
        ("bells", None, None, 3),
        (None, "exam", None, 2),
        ("bells", "service", Mode.VISUAL, 1),
    ],
)
def test_names_narrow_the_combinations(
    folder: Path, corpus: str | None, scenario: str | None, mode: Mode | None, count: int
) -> None:
    assert len(load_corpora(folder).combinations(corpus, scenario, mode)) == count


@pytest.mark.parametrize(
    ("corpus", "scenario", "mode", "said"),
    [
        ("lamps", None, None, r"there is no corpus 'lamps' in .* \(there are: bells, probes\)"),
        (None, "party", None, r"no combination matches \*/party/\*"),
        (
            "bells",
            "exam",
            Mode.TEXTUAL,
            r"no combination matches bells/exam/textual in .* \(there are: bells/",
        ),
    ],
)
def test_what_is_not_there_is_said_by_name(
    folder: Path, corpus: str | None, scenario: str | None, mode: Mode | None, said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        load_corpora(folder).combinations(corpus, scenario, mode)


BROKEN = {
    "unknown_key": (YAML.format(name="x") + "colour: red\n", "11: colour: unknown key"),
    "no_scenario": ("name: x\ncorpus_context: y\n", "1: scenarios: required key is missing"),
    "bad_type": (YAML.format(name="[1, 2]"), "1: name: "),
    "bad_control": (YAML.format(name="x") + "    text_control: maybe\n", "11: scenarios.exam.text_control: "),
    "no_yaml": ("name: x: y", "1: is not YAML"),
    "latin": ("name: caf\udce9", " is not UTF-8 text"),
    "none": ("", "1: is empty"),
}


@pytest.fixture
def with_broken(folder: Path) -> Corpora:
    for key, (text, _) in BROKEN.items():
        (folder / key / "documents").mkdir(parents=True)
        (folder / key / "corpus.yaml").write_bytes(text.encode("utf-8", "surrogateescape"))
    return load_corpora(folder)


def test_a_broken_corpus_takes_no_other_down(with_broken: Corpora) -> None:
    assert list(with_broken.corpora) == ["bells", "probes"]
    assert len(with_broken.combinations()) == 6
    assert len(with_broken.faults) == len(BROKEN)


@pytest.mark.parametrize("key", BROKEN)
def test_each_broken_corpus_is_one_line_with_file_line_and_key(with_broken: Corpora, key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        with_broken.chosen(key)
    place = f"{with_broken.folder}/{key}/corpus.yaml:"
    assert str(caught.value).startswith(f"{place}{BROKEN[key][1]}")
    assert str(caught.value) in {str(fault) for fault in with_broken.faults}
    with pytest.raises(ConfigError, match=r"corpus\.yaml"):
        find_corpus(with_broken.folder, key)


def test_one_corpus_is_found_without_reading_the_others(with_broken: Corpora) -> None:
    assert find_corpus(with_broken.folder, "bells").config.name == "Bells"
    with pytest.raises(ConfigError, match="there is no corpus 'lamps'"):
        find_corpus(with_broken.folder, "lamps")


def test_a_corpus_needs_a_usable_name_and_documents(folder: Path) -> None:
    add(folder, "old bells")
    (folder / "empty").mkdir()
    (folder / "empty" / "corpus.yaml").write_text(YAML.format(name="x"))
    faults = [str(fault) for fault in load_corpora(folder).faults]
    assert [fault.partition("corpus.yaml: ")[2] for fault in faults] == [
        "there is no documents/ folder next to this file",
        "the folder's name is unusable: 'old bells' is not a name: use 1-128 of A-Z a-z 0-9 _ . - (and no '...')",
    ]


def test_folders_without_a_configuration_are_no_corpora(folder: Path) -> None:
    (folder / "notes").mkdir()
    (folder / "read.me").write_text("x")
    assert list(load_corpora(folder).corpora) == ["bells", "probes"]


def test_a_folder_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    corpora = load_corpora(tmp_path / "absent")
    assert [str(fault) for fault in corpora.faults] == [f"{tmp_path / 'absent'}: is not a folder"]
    with pytest.raises(ConfigError, match="there are: none"):
        find_corpus(corpora.folder, "bells")


BATCH = """\
name: Bells
corpus_context: Manuals.
scenarios:
  service:
    name: Service
    description: Short.
    modes: [textual]
    strategy: batch
    batch:
{options}
"""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            "      mix: {multi_hop: 3, riddle: 2}",
            r"corpus\.yaml:10: scenarios\.service\.batch\.mix\.riddle: .*'multi_hop'",
        ),
        (
            "      complexity: basic\n      question_types:\n        - causal\n        - riddle",
            r"corpus\.yaml:13: scenarios\.service\.batch\.question_types\.1: .*'counterfactual'",
        ),
        (
            "      mix:\n        causal: 1\n        temporal: 0",
            r"corpus\.yaml:12: scenarios\.service\.batch\.mix\.temporal: ",
        ),
        (
            "      complexity: hard",
            r"corpus\.yaml:10: scenarios\.service\.batch\.complexity: .*'basic', 'moderate' or 'advanced'",
        ),
        ("      mixture: {causal: 1}", r"corpus\.yaml:10: scenarios\.service\.batch\.mixture: unknown key"),
        ("      num_questions: 3", r"corpus\.yaml:10: .*num_questions: .*`target_count`"),
        (
            "      validation: {method: semantic}",
            r"10: .*batch\.validation: .*`batch.min_question_confidence`",
        ),
        ("      method: semantic", r"10: .*batch\.method: unknown key; questions are checked by code"),
        ("      duplicate_similarity_threshold: 0.8", r"10: .*_threshold: .*`batch.similarity`"),
        (
            "      mix: {causal: 1}\n      question_types: [causal]",
            r"corpus\.yaml:9: scenarios\.service\.batch: mix names",
        ),
    ],
)
def test_a_fault_in_the_mix_is_told_with_file_and_line(tmp_path: Path, options: str, said: str) -> None:
    add(tmp_path, "bells", BATCH.format(options=options))
    with pytest.raises(ConfigError, match=said):
        find_corpus(tmp_path, "bells")


@pytest.mark.parametrize(
    ("mix", "more", "said"),
    [
        ("{riddle: 0.2}", "", r"corpus\.yaml:\d+: scenarios\.service\.mix\.riddle.*'riddle' is no kind.*one_passage"),
        ("{causal: 0.7, advanced: 0.4}", "", r"mix: the shares of causal, advanced are 1\.1 in all, more than 1"),
        ("{one_passage: 0.5, two_passages: 0.2, more_passages: 0.1}", "", r"are 0\.8 in all, not 1"),
        ("{causal: -0.1}", "", r"scenarios\.service\.mix\.causal: .*greater than or equal to 0"),
        ("{unanswerable: 0.4, false_premise: 0.2}", "", r"are 0\.6 in all, more than 0\.5"),
        ("{table: 0.5}", "    modes: [textual]\n", r"mix: kinds of visuals need visual mode"),
        (
            "{causal: 0.5}",
            "    modes: [textual]\n    strategy: batch\n    batch: {mix: {causal: 1}}\n",
            r"mix: batch\.mix names the question types already: leave causal out",
        ),
        ("{causal: 0.5}", "    modes: [textual]\n    strategy: across\n", r"mix: is not read with `strategy: across`"),
    ],
)  # fmt: skip
def test_a_fault_in_the_mix_of_a_scenario_is_told_in_one_line(
    tmp_path: Path, mix: str, more: str, said: str
) -> None:
    text = YAML.format(name="x").partition("  exam:")[0]
    add(tmp_path, "bells", f"{text}    mix: {mix}\n{more}")
    with pytest.raises(ConfigError, match=said) as raised:
        find_corpus(tmp_path, "bells")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("method", ["semantic", "keyword", "llm", "hybrid"])
def test_a_method_of_grading_is_no_strategy(tmp_path: Path, method: str) -> None:
    add(tmp_path, "bells", YAML.format(name="x") + f"    strategy: {method}\n")
    with pytest.raises(ConfigError, match=r"strategy: .*'agent', 'batch' or 'across'.*`grading.method`"):
        find_corpus(tmp_path, "bells")


def test_the_batch_strategy_reads_text_only(tmp_path: Path) -> None:
    add(tmp_path, "bells", BATCH.format(options="      mix: {causal: 1}").replace("textual", "visual"))
    with pytest.raises(ConfigError, match=r"strategy: batch reads text only: set `modes: \[textual\]`"):
        find_corpus(tmp_path, "bells")
