from __future__ import annotations

from pathlib import Path
from typing import get_args

import anthropic.types
import pytest
from anthropic.resources.messages import DEPRECATED_MODELS
from openai.types import ChatModel

from qagen_dagster.configuration.profiles import (
    EXAM_ROLES,
    QUESTION_ROLES,
    SHIPPED,
    Profile,
    Role,
    is_free,
    load_profile,
    problem_specs,
)
from qagen_dagster.errors import ConfigError
from qagen_dagster.models.call_cost import has_price
from qagen_dagster.models.spec import ModelSpec
from qagen_dagster.records.ids import Mode
from qagen_dagster.settings import PROJECT_ROOT
from tests.support import cloze, markdown

GOOD = """\
roles:
  generator: {provider: openai, model: writer}
  validator: {provider: anthropic, model: reader, temperature: 0}
  deduplicator: {provider: openai, model: cheap}
visual:
  generator: {provider: openai, model: painter}
"""


def load(folder: Path, text: str, name: str = "mine") -> None:
    (folder / f"{name}.yaml").write_text(text)
    load_profile(name, folder)


def complaint(folder: Path, text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load(folder, text)
    return str(caught.value).removeprefix(f"{folder}/mine.yaml:")


def test_roles_are_bound_and_visual_overrides_them(tmp_path: Path) -> None:
    load(tmp_path, GOOD)
    profile = load_profile("mine", tmp_path)
    assert profile.spec(Role.GENERATOR, Mode.TEXTUAL).name == "openai:writer"
    assert profile.spec(Role.GENERATOR, Mode.VISUAL).name == "openai:painter"
    assert profile.spec(Role.VALIDATOR, Mode.VISUAL).name == "anthropic:reader"
    assert profile.spec(Role.VALIDATOR, Mode.TEXTUAL).temperature == 0


@pytest.mark.parametrize(
    ("old", "new", "mode"),
    [
        ("model: reader", "model: writer", "textual"),
        ("model: reader", "model: WRITER", "textual"),
        ("model: writer", "model: Reader", "textual"),
        ("model: reader", 'model: " writer "', "textual"),
        (
            "provider: anthropic, model: reader",
            "provider: openai_compatible, base_url: http://127.0.0.1, model: writer",
            "textual",
        ),
        ("model: reader", "model: Painter", "visual"),
        ("visual:\n", "visual:\n  validator: {provider: x, model: painter}\n", "visual"),
        ("visual:\n", "visual:\n  validator: {provider: x, model: PAINTER}\n", "visual"),
    ],
)
def test_a_model_may_not_validate_its_own_questions(tmp_path: Path, old: str, new: str, mode: str) -> None:
    text = complaint(tmp_path, GOOD.replace(old, new, 1))
    assert "generator and validator are the same model" in text
    assert f"in {mode} mode" in text
    assert text.startswith("1: ")
    assert "\n" not in text


def test_the_deduplicator_may_be_either(tmp_path: Path) -> None:
    load(tmp_path, GOOD.replace("cheap", "writer"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("  deduplicator: {provider: openai, model: cheap}\n", "", "1: no model is bound to deduplicator"),
        ("  deduplicator:", "  deduplicatr:", "4: roles.deduplicatr: "),
        ("model: cheap", "model: cheap, temprature: 1", "4: roles.deduplicator.temprature: unknown key"),
        (", model: cheap", "", "4: roles.deduplicator.model: required key is missing"),
        ("model: cheap", "model: cheap, timeout_seconds: 0", "4: roles.deduplicator.timeout_seconds: "),
        ("model: cheap", "model: cheap, tool_calling: maybe", "4: roles.deduplicator.tool_calling: "),
        ("visual:", "audible:", "5: audible: unknown key"),
    ],
)
def test_every_fault_is_one_line_with_its_place(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert complaint(tmp_path, GOOD.replace(old, new, 1)).startswith(said)


def test_all_missing_roles_are_named(tmp_path: Path) -> None:
    assert complaint(tmp_path, "roles: {}\n").startswith(
        "1: no model is bound to generator, validator, dedup"
    )


def test_an_unknown_profile_lists_those_there_are(tmp_path: Path) -> None:
    load(tmp_path, GOOD)
    with pytest.raises(ConfigError, match=r"there is no profile 'gpt' \(there are: .*embedded.*mine.*\)"):
        load_profile("gpt", tmp_path)
    with pytest.raises(ConfigError, match="embedded"):
        load_profile("mine", None)


@pytest.mark.parametrize("name", ["../mine", "a/b", "", ".."])
def test_a_profile_name_cannot_leave_its_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="is not a name"):
        load_profile(name, tmp_path)


def test_ones_own_profile_goes_before_a_shipped_one(tmp_path: Path) -> None:
    load(tmp_path, GOOD, "embedded")
    assert load_profile("embedded", tmp_path).roles[Role.GENERATOR].model == "writer"
    assert load_profile("embedded", None).roles[Role.GENERATOR].provider == "embedded"


NAMES = sorted(path.stem for path in SHIPPED.glob("*.yaml"))


def bound(name: str) -> list[ModelSpec]:
    profile = load_profile(name, None)
    found = [profile.find(role, mode) for role in Role for mode in Mode]
    return [spec for spec in found if spec is not None]


@pytest.mark.parametrize("name", NAMES)
def test_every_shipped_profile_is_sound_and_described(name: str) -> None:
    profile = load_profile(name, None)
    assert profile.description
    for mode in Mode:
        generator, validator = profile.spec(Role.GENERATOR, mode), profile.spec(Role.VALIDATOR, mode)
        assert generator.model.casefold() != validator.model.casefold()


@pytest.mark.parametrize("name", NAMES)
def test_prices_of_a_shipped_profile_are_whole_or_left_out(name: str) -> None:
    told = {has_price(spec) for spec in bound(name)}
    assert told == {name not in {"vllm", "ollama"}}
    text = (SHIPPED / f"{name}.yaml").read_text()
    assert ("usd_per_million" in text) <= ("as found on 20" in text)


@pytest.mark.parametrize("name", NAMES)
def test_models_of_a_shipped_profile_are_on_offer(name: str) -> None:
    """By the lists in the SDKs: a retired model is noticed when the lock is renewed."""
    offered = {"openai": get_args(ChatModel), "anthropic": get_args(get_args(anthropic.types.Model)[0])}
    for spec in bound(name):
        assert spec.model in offered.get(spec.provider, (spec.model,))
        assert spec.model not in DEPRECATED_MODELS


def test_the_servers_of_the_vllm_profile_are_two() -> None:
    generator, validator, deduplicator = (load_profile("vllm", None).roles[role] for role in QUESTION_ROLES)
    assert (generator.model, generator.base_url, generator.temperature) == (
        "meta-llama/Meta-Llama-3.1-8B-Instruct",
        "http://localhost:8100/v1",
        0.7,
    )
    assert (validator.model, validator.base_url, validator.temperature) == (
        "Qwen/Qwen2.5-7B-Instruct",
        "http://localhost:8101/v1",
        0.0,
    )
    assert deduplicator == validator


def test_the_families_of_the_mixed_profile_differ() -> None:
    roles = load_profile("mixed", None).roles
    assert roles[Role.GENERATOR].provider != roles[Role.VALIDATOR].provider


def test_the_shipped_profiles_are_documented() -> None:
    text = (PROJECT_ROOT / "docs/profiles.md").read_text(encoding="utf-8")
    rows = {row[0].strip("`"): row[1:] for row in markdown.table(text, "| shipped profile ")}
    assert sorted(rows) == NAMES
    for name, row in rows.items():
        profile = load_profile(name, None)
        assert [cell.split("<br>")[0].strip("`") for cell in row[:3]] == [
            profile.roles[role].model for role in QUESTION_ROLES
        ]
        for spec in (*profile.roles.values(), *profile.visual.values()):
            assert f"`{spec.model}`" in " ".join(row)
            assert spec.api_key_env is None or f"`{spec.api_key_env}`" in row[3]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "openai, model: cheap",
            "openai_compatible, model: cheap, execution: batch",
            "deduplicator: openai_compatible:cheap has no batches (execution: batch is for openai, anthropic)",
        ),
        (
            "openai, model: cheap",
            "embedded, model: matcher, execution: batch",
            "deduplicator: embedded:matcher has no batches (execution: batch is for openai, anthropic)",
        ),
        (
            "model: cheap",
            "model: cheap, execution: batch, tool_calling: emulated",
            "deduplicator: openai:cheap: batches need tool_calling: native",
        ),
        (
            "model: painter",
            "model: painter, execution: batch",
            "generator: it needs many turns, but a batch has only one",
        ),
    ],
)
def test_batches_where_there_are_none_are_refused(tmp_path: Path, old: str, new: str, told: str) -> None:
    assert told in complaint(tmp_path, GOOD.replace(old, new))


def test_a_validator_and_a_deduplicator_may_use_batches(tmp_path: Path) -> None:
    text = GOOD.replace("temperature: 0", "execution: batch").replace("cheap", "cheap, execution: batch")
    load(tmp_path, text)
    assert load_profile("mine", tmp_path).spec(Role.DEDUPLICATOR, Mode.TEXTUAL).execution == "batch"


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (
            "  judge: {provider: anthropic, model: Writer}\n",
            "generator and judge are the same model (Writer)",
        ),
        (
            "  answerer: {provider: openai, model: speaker}\n  judge: {provider: x, model: speaker}\n",
            "answerer and judge are the same model (speaker)",
        ),
    ],
)
def test_a_model_may_not_judge_its_own_answers(tmp_path: Path, lines: str, told: str) -> None:
    assert told in complaint(tmp_path, GOOD.replace("visual:\n", f"{lines}visual:\n", 1))


def test_the_generator_answers_where_no_answerer_is_bound(tmp_path: Path) -> None:
    load(tmp_path, GOOD)
    profile = load_profile("mine", tmp_path)
    assert profile.find(Role.ANSWERER, Mode.TEXTUAL) == profile.spec(Role.GENERATOR, Mode.TEXTUAL)
    assert profile.find(Role.JUDGE, Mode.TEXTUAL) is None
    own = "  answerer: {provider: openai, model: speaker}\n"
    load(tmp_path, GOOD.replace("visual:\n", f"{own}visual:\n", 1))
    told = load_profile("mine", tmp_path).find(Role.ANSWERER, Mode.VISUAL)
    assert told is not None
    assert told.model == "speaker"


def exam_profile(**more: str) -> Profile:
    models = {"generator": "a", "validator": "b", "deduplicator": "c"} | more
    roles = {role: {"provider": "openai_compatible", "model": model} for role, model in models.items()}
    return Profile.model_validate({"roles": roles})


def test_exam_roles_have_stand_ins() -> None:
    def played(profile: Profile) -> list[str]:
        return [spec.model for role in EXAM_ROLES if (spec := profile.spec_or_fallback(role))]

    assert played(exam_profile()) == ["a", "a", "b", "b"]
    assert played(exam_profile(judge="j")) == ["a", "a", "b", "j"]
    assert played(exam_profile(designer="d", implementer="i", verifier="v", style_judge="s")) == [*"divs"]
    assert played(exam_profile(verifier="v")) == ["a", "a", "v", "v"]


def test_a_specialised_model_stands_in_for_nobody() -> None:
    found = load_profile("dry_run", cloze.PROFILE.parent)
    assert [found.spec_or_fallback(role) for role in EXAM_ROLES] == [None] * 4
    embedded = load_profile("embedded", None)
    assert [spec.model for role in EXAM_ROLES if (spec := embedded.spec_or_fallback(role))] == [
        "exam-designer",
        "exam-implementer",
        "exam-verifier",
        "exam-style-judge",
    ]


@pytest.mark.parametrize(
    "more", [{"implementer": "V ", "verifier": "v"}, {"implementer": "b"}, {"verifier": "a"}]
)
def test_a_verifier_may_not_be_its_implementer(more: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="implementer and verifier are the same model"):
        exam_profile(**more)


@pytest.mark.parametrize(
    ("more", "maker"),
    [
        ({"solver": "A"}, "scanner"),
        ({"solver": "v", "variant": "v"}, "variant"),
        ({"solver": "c", "converter": "c"}, "converter"),
    ],
)
def test_a_solver_may_not_be_the_maker_of_an_item(more: dict[str, str], maker: str) -> None:
    with pytest.raises(ValueError, match=f"{maker} and solver are the same model"):
        exam_profile(**more)


def test_a_solver_has_no_stand_in() -> None:
    assert Role.SOLVER not in problem_specs(exam_profile(), "mine")
    assert problem_specs(exam_profile(solver="s"), "mine")[Role.SOLVER].model == "s"


@pytest.mark.parametrize(
    ("url", "more", "free"),
    [
        ("http://localhost:8100/v1", "", True),
        ("http://127.0.0.1:8100/v1", "", True),
        ("http://192.168.3.4:8100/v1", "", True),
        ("http://vllm-judge:8101/v1", "", True),
        ("http://[::1]:8100/v1", "", True),
        ("http://localhost:8100/v1", ", usd_per_million_input: 0.1", False),
        ("http://localhost:8100/v1", ", usd_per_million_input: 0, usd_per_million_output: 0", True),
        ("http://localhost:8100/v1", ", api_key_env: SOME_KEY", False),
        ("https://api.example.com/v1", "", False),
        ("http://8.8.8.8/v1", "", False),
    ],
)
def test_models_on_local_servers_without_prices_are_free(
    tmp_path: Path, url: str, more: str, free: bool
) -> None:
    roles = "".join(
        f'  {role}: {{provider: openai_compatible, model: {role}, base_url: "{url}"{more}}}\n'
        for role in ("generator", "validator", "deduplicator")
    )
    (tmp_path / "local.yaml").write_text(f"roles:\n{roles}")
    assert is_free(load_profile("local", tmp_path)) is free
