from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.agents.prompts import FOLDER
from qagen_dagster.configuration.exams import Exam
from qagen_dagster.errors import ConfigError
from qagen_dagster.loop.exams.plan import ExamOptions, plan_part, quotas
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.base import Difficulty
from qagen_dagster.records.exams.config import ExamConfig
from qagen_dagster.records.exams.submissions import ExamPart, ExamSchema
from tests.support.exams.mini import YAML, write_exam
from tests.support.project import Project

EASY, MEDIUM, HARD = Difficulty


def exam(*schemas: str, **config: object) -> Exam:
    known = {
        one: ExamSchema(id=one, title="T", core_move="m", contexts=(), wrong_paths=(), text="t", line=1)
        for one in schemas
    }
    return Exam(
        "trial", Path("x"), ExamConfig.model_validate({"name": "T", "candidate_profile": "c"} | config), known
    )


FOURTEEN = exam(*(f"{kind}{number}" for kind in "MP" for number in range(1, 8)))


def sums(found: dict[object, int], name: str) -> dict[object, int]:
    counts: Counter[object] = Counter()
    for part, count in found.items():
        counts[getattr(part, name)] += count
    return dict(counts)


def test_the_usual_weights_over_fourteen_schemas() -> None:
    found = quotas(FOURTEEN, 140, seed=0)
    assert sums(found, "difficulty") == {EASY: 42, MEDIUM: 70, HARD: 28}
    assert set(sums(found, "schema_id").values()) == {10}
    assert len(found) == 42
    assert quotas(FOURTEEN, 140, seed=0) == found
    assert quotas(FOURTEEN, 3, seed=0) != quotas(FOURTEEN, 3, seed=1)


@given(
    st.integers(0, 60),
    st.integers(0, 99),
    st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0]), min_size=3, max_size=3).filter(any),
)
def test_shares_are_kept_and_more_items_only_add(items: int, seed: int, weights: list[float]) -> None:
    wanted = dict(zip(Difficulty, weights, strict=True))
    found = quotas(FOURTEEN, items, seed, wanted)
    assert sum(found.values()) == items
    for difficulty, count in sums(found, "difficulty").items():
        share = wanted[difficulty] / sum(weights)  # pyright: ignore[reportArgumentType]
        assert abs(count - share * items) < 2
        assert count == 0 or share > 0
    assert max(sums(found, "schema_id").values()) - min(sums(found, "schema_id").values()) <= 1
    more = quotas(FOURTEEN, items + 1, seed, wanted)
    assert sorted(more[part] - found[part] for part in found)[-2:] == [0, 1]


def test_prefixes_and_weights_of_schemas() -> None:
    found = quotas(exam("M1", "M2", "P1", schema_prefixes=("M",), schema_weights={"M2": 3}), 8, seed=0)
    assert sums(found, "schema_id") == {"M1": 2, "M2": 6}
    narrowed = quotas(FOURTEEN, 7, 0, prefixes=("P",))
    assert {part.schema_id[0] for part, count in narrowed.items() if count} == {"P"}
    assert len(narrowed) == 42, "parts without items are told too"
    for unknown in (HARD, "extreme"):
        with pytest.raises(ConfigError, match=rf"exam trial has no {unknown} items .* \(there are: easy\)"):
            quotas(exam("M1", difficulties={"easy": 1}), 7, 0, {unknown: 1.0})
    for wrong in (float("nan"), float("inf"), -1.0):
        with pytest.raises(ConfigError, match="weight of easy items must be a number of at least 0"):
            quotas(FOURTEEN, 7, 0, {EASY: wrong})
    for prefixes, weights in ((("X",), None), (None, dict.fromkeys(Difficulty, 0.0))):
        with pytest.raises(ConfigError, match="has a weight above 0"):
            quotas(FOURTEEN, 7, 0, weights, prefixes)


def test_prompts_of_the_user_are_used_and_move_the_fingerprint(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project")
    folder = write_exam(project.corpora)
    space, part = Workspace(project.settings(profile="embedded")), ExamPart.from_key("mini/M1/easy")
    before = plan_part(space, part, ExamOptions())
    (folder / "own").mkdir()
    shipped = (FOLDER / "exams" / "style.md").read_text()
    (folder / "own" / "style.md").write_text(shipped.replace("You are the last", "You are the very last"))
    (folder / "exam.yaml").write_text(f"{YAML}prompts: own\n")
    after = plan_part(space, part, ExamOptions())
    assert after.fingerprint != before.fingerprint
    assert [*after.work(1, {}).context.prompts] == ["exam_style"]
    (folder / "own" / "style.md").write_text(shipped)
    assert plan_part(space, part, ExamOptions()).fingerprint == before.fingerprint
    (folder / "own" / "style.md").write_text(shipped.replace("${stem}", ""))
    with pytest.raises(ConfigError, match="prompt style: its user part needs"):
        plan_part(space, part, ExamOptions())


def test_a_limit_of_flaws_moves_the_fingerprint_and_its_absence_does_not(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project")
    folder = write_exam(project.corpora)
    space, part = Workspace(project.settings(profile="embedded")), ExamPart.from_key("mini/M1/easy")
    before = plan_part(space, part, ExamOptions())
    (folder / "exam.yaml").write_text(f"{YAML}thresholds: {{most_flaws: 2}}\n")
    after = plan_part(space, part, ExamOptions())
    assert after.fingerprint != before.fingerprint
    (folder / "exam.yaml").write_text(f"{YAML}thresholds: {{least_score: 7}}\n")
    assert plan_part(space, part, ExamOptions()).configuration == before.configuration
