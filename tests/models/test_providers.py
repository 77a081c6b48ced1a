from __future__ import annotations

from pathlib import Path

import pytest

from qagen_dagster.errors import ConfigError
from qagen_dagster.models.ledger import Ledger, LedgeredModel, LocalModel
from qagen_dagster.models.providers import PROVIDERS, build_model, build_provider
from qagen_dagster.models.spec import ModelSpec
from tests.models.conftest import KEY, ask
from tests.support.blobs import MemoryBlobs
from tests.support.wire_server import Reply, WireServer

MODELS = {"embedded": "rules", "scripted": "cloze"}


@pytest.mark.parametrize("name", list(PROVIDERS))
def test_every_provider_can_be_built(name: str, tmp_path: Path) -> None:
    spec = ModelSpec(provider=name, model=MODELS.get(name, "m"))
    model = build_model(spec, Ledger(MemoryBlobs()), lambda _: KEY, tmp_path)
    assert model.spec == spec
    assert isinstance(model, LocalModel if PROVIDERS[name].local else LedgeredModel)


@pytest.mark.parametrize(
    ("provider", "variable", "named"),
    [
        ("openai", None, "OPENAI_API_KEY"),
        ("anthropic", None, "ANTHROPIC_API_KEY"),
        ("anthropic", "OTHER", "OTHER"),
        ("openai_compatible", "MINE", "MINE"),
    ],
)
@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_missing_key_is_named(
    provider: str, variable: str | None, named: str, value: str | None, tmp_path: Path
) -> None:
    spec = ModelSpec(provider=provider, model="m", api_key_env=variable)
    with pytest.raises(ConfigError, match=f"set {named} in the environment"):
        build_model(spec, Ledger(MemoryBlobs()), lambda _: value, tmp_path)


def test_a_compatible_server_needs_no_key_and_gets_none_of_ours(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for variable in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(variable, KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/elsewhere")
    with WireServer([Reply(text="ok")]) as server:
        spec = ModelSpec(provider="openai_compatible", model="m", base_url=server.url("openai_compatible"))
        build_model(spec, Ledger(MemoryBlobs()), lambda _: None, tmp_path).respond(ask())
    assert KEY not in str(server.requests[0].headers)


def test_an_unknown_provider_is_refused() -> None:
    with pytest.raises(ConfigError, match="unknown provider 'nobody'; choose one of openai, "):
        build_provider(ModelSpec(provider="nobody", model="m"), lambda _: KEY)


def test_an_unknown_script_is_refused() -> None:
    with pytest.raises(ConfigError, match="no script 'nothing'; choose one of cloze"):
        build_provider(ModelSpec(provider="scripted", model="nothing"), lambda _: KEY)


@pytest.mark.parametrize(
    "url", ["localhost:8000/v1", "ftp://host", "http://", "", "http://[::1/v1", "http://host:99999/v1"]
)
@pytest.mark.parametrize("provider", ["openai", "openai_compatible", "anthropic"])
def test_an_address_that_is_none_is_refused(provider: str, url: str) -> None:
    with pytest.raises(ConfigError, match="is not an http"):
        build_provider(ModelSpec(provider=provider, model="m", base_url=url), lambda _: KEY)


@pytest.mark.parametrize(
    "key", ["sk-a\nb", "sk-a\r\nX-Other: b", "sk-\u00e4", "sk-\u200bab", "sk\x00a", "\u201csk-ab\u201d"]
)
@pytest.mark.parametrize("provider", ["openai", "openai_compatible", "anthropic"])
def test_a_key_that_no_header_can_hold_is_named_and_not_shown(provider: str, key: str) -> None:
    spec = ModelSpec(provider=provider, model="m", base_url="http://h", api_key_env="MINE")
    with pytest.raises(ConfigError, match="the key in MINE contains") as failed:
        build_provider(spec, lambda _: key)
    assert (failed.value.key, "sk" in str(failed.value)) == ("api_key_env", False)


@pytest.mark.parametrize(
    ("variable", "value"), [("ALL_PROXY", "socks://h:1"), ("SSL_CERT_FILE", "/nonexistent")]
)
@pytest.mark.parametrize("provider", ["openai", "openai_compatible", "anthropic"])
def test_a_proxy_or_certificate_that_cannot_be_used_is_named(
    provider: str, variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigError) as failed:
        build_provider(ModelSpec(provider=provider, model="m", base_url="http://h"), lambda _: KEY)
    assert failed.value.key == variable


@pytest.mark.parametrize("value", ["http://127.0.0.1:9/", "socks://127.0.0.1:9/", "socks5://h", "no proxy"])
@pytest.mark.parametrize("provider", ["openai", "openai_compatible", "anthropic"])
def test_a_server_on_this_machine_is_not_asked_through_a_proxy(
    provider: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("HTTP_PROXY", "ALL_PROXY", "SSL_CERT_FILE"):
        monkeypatch.setenv(variable, value)
    with WireServer(then=Reply(text="here")) as server:
        spec = ModelSpec(provider=provider, model="m", base_url=server.url(provider))
        found = build_provider(spec, lambda _: KEY)
        assert found.read(found.send(ask())).message.text == "here"
