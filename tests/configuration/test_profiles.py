from __future__ import annotations

from pathlib import Path

import pytest

from qagen_dagster.configuration.profiles import SHIPPED, Role, load_profile
from qagen_dagster.errors import ConfigError
from qagen_dagster.records.ids import Mode

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


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_profile_is_sound_and_described(path: Path) -> None:
    assert load_profile(path.stem, None).description
