from __future__ import annotations

from pathlib import Path

import pytest

from qagen_dagster.configuration.corpora import load_corpora
from qagen_dagster.configuration.exams import find_exam, load_exams
from qagen_dagster.errors import ConfigError
from qagen_dagster.records.difficulty import Difficulty
from qagen_dagster.records.exams.config import ExamConfig
from qagen_dagster.records.exams.item import (
    ExamPart,
    StyleScores,
)
from qagen_dagster.settings import PROJECT_ROOT

YAML = """\
name: Trial
candidate_profile: >
  A schooled
  person.
"""
BLOCK = """\
## {id}. Scaling
### Core thinking move
See the ratio.
### Contexts
- solids
### Wrong paths
- one
- two
- three
"""


def make(corpora: Path, key: str, schemas: str = "", config: str = YAML) -> Path:
    folder = corpora / "exams" / key
    folder.mkdir(parents=True)
    (folder / "exam.yaml").write_text(config)
    (folder / "schemas.md").write_text(schemas or BLOCK.format(id="M1"))
    return folder


def test_defaults_are_the_described_ones(tmp_path: Path) -> None:
    make(tmp_path, "trial", BLOCK.format(id="M1") + BLOCK.format(id="P1"))
    exam = find_exam(tmp_path, "trial")
    config = exam.config
    assert {one: said.weight for one, said in config.difficulties.items()} == {
        Difficulty.EASY: 0.3,
        Difficulty.MEDIUM: 0.5,
        Difficulty.HARD: 0.2,
    }
    assert (config.max_designer_retries, config.max_implementer_retries, config.items) == (2, 2, 1)
    assert (config.thresholds.least_score, config.thresholds.least_mean) == (7, 8.0)
    assert config.candidate_profile == "A schooled person."
    assert [part.key for part in exam.parts()][:4] == [
        "trial/M1/easy",
        "trial/M1/medium",
        "trial/M1/hard",
        "trial/P1/easy",
    ]
    assert [ExamPart.from_key(part.key) for part in exam.parts()] == list(exam.parts())


def test_weights_alone_keep_the_usual_meaning() -> None:
    config = ExamConfig.model_validate(
        {
            "name": "T",
            "candidate_profile": "c",
            "difficulties": {"easy": 1, "hard": {"meaning": "Very.", "weight": 2}, "medium": {"weight": 0}},
        }
    )
    assert config.difficulties[Difficulty.EASY].meaning.startswith("One step of insight")
    assert config.difficulties[Difficulty.HARD].meaning == "Very."
    assert config.difficulties[Difficulty.MEDIUM].weight == 0


@pytest.mark.parametrize(
    ("more", "line", "said"),
    [
        ("items: 0\n", 5, "items: "),
        ("itmes: 3\n", 5, "itmes: unknown key"),
        ("difficulties: {easy: 0}\n", 1, "every weight is 0"),
        ("difficulties:\n  easy: -1\n", 6, "difficulties.easy.weight: "),
        ("difficulties:\n  trivial: 1\n", 6, "difficulties.trivial: "),
        ("thresholds: {least_score: 11}\n", 5, "thresholds.least_score: "),
        ("max_implementer_retries: -1\n", 5, "max_implementer_retries: "),
        ("seed: x\n", 5, "seed: "),
        ("schema_weights: {M9: 2}\n", None, "schema_weights: there is no schema 'M9'"),
        ("schema_prefixes: [M, Q]\n", None, "schema_prefixes: no schema begins with 'Q'"),
    ],
)
def test_a_fault_names_file_line_and_key(tmp_path: Path, more: str, line: int | None, said: str) -> None:
    make(tmp_path, "broken", config=YAML + more)
    make(tmp_path, "whole")
    exams = load_exams(tmp_path)
    assert list(exams.exams) == ["whole"]
    (fault,) = exams.faults
    place = tmp_path / "exams" / "broken" / "exam.yaml"
    assert str(fault).startswith(f"{place}:{line}: " if line else f"{place}: ")
    assert said in str(fault)
    with pytest.raises(ConfigError) as raised:
        exams.get("broken")
    assert str(raised.value) == str(fault)


def test_a_broken_schema_is_a_fault_and_the_others_are_read(tmp_path: Path) -> None:
    make(
        tmp_path,
        "trial",
        f"{BLOCK.format(id='M1')}\n{BLOCK.format(id='M1')}\n## M2 Bare\n{BLOCK.format(id='M3')}",
    )
    exams = load_exams(tmp_path)
    exam = exams.get("trial")
    assert list(exam.schemas) == ["M1", "M3"]
    assert [(one.line, one.message) for one in exams.faults] == [
        (11, "is defined twice, first in line 1"),
        (21, "'M2 Bare' is not a schema header; write it like '## M1. Title'"),
    ]
    with pytest.raises(ConfigError, match=r"there is no schema 'M9' \(there are: M1, M3\)"):
        exam.schema("M9")


def test_an_exam_without_a_readable_schema_is_broken(tmp_path: Path) -> None:
    make(tmp_path, "one", "# Nothing here\n")
    make(tmp_path, "two", "## M1. T\n### Contexts\n- x\n")
    folder = make(tmp_path, "three")
    (folder / "schemas.md").unlink()
    said = [str(fault) for fault in load_exams(tmp_path).faults]
    assert [one.rpartition("schemas.md")[2] for one in said] == [
        ": contains no schema",
        ": cannot be read: No such file or directory",
        ":1: M1: '### Core thinking move' is missing or empty",
    ]


def test_unknown_exams_are_told_with_those_there_are(tmp_path: Path) -> None:
    make(tmp_path, "trial")
    with pytest.raises(ConfigError, match=r"there is no exam 'x' in .*exams \(there are: trial\)"):
        find_exam(tmp_path, "x")
    assert load_exams(tmp_path / "nowhere").exams == {}


def test_exams_are_no_corpora(tmp_path: Path) -> None:
    make(tmp_path, "trial")
    assert load_corpora(tmp_path).corpora == {}
    assert load_corpora(tmp_path).faults == ()
    (tmp_path / "exams" / "corpus.yaml").write_text("name: x")
    (fault,) = load_corpora(tmp_path).faults
    assert "a corpus cannot have the name exams" in str(fault)


def test_the_shipped_exam_is_whole() -> None:
    exams = load_exams(PROJECT_ROOT / "corpora")
    assert exams.faults == ()
    exam = exams.get("esat")
    assert list(exam.schemas) == [f"{kind}{number}" for kind in "MP" for number in range(1, 8)]
    assert len(exam.parts()) == 42
    for schema in exam.schemas.values():
        assert len(schema.contexts) >= 4
        assert len(schema.wrong_paths) >= 4
        assert len(schema.notes) >= 3
        assert schema.text.startswith(f"## {schema.id}. {schema.title}")
    assert exam.schemas["M4"].title == "Geometry → Algebra / Coordinates"
    assert all(one.meaning for one in exam.config.difficulties.values())


def test_thresholds_decide_on_scores() -> None:
    def scores(*values: int) -> StyleScores:
        return StyleScores(**dict(zip(StyleScores.model_fields, values, strict=True)))

    usual = ExamConfig(name="T", candidate_profile="c").thresholds
    assert usual.accepts(scores(7, 7, 7, 7, 10, 10))
    assert not usual.accepts(scores(7, 7, 7, 7, 9, 10))
    assert not usual.accepts(scores(6, 10, 10, 10, 10, 10))
    lower = usual.model_copy(update={"least_score": 6, "least_mean": 6.0})
    assert lower.accepts(scores(6, 6, 6, 6, 6, 6))
