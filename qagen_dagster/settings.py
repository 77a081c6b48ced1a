"""Reads the environment variables. No other module does.

The variables set the folders, the default profile, the limits, and how much runs in parallel. Nothing is read at import.
Secrets are read one at a time and never stored. The schedule is an option of the component (`components.py`).
"""

import math
import os
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import proxy_bypass_environment  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]

from qagen_dagster.errors import ConfigError

MAX_USD, MAX_USD_PER_DAY = "QAGEN_AUTOMATION_MAX_USD", "QAGEN_AUTOMATION_MAX_USD_PER_DAY"
INCLUDE, NOTHING = "QAGEN_INCLUDE", "none"
PARSER_SECONDS = 300.0  # limit of processor time for one document
PARSER_MEMORY_MB = 4096
OPTIONAL = ("grading", "evaluation", "exams", "problems")
_PACKAGE = Path(__file__).resolve().parent
PROJECT_ROOT = _PACKAGE.parent
DOCS = next((one for one in (_PACKAGE / "docs", PROJECT_ROOT / "docs") if one.is_dir()), _PACKAGE / "docs")
EXECUTORS = ("in_process", "multiprocess", "celery", "k8s")
CELERY_BROKER, CELERY_BACKEND = "QAGEN_CELERY_BROKER", "QAGEN_CELERY_BACKEND"


def _user_state() -> Path:
    """The default folder for the rate limits that the processes of this user share. It may be deleted at any time."""
    return Path(tempfile.gettempdir()).resolve() / f"qagen-{os.getuid()}"


@dataclass(frozen=True)
class Settings:
    """The settings of a run that are not in its corpora and profiles.

    Attributes:
        corpora: folder of the corpora, read-only.
        assets: root of the store, a path or an fsspec URL.
        profile: name of the default profile.
        profiles: folder of further profiles, which replace shipped ones of the same names; None: only shipped profiles are used.
        document_workers: for question sets, the maximum number of model calls in flight in one process. For other products, the maximum
            number of pieces of work that one op does at once.
        parser_workers: number of parser processes.
        parser_seconds: limit of processor time for parsing one document, in seconds.
        parser_memory_mb: memory limit of one parser process (address space), in MB.
        state: local folder through which the processes of this user share the rate limits of models.
        shard_size: documents or problems per op. None: 1 document or `document_workers` problems per op, and more if there would
            otherwise be more than 32 ops.
        automation_max_usd: limit in US dollars for the runs that one tick of a sensor or schedule launches.
        automation_max_usd_per_day: limit for all ticks of a day (UTC) together. If a limit is None, automation refuses paid models.
        optional: the products of OPTIONAL that are made. The others never count as out of date.
    """

    corpora: Path
    assets: str
    profile: str = "embedded"
    profiles: Path | None = None
    document_workers: int = 8
    parser_workers: int = 2
    parser_seconds: float = PARSER_SECONDS
    parser_memory_mb: int = PARSER_MEMORY_MB
    state: Path = field(default_factory=_user_state)
    shard_size: int | None = None
    automation_max_usd: float | None = None
    automation_max_usd_per_day: float | None = None
    optional: tuple[str, ...] = OPTIONAL

    def __post_init__(self) -> None:
        for sign in ("::", "?"):  # a chain of URLs for fsspec, a wildcard for DuckDB
            if sign in self.assets:
                raise ConfigError(f"the root of the store must not contain {sign!r}: {self.assets}")


def load_settings(environ: Mapping[str, str] | None = None) -> Settings:
    """Read the `QAGEN_*` variables. Raises ConfigError for an invalid value."""
    env = os.environ if environ is None else environ
    profiles = env.get("QAGEN_PROFILES")
    state = env.get("QAGEN_STATE")
    shard_size = _whole_number(env, "QAGEN_SHARD_SIZE", 0)
    return Settings(
        corpora=Path(env.get("QAGEN_CORPORA") or PROJECT_ROOT / "corpora").expanduser().resolve(),
        assets=env.get("QAGEN_ASSETS") or str(PROJECT_ROOT / "assets"),
        profile=env.get("QAGEN_PROFILE") or "embedded",
        profiles=Path(profiles).expanduser().resolve() if profiles else None,
        document_workers=_whole_number(env, "QAGEN_DOCUMENT_WORKERS", 8),
        parser_workers=_whole_number(env, "QAGEN_PARSER_WORKERS", min(4, os.cpu_count() or 1)),
        parser_seconds=float(_whole_number(env, "QAGEN_PARSER_SECONDS", int(PARSER_SECONDS))),
        parser_memory_mb=_whole_number(env, "QAGEN_PARSER_MEMORY_MB", PARSER_MEMORY_MB),
        state=Path(state).expanduser().resolve() if state else _user_state(),
        shard_size=shard_size or None,
        automation_max_usd=_dollars(env, MAX_USD),
        automation_max_usd_per_day=_dollars(env, MAX_USD_PER_DAY),
        optional=_included(env.get(INCLUDE, "")),
    )


def secret(name: str) -> str | None:
    """The value of an environment variable that holds a secret; None when it is not set or empty. Do not store the value."""
    return os.environ.get(name) or None


_PROXIES = tuple(
    name for upper in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY") for name in (upper, upper.lower())
)
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_KEY_LOG = "SSLKEYLOGFILE"  # names the file to which every TLS client writes its keys
OTHER_CERTIFICATES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")  # read by clients of stores in buckets


def network_faults(
    more: tuple[str, ...] = (), environ: Mapping[str, str] | None = None, *, url: str = "https://"
) -> list[tuple[str, str]]:
    """The variables of proxies and certificates whose values no client can use, with the reasons, which do not quote passwords.

    `more` names further variables of certificates. Variables that do not matter for requests to the server of `url` are left out.
    """
    env, direct = os.environ if environ is None else environ, is_loopback(url)
    proxies = () if direct else _PROXIES
    certificates = () if direct and not url.startswith("https:") else (*_CERTIFICATES, *more)
    found = [(name, _proxy_fault(env[name].strip())) for name in proxies if env.get(name, "").strip()]
    found += [(name, _certificates_fault(name, Path(env[name]))) for name in certificates if env.get(name)]
    found += [(_KEY_LOG, _key_log_fault(Path(env[_KEY_LOG])))] if certificates and env.get(_KEY_LOG) else []
    return [(name, fault) for name, fault in found if fault is not None]


def proxy_variable(url: str, environ: Mapping[str, str] | None = None) -> str | None:
    """The variable with the proxy through which clients reach `url`; None if they connect to the server directly."""
    env, parts = os.environ if environ is None else environ, urlsplit(url)
    direct = {"no": env.get("no_proxy") or env.get("NO_PROXY", "")}
    if is_loopback(url) or proxy_bypass_environment(parts.netloc, direct):
        return None
    names = (f"{parts.scheme}_proxy", f"{parts.scheme}_proxy".upper(), "all_proxy", "ALL_PROXY")
    return next((name for name in names if env.get(name)), None)


def outside_ascii(prefix: str) -> list[str]:
    """The variables that begin with `prefix` and whose values have characters outside ASCII, which no header can carry."""
    return sorted(
        name for name, value in os.environ.items() if name.startswith(prefix) and not value.isascii()
    )


def is_loopback(url: str) -> bool:
    """Whether the server of `url` is on this machine. Requests to it never use a proxy."""
    host = ""
    try:
        host = (urlsplit(url).hostname or "").rstrip(".")
        address = ip_address(host)
    except ValueError:  # the URL is invalid, or its host is a name
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def is_local(url: str) -> bool:
    """Whether a URL names this machine, a private address, or a host name that is not in public DNS, such as the name of a container."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    try:
        return is_loopback(url) or ip_address(host).is_private
    except ValueError:
        return bool(host) and (
            "." not in host or host.endswith((".local", ".internal", ".lan", ".home.arpa"))
        )


def _proxy_fault(value: str) -> str | None:
    url = value if "://" in value else f"http://{value}"
    scheme = url.partition("://")[0].lower()
    if scheme not in ("http", "https", "socks5", "socks5h"):
        return f"no client supports {scheme}:// proxies; use http://, https:// or socks5://, or unset it"
    if scheme.startswith("socks") and find_spec("socksio") is None:
        return f"a {scheme}:// proxy needs the package socksio: install it, use an http:// proxy, or unset it"
    try:
        whole = bool(urlsplit(url).hostname) and urlsplit(url).port != 0
    except ValueError:
        whole = False
    return None if whole else "this is not the address of a proxy, http://host:port; correct or unset it"


@cache
def _certificates_fault(variable: str, path: Path) -> str | None:
    if path.is_dir() and variable != "SSL_CERT_FILE":
        return None
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=path)
    except FileNotFoundError:
        return f"there is no {path}; correct or unset it"
    except OSError as error:
        return f"{path} has no certificates that can be read ({error.strerror or error}); correct or unset it"
    return None


def _key_log_fault(path: Path) -> str | None:
    written = path if path.exists() else path.parent
    usable = path.parent.is_dir() and not path.is_dir() and os.access(written, os.W_OK)
    return None if usable else f"{path} cannot be written; correct or unset it"


def document_password(variable: str) -> str:
    """The document password in an environment variable. Raises ConfigError when it is not set or empty."""
    value = secret(variable)
    if value is None:
        raise ConfigError(f"the environment variable {variable} (a document password) is not set")
    return value


def export(settings: Settings) -> dict[str, str]:
    """The environment variables that give another process the same settings."""
    values = {
        "QAGEN_CORPORA": str(settings.corpora),
        "QAGEN_ASSETS": settings.assets,
        "QAGEN_PROFILE": settings.profile,
        "QAGEN_DOCUMENT_WORKERS": str(settings.document_workers),
        "QAGEN_PARSER_WORKERS": str(settings.parser_workers),
        "QAGEN_PARSER_SECONDS": f"{settings.parser_seconds:.0f}",
        "QAGEN_PARSER_MEMORY_MB": str(settings.parser_memory_mb),
        "QAGEN_STATE": str(settings.state),
        "QAGEN_SHARD_SIZE": str(settings.shard_size or ""),
        MAX_USD: _text(settings.automation_max_usd),
        MAX_USD_PER_DAY: _text(settings.automation_max_usd_per_day),
        INCLUDE: " ".join(settings.optional) or NOTHING,
    }
    if settings.profiles is not None:
        values["QAGEN_PROFILES"] = str(settings.profiles)
    return values


def apply(values: Mapping[str, str]) -> None:
    """Set environment variables of this process, for libraries and definitions that load later."""
    os.environ.update(values)


def has_columns() -> bool:
    """Whether the variable COLUMNS sets the width of what commands print."""
    return "COLUMNS" in os.environ


def dagster_home() -> Path | None:
    """The folder that `DAGSTER_HOME` names; None when it is not set or empty."""
    chosen = os.environ.get("DAGSTER_HOME")
    return Path(chosen).expanduser().resolve() if chosen else None


def executor() -> str:
    """The executor, which decides where Dagster runs ops: `QAGEN_EXECUTOR`. Raises ConfigError if it is not one of EXECUTORS."""
    name = os.environ.get("QAGEN_EXECUTOR") or EXECUTORS[0]
    if name not in EXECUTORS:
        raise ConfigError(f"QAGEN_EXECUTOR={name!r} is not one of {', '.join(EXECUTORS)}")
    return name


def scripts() -> str | None:
    """The module whose dictionary `SCRIPTS` has the functions of scripted models (QAGEN_SCRIPTS); None without it."""
    return os.environ.get("QAGEN_SCRIPTS") or None


def op_seconds() -> int:
    """The seconds after which Celery considers the worker of an op dead (QAGEN_OP_SECONDS). Raises ConfigError for an invalid value."""
    return _whole_number(os.environ, "QAGEN_OP_SECONDS", 3600)


def _text(value: float | None) -> str:
    return "" if value is None else str(value)


def _included(raw: str) -> tuple[str, ...]:
    names = {*raw.replace(",", " ").split()} or {*OPTIONAL}
    if names != {NOTHING} and not names <= {*OPTIONAL}:
        raise ConfigError(f"{INCLUDE}={raw!r} may name {', '.join(OPTIONAL)}, or be {NOTHING}")
    return tuple(one for one in OPTIONAL if one in names)


def _dollars(env: Mapping[str, str], name: str) -> float | None:
    raw = env.get(name, "").strip()
    try:
        value = float(raw) if raw else None
    except ValueError:
        value = math.nan
    if value is not None and not (math.isfinite(value) and value >= 0):
        raise ConfigError(f"{name}={raw!r} is not an amount in US dollars")
    return value


def _whole_number(env: Mapping[str, str], name: str, default: int) -> int:
    raw = env.get(name)
    if raw is None or not raw.strip():
        return default
    if not raw.strip().isdecimal() or (int(raw) == 0 and default != 0):
        raise ConfigError(f"{name}={raw!r} is not a positive whole number")
    return int(raw)
