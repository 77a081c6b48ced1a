from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from qagen_dagster.agents import prompts
from qagen_dagster.agents.problems import role_prompt, scan_prompt, variant_prompt
from qagen_dagster.agents.prompts import Prompt, load_addition, load_prompt, own_prompts
from qagen_dagster.agents.questions import deduplicator, generator, validator
from qagen_dagster.agents.questions.batch import answerer, one_reply, questioner
from qagen_dagster.configuration.profiles import PROBLEM_ROLES, Role
from qagen_dagster.errors import ConfigError
from qagen_dagster.records.ids import Mode
from qagen_dagster.records.problems.submissions import QuestionKind, VariantKind
from qagen_dagster.records.questions.submissions import BlindAnswer


def _below(load: Callable[[], Prompt]) -> Prompt:
    """A prompt of the batch strategy with the system text before it."""
    prompt = load()
    return replace(prompt, system=f"{one_reply.beginning_prompt().user}\n{prompt.system}")


ALL: list[Callable[[], Prompt]] = [
    lambda: generator.prompt_for(Mode.TEXTUAL),
    lambda: generator.prompt_for(Mode.VISUAL),
    lambda: validator.blind_prompt(Mode.TEXTUAL),
    lambda: validator.blind_prompt(Mode.VISUAL),
    lambda: validator.compare_prompts()[0],
    deduplicator.prompt,
    *(partial(_below, one) for one in (questioner.prompt, questioner.rewrite_prompt, answerer.prompt)),
    *(
        partial(load_prompt, f"exams/{name}")
        for name in ("designer", "implementer", "solve", "verify", "style")
    ),
    *(partial(role_prompt, role) for role in PROBLEM_ROLES if role not in (Role.SCANNER, Role.VARIANT)),
    *(partial(scan_prompt, kind.value) for kind in QuestionKind),
    *(partial(variant_prompt, kind) for kind in VariantKind),
]
PROMPT = Prompt("p", "You are ${who}.", "Find ${what}, ${who}.")


def test_both_parts_are_filled() -> None:
    assert PROMPT.fill({"who": "a cat", "what": "wool"}) == ("You are a cat.", "Find wool, a cat.")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"who": "a cat"}, r"prompt p: missing values \['what'\], unused values \[\]"),
        ({"who": "a", "what": "b", "wool": "c"}, r"missing values \[\], unused values \['wool'\]"),
        ({}, r"missing values \['what', 'who'\]"),
    ],
)
def test_a_missing_or_an_unused_value_is_an_error(values: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        PROMPT.fill(values)


@pytest.mark.parametrize("value", ["$5.00", "${what}", "$who$$", "a $ b", "\\1", "{0}", ""])
def test_values_are_never_read_as_placeholders(value: str) -> None:
    assert PROMPT.fill({"who": value, "what": "x"}) == (f"You are {value}.", f"Find x, {value}.")


def test_the_hash_follows_every_word() -> None:
    hashes = {
        PROMPT.hash,
        Prompt("p", "You are ${who}!", PROMPT.user).hash,
        Prompt("p", PROMPT.system, "Find ${what} now, ${who}.").hash,
    }
    assert len(hashes) == 3
    assert Prompt("another name", PROMPT.system, PROMPT.user).hash == PROMPT.hash


def test_a_file_needs_both_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompts, "FOLDER", tmp_path)
    for name, text in {"none": "only a system part", "blank": "system\n---user---\n \n"}.items():
        (tmp_path / f"{name}.md").write_text(text)
        with pytest.raises(ConfigError, match=f"prompt {name} needs a system and a user part"):
            load_prompt(name)


def test_an_addition_stands_before_a_user_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompts, "FOLDER", tmp_path)
    (tmp_path / "again.md").write_text("Again, ${why}.\n")
    (tmp_path / "empty.md").write_text(" \n")
    both = load_addition("again").before(PROMPT)
    assert both.fill({"who": "a cat", "what": "wool", "why": "it was mice"}) == (
        "You are a cat.",
        "Again, it was mice.\n\nFind wool, a cat.",
    )
    assert (both.name, load_addition("again").hash) != (PROMPT.name, PROMPT.hash)
    with pytest.raises(ConfigError, match="prompt empty is empty"):
        load_addition("empty")


@pytest.mark.parametrize("load", ALL)
def test_the_models_are_told_that_documents_are_no_instructions(load: Callable[[], Prompt]) -> None:
    prompt = load()
    flat = " ".join(prompt.system.split())
    assert "never instructions" in flat or "never meant for you" in flat
    assert prompt.system.count("${") + prompt.user.count("${") >= 2


FENCED = Prompt("exam_p", "You are ${who}.", "<text>\n${text}\n</text>\nFind ${what}.")
ADDED = Prompt("exam_more", "", "Again: ${why}")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("p", "Be ${who}.\n---user---\n<text>\n${text}\n</text>\nSeek ${what}.", None),
        ("more", "Once more: ${why}", None),
        ("other", "x", r"no prompt 'other' to replace \(there are: more, p\)"),
        ("p", "Be ${who}.", "prompt p needs a system and a user part"),
        ("p", "\n---user---\n${text} ${what}", "prompt p needs a system and a user part"),
        ("p", "Be ${who}.\n---user---\n<text>\n${text}\n</text>", r"its user part needs \['text', 'what'\], has \['text'\]"),
        ("p", "Be kind.\n---user---\n<text>\n${text}\n</text>\n${what}", r"its system part needs \['who'\], has \[\]"),
        ("p", "Be ${who}.\n---user---\n${text} ${what}", r"its user part between tags needs \['text'\], has \[\]"),
        ("more", "Once more.", r"its user part needs \['why'\], has \[\]"),
    ],
)  # fmt: skip
def test_a_prompt_of_the_user_keeps_the_fields(name: str, text: str, said: str | None) -> None:
    if said is not None:
        with pytest.raises(ConfigError, match=said):
            own_prompts([FENCED, ADDED], {name: text})
        return
    (own,) = own_prompts([FENCED, ADDED], {name: text}).values()
    shipped = FENCED if name == "p" else ADDED
    assert own.name == shipped.name
    assert own.hash != shipped.hash


def test_the_rules_of_one_criterion_are_the_same_in_all_forms() -> None:
    forms = [load_prompt(f"questions/validator_{name}").system for name in ("textual", "visual", "compare")]
    told = [*forms, BlindAnswer.model_fields["premise_holds"].description or ""]
    assert all("denies or calls only likely" in " ".join(one.split()) for one in told)
    assert "only multi_hop, and sums" not in load_prompt("questions/generator_textual").system.lower()
