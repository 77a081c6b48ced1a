from __future__ import annotations

from pathlib import Path

import pytest

from qagen_dagster.configuration.corpora import load_corpora
from qagen_dagster.configuration.problems import find_problem_set, load_problem_sets
from qagen_dagster.errors import ConfigError
from qagen_dagster.records.problems.submissions import Format, QuestionKind, VariantKind

YAML = "name: Mechanics\nsources:\n  - file: a.tex\n"
FULL = """\
name: Mechanics
description: Two dozen problems.
profile: mine
sources:
  - {file: a.tex, range: [2, 5]}
  - {file: scans/b.pdf, pages: [1, 3], kind: mcq_mc}
  - {file: c.webp}
alternates: 1
variants: [numerical, context]
variants_each: 2
conversions: [integer]
combine: [[a-1, a-2]]
target_style: short
references: [refs]
seed: 4
"""


def make(corpora: Path, key: str = "mechanics", config: str = YAML) -> Path:
    folder = corpora / "problems" / key
    (folder / "sources" / "scans").mkdir(parents=True)
    for name in ("a.tex", "scans/b.pdf", "c.webp"):
        (folder / "sources" / name).write_text("x")
    (folder / "problems.yaml").write_text(config)
    return folder


def test_a_set_is_read_with_its_wishes(tmp_path: Path) -> None:
    folder = make(tmp_path, config=FULL)
    found = find_problem_set(tmp_path, "mechanics")
    config = found.config
    assert [(one.file, one.range, one.pages, one.kind) for one in config.sources] == [
        ("a.tex", (2, 5), None, None),
        ("scans/b.pdf", None, (1, 3), QuestionKind.MCQ_MC),
        ("c.webp", None, None, None),
    ]
    assert (config.variants, config.conversions) == (
        (VariantKind.NUMERICAL, VariantKind.CONTEXT),
        (Format.INTEGER,),
    )
    assert config.combine == (("a-1", "a-2"),)
    assert (found.references, found.file("a.tex")) == ((folder / "refs",), folder / "sources" / "a.tex")


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("name: x\nsources: []\n", "sources"),
        ("name: x\nsources:\n  - file: ../a.tex\n", "stays in its folder"),
        ("name: x\nsources:\n  - file: /etc/passwd\n", "stays in its folder"),
        ("name: x\nsources:\n  - file: a.doc\n", "is none of"),
        ("name: x\nsources:\n  - file: b.tex\n", "there is no file"),
        ("name: x\nsources:\n  - {file: a.tex, pages: [1, 2]}\n", "only a PDF has pages"),
        ("name: x\nsources:\n  - {file: c.webp, range: [1, 2]}\n", "only a TeX file has a range"),
        ("name: x\nsources:\n  - {file: a.tex, range: [3, 2]}\n", "must begin before it ends"),
        ("name: x\nsources:\n  - {file: a.tex, range: [0, 2]}\n", "sources.0.range"),
        (YAML + "  - file: a.tex\n", "holds something twice"),
        (YAML + "variants: [multi]\n", "name the problems under combine"),
        (YAML + "variants: [context, context]\n", "variants holds something twice"),
        (YAML + "combine: [[a-1]]\n", "combine.0"),
        (YAML + "colour: red\n", "colour"),
    ],
)
def test_what_cannot_be_used_is_named_with_its_place(config: str, said: str, tmp_path: Path) -> None:
    make(tmp_path, config=config)
    with pytest.raises(ConfigError, match=said):
        find_problem_set(tmp_path, "mechanics")


def test_a_broken_set_takes_no_other_down(tmp_path: Path) -> None:
    make(tmp_path, "broken", "name: [\n")
    make(tmp_path, "whole")
    found = load_problem_sets(tmp_path)
    assert (list(found.found), len(found.faults)) == (["whole"], 1)
    with pytest.raises(ConfigError, match=r"problems\.yaml"):
        find_problem_set(tmp_path, "broken")
    with pytest.raises(ConfigError, match=r"no problem set 'x' in .*problems \(there are: whole\)"):
        find_problem_set(tmp_path, "x")


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    folder = make(tmp_path)
    (tmp_path / "secret.tex").write_text("x")
    (folder / "sources" / "a.tex").unlink()
    (folder / "sources" / "a.tex").symlink_to(tmp_path / "secret.tex")
    with pytest.raises(ConfigError, match="is a link out of sources/"):
        find_problem_set(tmp_path, "mechanics")


def test_without_a_folder_there_are_no_sets_and_no_corpus_is_called_problems(tmp_path: Path) -> None:
    assert load_problem_sets(tmp_path).found == {}
    make(tmp_path)
    corpora = load_corpora(tmp_path)
    assert (corpora.corpora, corpora.faults) == ({}, ())
