"""The configuration of exams and their schemas."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.configuration.corpora import load_corpora
from qagen_dagster.configuration.exams import Library, find_exam, load_exams, read_schemas
from qagen_dagster.errors import ConfigError
from qagen_dagster.records.base import Difficulty
from qagen_dagster.records.exams.config import ExamConfig
from qagen_dagster.records.exams.submissions import ExamPart, StyleScores
from qagen_dagster.settings import PROJECT_ROOT

WHOLE = """\
# For people

## Not a schema? It is a header all the same
text

## M1.   Hidden / Scaling
### Core thinking move
See the ratio,
and only the ratio.

### Contexts:
- solids
  and figures
- curves
### WRONG PATHS
1. linear
2. inverse
* as the part
### Notes
A line.
Another.
```
## M9. In a fence
```
"""


def read(tmp_path: Path, text: str) -> Library:
    path = tmp_path / "schemas.md"
    path.write_text(text, encoding="utf-8")
    return read_schemas(path)


def test_a_block_is_read_as_it_stands(tmp_path: Path) -> None:
    found = read(tmp_path, WHOLE)
    assert list(found.schemas) == ["M1"]
    schema = found.schemas["M1"]
    assert (schema.title, schema.line) == ("Hidden / Scaling", 6)
    assert schema.core_move == "See the ratio, and only the ratio."
    assert schema.contexts == ("solids and figures", "curves")
    assert schema.wrong_paths == ("linear", "inverse", "as the part")
    assert schema.notes[:2] == ("A line.", "Another.")
    assert schema.text == WHOLE[WHOLE.index("## M1") :].strip()
    (fault,) = found.faults
    assert fault.line == 3


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("### Contexts:", "### Context", 11, "'### Context' is not a part of a schema (parts: Core thinking"),
        ("### Notes", "### Contexts", 19, "'### Contexts' is given twice"),
        ("### WRONG PATHS", "### Notes", 19, "is given twice"),
        ("### Core thinking move\n", "", 7, "there is text before the first '###' part"),
        ("2. inverse\n", "", 6, "has 2 wrong paths, but needs at least 3"),
        ("See the ratio,\nand only the ratio.\n", "", 6, "'### Core thinking move' is missing or empty"),
        ("## M1. ", "## M1 ", 6, "is not a schema header"),
        ("## M1. ", "## 1M. ", 6, "is not a schema header"),
        ("## M1. ", "## ../M1. ", 6, "is not a schema header"),
    ],
)
def test_a_broken_block_is_one_fault_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, said: str
) -> None:
    text = f"{WHOLE.replace(old, new)}\n## P1. Whole\n{WHOLE.partition('Scaling')[2]}"
    found = read(tmp_path, text)
    assert "P1" in found.schemas
    broken = [fault for fault in found.faults if fault.line not in (3, 26)]
    assert found.schemas.keys() == {"P1"}
    assert [fault.line for fault in broken if said in fault.message] == [line]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "schemas.md"
    path.write_bytes(b"## M1. \xff\n")
    with pytest.raises(ConfigError, match="is not UTF-8 text"):
        read_schemas(path)
    path.write_bytes(b"#" * 1_000_001)
    with pytest.raises(ConfigError, match="is larger than 1 MB"):
        read_schemas(path)


LINES = ["## M1. A", "## M2. B", "## x", "### Contexts", "### Notes", "### Core thinking move"]
LINES += ["### Wrong paths", "- a", "b", "", "```"]


@given(st.lists(st.sampled_from(LINES), max_size=30))
def test_every_block_is_a_schema_or_a_fault(lines: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = read(Path(folder), "\n".join(lines))
    starts, fenced = 0, False
    for line in lines:
        starts += line.startswith("## ") and not fenced
        fenced ^= line == "```"
    assert len(found.schemas) + len(found.faults) == starts


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
    assert list(exams.found) == ["whole"]
    (fault,) = exams.faults
    place = tmp_path / "exams" / "broken" / "exam.yaml"
    assert str(fault).startswith(f"{place}:{line}: " if line else f"{place}: ")
    assert said in str(fault)
    with pytest.raises(ConfigError) as raised:
        find_exam(tmp_path, "broken")
    assert str(raised.value) == str(fault)


def test_a_broken_schema_is_a_fault_and_the_others_are_read(tmp_path: Path) -> None:
    make(
        tmp_path,
        "trial",
        f"{BLOCK.format(id='M1')}\n{BLOCK.format(id='M1')}\n## M2 Bare\n{BLOCK.format(id='M3')}",
    )
    exams = load_exams(tmp_path)
    exam = exams.found["trial"]
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
    assert load_exams(tmp_path / "nowhere").found == {}


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
    exam = exams.found["esat"]
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
