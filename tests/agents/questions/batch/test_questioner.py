from __future__ import annotations

from pathlib import Path

import pytest

from qagen_dagster.agents.questions.batch import questioner
from qagen_dagster.agents.questions.batch.answerer import Asked
from qagen_dagster.agents.questions.batch.answerer import answer as answer_question
from qagen_dagster.agents.questions.batch.one_reply import Task
from qagen_dagster.agents.questions.batch.questioner import (
    SPARE,
    Rejection,
    Told,
    asked_for,
    examples,
    guides,
    in_words,
    propose,
    rewrite,
    rule_of,
    rules,
)
from qagen_dagster.agents.questions.batch.shown_text import BUDGETS, Reading
from qagen_dagster.errors import ConfigError, ContextOverflowError, PermanentModelError, RequestRefusedError
from qagen_dagster.models.messages import Request, Stop
from qagen_dagster.models.wires.workarounds import shared_text
from qagen_dagster.records.corpus_options import Complexity, QuestionType
from tests.support.documents import context_of, view_of
from tests.support.models import FakeModel, Turn, answer, call, say, task, told

WANTED = {QuestionType.CAUSAL: 2, QuestionType.TEMPORAL: 1}
LONG = "\n".join(f"Line {number} speaks of pump {number % 97} and of its valve." for number in range(9_000))


def questions(*kinds: str) -> list[dict[str, str]]:
    return [{"question": f"Why did pump {n} stop?", "question_type": kind} for n, kind in enumerate(kinds)]


def asked(model: FakeModel, text: str | None = None, round_: int = 1) -> tuple[str, ...]:
    context = context_of() if text is None else context_of(view_of(text))
    told_ = Told([("Which words?", QuestionType.CAUSAL)], [("Who is it?", "duplicate: the same words")])
    found = propose(context, model, Reading(context.view), asked_for(WANTED, 200), told_, round_)
    return tuple(f"{one.question_type.value} {one.question}" for one in found.questions)


def test_the_prompt_holds_the_text_the_types_and_what_there_is() -> None:
    model = FakeModel([call("submit_questions", questions=questions("causal"))])
    asked(model)
    (request,) = model.requests
    said = told(request)
    for part in (
        "3| The cell constant is 1,250 per metre.",
        "- causal: 3\n- temporal: 2",
        "- Which words? [causal]",
        "- Who is it?\n  duplicate: the same words",
        "Manuals of conductivity probes.",
        "Short questions of technicians.",
        "The answer needs at least two different parts",
    ):
        assert part in said
    assert "multi_hop" not in said
    assert task(request) == "submit_questions"


def test_all_tasks_on_a_document_begin_alike_so_that_a_provider_caches_it_once() -> None:
    context, reading = context_of(), Reading(context_of().view)
    model = FakeModel(
        [
            *(call("submit_questions", questions=questions(kind)) for kind in ("causal", "temporal")),
            call("submit_rewrite", question="Which pump?"),
            call("submit_grounded_answers", answer="Insufficient information in the document."),
        ]
    )
    for round_, kind in enumerate((QuestionType.CAUSAL, QuestionType.TEMPORAL), 1):
        propose(context, model, reading, {kind: 1}, Told(), round_)
    task_ = Task([()], attempt=1, sample=1)
    rewrite(context, model, reading, Rejection("Why?", QuestionType.CAUSAL, "too short"), Told(), task_)
    answer_question(context, model, reading, Asked("Why?", QuestionType.CAUSAL), task_)
    first, *others = model.requests
    for one in others:
        assert (one.system, one.tools, one.tool_choice) == (first.system, first.tools, first.tool_choice)
        assert shared_text(one) == shared_text(first)
    assert [task(one) for one in model.requests] == [
        "submit_questions", "submit_questions", "submit_rewrite", "submit_grounded_answers"
    ]  # fmt: skip


@pytest.mark.parametrize("wrong", ["submit_rewrite", "submit_grounded_answers", "open_valve"])
def test_the_tool_of_another_task_is_refused(wrong: str) -> None:
    good = call("submit_questions", questions=questions("causal"))
    model = FakeModel([call(wrong, question="Why?", answer="So."), good])
    assert asked(model) == ("causal Why did pump 0 stop?",)
    assert f"This task has no tool '{wrong}'. Its tools are: submit_questions." in told(model.requests[1])


def test_tags_go_and_so_does_what_nobody_asked_for() -> None:
    drafts = questions("causal", "multi_hop", *["temporal"] * 9)
    drafts[0]["question"] += " (causal) (temporal)"
    model = FakeModel(
        [call("submit_questions", questions=[*drafts, {"question": " ", "question_type": "causal"}])]
    )
    found = asked(model)
    assert found[0] == "causal Why did pump 0 stop?"
    assert [one.split()[0] for one in found] == ["causal", *["temporal"] * (2 + SPARE)]


def test_a_submission_of_nothing_is_refused_and_unknown_types_are_explained() -> None:
    model = FakeModel(
        [
            call("submit_questions", questions=[]),
            call("submit_questions", questions=questions("riddle")),
            call("submit_questions", questions=questions("Causal", "multi hop")),
        ]
    )
    assert asked(model) == ("causal Why did pump 0 stop?",)
    assert "name every type under not_possible" in told(model.requests[1])
    assert "'counterfactual'" in told(model.requests[2])


def test_plain_text_is_read_where_no_tool_is_called() -> None:
    text = "1. Why did it stop? (causal)\n2. When did it start again? (temporal) (causal)"
    model = FakeModel([say(text), say(text)])
    assert asked(model) == ("causal Why did it stop?", "temporal When did it start again?")


def test_a_refusal_is_a_failure_and_nothing_is_read_into_it() -> None:
    model = FakeModel([answer(say("Why should I? (causal)"), Stop.REFUSAL)])
    context = context_of()
    found = propose(context, model, Reading(context.view), asked_for(WANTED, 200), Told(), 1)
    assert (found.questions, found.failure) == ((), "refused: Why should I? (causal)")


@pytest.mark.parametrize("refusal", [ContextOverflowError, RequestRefusedError])
def test_a_model_that_cannot_take_so_much_is_shown_less(refusal: type[RequestRefusedError]) -> None:
    sizes: list[int] = []

    def small(request: Request) -> Turn:
        sizes.append(len(told(request)))
        if len(sizes) < 3:
            return refusal("too long")
        return call("submit_questions", questions=questions("causal"))

    model = FakeModel(small)
    assert asked(model, LONG) == ("causal Why did pump 0 stop?",)
    assert all(size < budget * 1.3 + 15_000 for size, budget in zip(sizes, BUDGETS, strict=False))
    assert "Only parts of the document" in told(model.requests[2])
    never = FakeModel(lambda _: ContextOverflowError("too long"))
    context = context_of(view_of(LONG))
    found = propose(context, never, Reading(context.view), asked_for(WANTED, 200), Told(), 1)
    assert found.failure.startswith("context_overflow")
    assert len(never.requests) == len(BUDGETS)


def test_a_model_that_cannot_be_had_is_an_error() -> None:
    with pytest.raises(PermanentModelError):
        asked(FakeModel([PermanentModelError("bad key")]))


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ([call("submit_rewrite", question="Why is it sealed? (causal)")], "Why is it sealed?"),
        ([call("submit_rewrite", question="")], ""),
        ([say("Why is it sealed?"), say("Why?")], "Why is it sealed?"),
        ([say(""), say("")], ""),
    ],
)
def test_a_rejected_question_is_replaced_or_kept(turns: list[Turn], expected: str) -> None:
    context, model = context_of(), FakeModel(turns)
    rejected = Rejection("Who sold it?", QuestionType.CAUSAL, "the document does not say who")
    found = rewrite(
        context, model, Reading(context.view), rejected, Told(), Task([()], attempt=1, sample=1000)
    )
    assert found.question == expected
    assert "Who sold it?\n\nWhy it was rejected:\nthe document does not say who" in told(model.requests[0])


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
    assert rule_of("numeric") == ""
    guide = guides().types[QuestionType.COMPARISON]
    assert rule.startswith("comparison: ")
    assert all(words in rule for words in (guide.means, guide.ask, guide.fails))
    assert "Orrin Bay" not in rule


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


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "## causal",
            "## riddle\nmeans: m\n\n## causal",
            "'riddle' is no question type: add it to QuestionType in records/",
        ),
        (
            "## causal",
            "## Causal",
            "'causal' has no section .*the lines means, ask, not, pattern, example, answer",
        ),
        ("## complexity", "## causal", "'complexity' has no section .*; 'causal' is there twice"),
        (
            "\nnot: one factor",
            "\nunless: one factor",
            "'unless' is no line of analysis; 'not' is missing in analysis",
        ),
        ("\nmeans: why", "\nmeans: how\nmeans: why", "'means' is there twice"),
        ("\npattern: Taken together", "\nTaken together", "'pattern' is missing in synthesis"),
    ],
)
def test_types_and_their_descriptions_must_agree(
    old: str, new: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = questioner._FILE.read_text()
    assert text.count(old) == 1
    (tmp_path / "types.md").write_text(text.replace(old, new))
    monkeypatch.setattr(questioner, "_FILE", tmp_path / "types.md")
    guides.cache_clear()
    with pytest.raises(ConfigError, match=said):
        guides()
    guides.cache_clear()


@pytest.mark.parametrize(
    ("most", "counts"), [(200, (3, 2, 2)), (6, (2, 2, 2)), (4, (2, 1, 1)), (2, (1, 1)), (1, (1,))]
)
def test_fewer_questions_are_asked_for_evenly(most: int, counts: tuple[int, ...]) -> None:
    wanted = {QuestionType.CAUSAL: 2, QuestionType.TEMPORAL: 1, QuestionType.ANALYSIS: 1}
    assert tuple(asked_for(wanted, most).values()) == counts
