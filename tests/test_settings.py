from __future__ import annotations

from pathlib import Path

import certifi
import pytest

from qagen_dagster.errors import ConfigError
from qagen_dagster.settings import (
    OPTIONAL,
    OTHER_CERTIFICATES,
    PROJECT_ROOT,
    apply,
    dagster_home,
    document_password,
    export,
    is_local,
    load_settings,
    network_faults,
    proxy_variable,
    secret,
)

NUMBERS = {
    "QAGEN_DOCUMENT_WORKERS": "document_workers",
    "QAGEN_PARSER_WORKERS": "parser_workers",
    "QAGEN_PARSER_SECONDS": "parser_seconds",
    "QAGEN_PARSER_MEMORY_MB": "parser_memory_mb",
    "QAGEN_SHARD_SIZE": "shard_size",
}


def test_without_variables_it_is_the_project_itself() -> None:
    found = load_settings({})
    assert (found.corpora, found.assets) == (PROJECT_ROOT / "corpora", str(PROJECT_ROOT / "assets"))
    assert (found.profile, found.profiles, found.shard_size) == ("embedded", None, None)
    assert found.parser_workers >= 1


def test_variables_are_read(tmp_path: Path) -> None:
    found = load_settings(
        {
            "QAGEN_CORPORA": str(tmp_path / "a" / ".." / "b"),
            "QAGEN_ASSETS": "s3://bucket/qa",
            "QAGEN_PROFILE": "mine",
            "QAGEN_PROFILES": str(tmp_path),
            "QAGEN_STATE": str(tmp_path / "a" / ".." / "state"),
        }
    )
    assert found.state == tmp_path / "state"
    assert (found.corpora, found.assets) == (tmp_path / "b", "s3://bucket/qa")
    assert (found.profile, found.profiles) == ("mine", tmp_path)


@pytest.mark.parametrize(("name", "attribute"), NUMBERS.items())
def test_numbers_are_whole_and_positive(name: str, attribute: str) -> None:
    assert getattr(load_settings({name: " 3 "}), attribute) == 3
    assert getattr(load_settings({name: ""}), attribute) == getattr(load_settings({}), attribute)
    for wrong in ("three", "-1", "1.5", "1e3", "\u00b2"):
        with pytest.raises(ConfigError, match=f"{name}=.* is not a positive whole number"):
            load_settings({name: wrong})


DOLLARS = {
    "QAGEN_AUTOMATION_MAX_USD": "automation_max_usd",
    "QAGEN_AUTOMATION_MAX_USD_PER_DAY": "automation_max_usd_per_day",
}


@pytest.mark.parametrize(("name", "attribute"), DOLLARS.items())
def test_amounts_are_dollars_or_not_set(name: str, attribute: str) -> None:
    for text, value in ((" 1.5 ", 1.5), ("0", 0.0), ("", None)):
        assert getattr(load_settings({name: text}), attribute) == value
    for wrong in ("two", "-1", "nan", "inf"):
        with pytest.raises(ConfigError, match=f"{name}=.* is not an amount in US dollars"):
            load_settings({name: wrong})


@pytest.mark.parametrize("name", [name for name in NUMBERS if name != "QAGEN_SHARD_SIZE"])
def test_nothing_runs_with_no_workers_or_limits(name: str) -> None:
    with pytest.raises(ConfigError):
        load_settings({name: "0"})


def test_empty_variables_count_as_unset() -> None:
    empty = dict.fromkeys(
        (
            "QAGEN_CORPORA",
            "QAGEN_ASSETS",
            "QAGEN_PROFILE",
            "QAGEN_PROFILES",
            "QAGEN_STATE",
            *NUMBERS,
            *DOLLARS,
        ),
        "",
    )
    assert load_settings(empty) == load_settings({})


def test_another_process_can_be_given_the_same(tmp_path: Path) -> None:
    chosen = load_settings(
        {
            "QAGEN_CORPORA": str(tmp_path),
            "QAGEN_ASSETS": "memory://x",
            "QAGEN_PROFILE": "p",
            "QAGEN_STATE": str(tmp_path / "state"),
            **dict.fromkeys((*NUMBERS, *DOLLARS), "3"),
        }
    )
    assert load_settings(export(chosen)) == chosen
    with_folder = load_settings({"QAGEN_PROFILES": str(tmp_path)})
    assert load_settings(export(with_folder)) == with_folder


def test_secrets_are_read_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THE_SECRET", raising=False)
    assert secret("THE_SECRET") is None
    with pytest.raises(
        ConfigError, match=r"environment variable THE_SECRET \(a document password\) is not set"
    ):
        document_password("THE_SECRET")
    monkeypatch.setenv("THE_SECRET", "")
    assert secret("THE_SECRET") is None
    monkeypatch.setenv("THE_SECRET", "wool")
    assert (secret("THE_SECRET"), document_password("THE_SECRET")) == ("wool", "wool")


def test_values_can_be_put_into_this_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("QAGEN_PROFILE", "before")
    apply({"QAGEN_PROFILE": "after"})
    assert load_settings().profile == "after"
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    assert dagster_home() == tmp_path
    monkeypatch.delenv("DAGSTER_HOME")
    assert dagster_home() is None


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("ALL_PROXY", "socks://127.0.0.1:7897/", "socks://"),
        ("all_proxy", "socks5://127.0.0.1:7897/", "socksio"),
        ("HTTPS_PROXY", "socks5h://h:1", "socksio"),
        ("http_proxy", "ftp://user:word@h:1", "ftp://"),
        ("HTTP_PROXY", "http://h:port", "address"),
        ("HTTP_PROXY", "http://", "address"),
        ("SSL_CERT_FILE", "/nonexistent/ca.pem", "there is no /nonexistent/ca.pem"),
        ("SSL_CERT_DIR", "/nonexistent", "there is no /nonexistent"),
        ("SSL_CERT_FILE", __file__, "no certificates"),
        ("SSL_CERT_FILE", "/tmp", "Is a directory"),
        ("SSLKEYLOGFILE", "/nonexistent/keys", "cannot be written"),
        ("SSLKEYLOGFILE", "/tmp", "cannot be written"),
        ("REQUESTS_CA_BUNDLE", "/nonexistent/ca.pem", "there is no"),
    ],
)
def test_variables_that_no_client_can_use(variable: str, value: str, told: str) -> None:
    ((name, fault),) = network_faults(OTHER_CERTIFICATES, {variable: value})
    assert (name, told in fault, "word" in fault) == (variable, True, False)


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("http://127.0.0.1:8000/v1", []),
        ("https://localhost:8000/v1", ["SSL_CERT_FILE"]),
        ("http://api.example/v1", ["ALL_PROXY", "SSL_CERT_FILE"]),
        ("https://api.example/v1", ["ALL_PROXY", "SSL_CERT_FILE"]),
    ],
)
def test_faults_of_variables_that_a_client_does_not_read_do_not_count(url: str, named: list[str]) -> None:
    env = {"ALL_PROXY": "socks://h:1", "SSL_CERT_FILE": "/nonexistent"}
    assert [name for name, _ in network_faults((), env, url=url)] == named


def test_a_file_of_keys_is_not_taken_for_one_of_certificates(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SSLKEYLOGFILE", "/nonexistent/keys")
    env = {"SSLKEYLOGFILE": "/nonexistent/keys", "SSL_CERT_FILE": certifi.where()}
    assert [name for name, _ in network_faults((), env)] == ["SSLKEYLOGFILE"]
    assert network_faults((), {"SSLKEYLOGFILE": str(tmp_path / "keys")}) == []


def test_variables_that_clients_can_use(tmp_path: Path) -> None:
    good = {"HTTP_PROXY": "proxy.example:3128", "https_proxy": "http://u:p@h:1/", "ALL_PROXY": " "}
    assert (
        network_faults(OTHER_CERTIFICATES, {**good, "SSL_CERT_DIR": str(tmp_path), "SSL_CERT_FILE": ""}) == []
    )


@pytest.mark.parametrize(
    ("url", "variable"),
    [
        ("https://api.example/v1", "https_proxy"),
        ("http://api.example/v1", "ALL_PROXY"),
        ("https://in.house:8000/v1", None),
        ("http://127.0.0.1:8000/v1", None),
        ("http://127.9.9.9/v1", None),
        ("http://[::1]:8000/v1", None),
        ("http://localhost:1/v1", None),
        ("http://Models.LOCALHOST.:1/v1", None),
        ("http://0.0.0.0:1/v1", None),
        ("http://localhost.example/v1", "ALL_PROXY"),
    ],
)
def test_the_proxy_of_an_address(url: str, variable: str | None) -> None:
    env = {"ALL_PROXY": "http://p:1", "https_proxy": "http://q:1", "NO_PROXY": "in.house"}
    assert proxy_variable(url, env) == variable


@pytest.mark.parametrize(
    "host", ["host.docker.internal", "vllm.models.svc.cluster.local.", "gpu.LAN", "vllm"]
)
def test_a_name_that_no_public_dns_has_is_local(host: str) -> None:
    assert is_local(f"http://{host}:8000/v1")
    assert not is_local(f"http://{host.strip('.')}.example.com/v1")


@pytest.mark.parametrize(
    ("given", "expected"),
    [("", OPTIONAL), ("none", ()), ("exams", ("exams",)), ("problems, grading", ("grading", "problems"))],
)
def test_optional_products_can_be_left_out(given: str, expected: tuple[str, ...]) -> None:
    found = load_settings({"QAGEN_INCLUDE": given})
    assert found.optional == expected
    assert load_settings(export(found)) == found


@pytest.mark.parametrize("given", ["grades", "none, exams", "Grading"])
def test_an_unknown_optional_product_is_refused(given: str) -> None:
    with pytest.raises(ConfigError, match="QAGEN_INCLUDE="):
        load_settings({"QAGEN_INCLUDE": given})
