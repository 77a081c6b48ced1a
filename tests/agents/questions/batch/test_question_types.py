from __future__ import annotations

from pathlib import Path

import pytest

from qagen_dagster.agents.questions.batch import question_types
from qagen_dagster.agents.questions.batch.question_types import examples, guides, in_words, rule_of, rules
from qagen_dagster.agents.questions.validator import TypeRule
from qagen_dagster.errors import ConfigError
from qagen_dagster.records.corpus import Complexity, QuestionType

ADVANCED = Complexity.ADVANCED.question_types


def test_the_presets() -> None:
    assert Complexity.BASIC.question_types == (QuestionType.FACTUAL,)
    assert [kind.value for kind in Complexity.MODERATE.question_types] == [
        "analysis",
        "comparison",
        "inference",
    ]
    assert len(ADVANCED) == 10
    assert QuestionType.FACTUAL not in ADVANCED


@pytest.mark.parametrize("kind", QuestionType)
def test_each_type_has_all_its_words(kind: QuestionType) -> None:
    guide = guides().types[kind]
    assert guide.example.endswith("?")
    assert guide.pattern.endswith("?")
    assert "Orrin Bay" in guide.example
    assert all((guide.means, guide.ask, guide.fails, guide.answer))
    assert in_words([kind]).startswith(f"{kind.value}: ")


def test_who_judges_a_question_is_told_the_rule_of_its_type_alone() -> None:
    rule = rule_of(QuestionType.COMPARISON)
    guide = guides().types[QuestionType.COMPARISON]
    assert rule == TypeRule("comparison", guide.means, guide.ask, guide.fails)
    assert "Orrin Bay" not in f"{rule.means} {rule.asks} {rule.fails}"


def test_only_what_is_asked_for_is_told() -> None:
    told = in_words([QuestionType.CAUSAL]) + examples([QuestionType.CAUSAL])
    assert "causal" in told
    assert "temporal" not in told
    assert guides().types[QuestionType.TEMPORAL].example not in told


def test_lookups_are_a_fault_only_where_more_is_wanted() -> None:
    lookup = guides().bad[0]
    assert lookup in examples(ADVANCED)
    assert lookup not in examples([QuestionType.FACTUAL])
    assert guides().complexity in rules(ADVANCED)
    assert guides().complexity not in rules([QuestionType.FACTUAL])
    assert "every type but factual" in rules([QuestionType.FACTUAL, QuestionType.CAUSAL])
    assert "but factual" not in rules(ADVANCED)


def test_a_file_that_lacks_a_section_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "types.md").write_text("## rules\n- One.\n")
    monkeypatch.setattr(question_types, "_FILE", tmp_path / "types.md")
    guides.cache_clear()
    with pytest.raises(ConfigError, match="there is no complexity"):
        guides()
    guides.cache_clear()
