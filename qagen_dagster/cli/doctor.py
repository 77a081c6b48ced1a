"""`qagen doctor`: whether this machine and configuration are ready, and what would fail."""

from __future__ import annotations

import contextlib
import json
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from importlib import metadata

import click

from qagen_dagster.cli.options import json_option, profile_option, with_profile
from qagen_dagster.errors import QagenError
from qagen_dagster.formats.ocr import tesseract_available
from qagen_dagster.latex.engine import MISSING, find_engine
from qagen_dagster.latex.sandbox import network_closed
from qagen_dagster.loop.checkup import checkup
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.vectors import minilm
from qagen_dagster.settings import Settings, dagster_home, secret

Finding = tuple[str, bool | None, str]  # what, good (None: optional and absent), detail


@click.command()
@profile_option
@click.option("--offline", is_flag=True, help="Ask no model: nothing is paid, keys are only looked for.")
@json_option
@click.pass_obj
def doctor(settings: Settings, profile: str | None, offline: bool, as_json: bool) -> int:
    """Check Python, packages, folders, the instance, OCR, TeX, corpora and the profile. Exit 1 if one fails.

    Each model of the profile is asked up to five short questions: does it answer, call tools, see pictures, keep to
    a form? That costs a few thousand tokens at most; --offline leaves it out.
    """
    findings: list[Finding] = []
    for finding in _findings(with_profile(settings, profile), offline):
        findings.append(finding)
        if not as_json:
            what, good, detail = finding
            mark = {True: "ok ", False: "BAD", None: "-  "}[good]
            click.echo(f"{mark} {what}: {detail}")
    if as_json:
        click.echo(
            json.dumps(
                [{"check": what, "ok": good, "detail": detail} for what, good, detail in findings], indent=2
            )
        )
    return 1 if any(good is False for _, good, _ in findings) else 0


def _findings(settings: Settings, offline: bool) -> Iterator[Finding]:
    space = Workspace(settings)
    yield "python", sys.version_info >= (3, 11), platform.python_version()
    for package in ("dagster", "duckdb", "pymupdf", "openai", "anthropic"):
        yield package, True, metadata.version(package)
    yield _try("embeddings", lambda: f"{minilm.shared().encode(['ready']).shape[1]} dimensions, on this CPU")
    yield _ocr()
    yield _tex()
    yield _try("store", lambda: _write_probe(space))
    home = dagster_home()
    yield "dagster instance", (home / "dagster.yaml").is_file(), str(home)
    corpora = space.corpora
    yield "corpora", bool(corpora.corpora), f"{len(corpora.corpora)} readable in {settings.corpora}"
    for fault in corpora.faults:
        yield "corpus", False, str(fault)
    yield _try(f"profile {settings.profile}", lambda: _roles(space))
    with contextlib.suppress(QagenError):
        profile = space.profile(settings.profile)
        for who, found in checkup(profile, secret, state=settings.state, offline=offline):
            yield f"{who}: {found.what}", found.good, found.detail


def _ocr() -> Finding:
    if tesseract_available():
        return "ocr", True, shutil.which("tesseract") or "tesseract"
    return "ocr", None, "tesseract is not installed: scanned pages have no text (visual mode works)"


def _tex() -> Finding:
    engine = find_engine()
    if engine is None:
        return "tex", None, MISSING
    network = "" if network_closed() else "; this system does not let it run without a network"
    return "tex", True, f"{engine.path} ({engine.version}){network}"


def _try(what: str, probe: Callable[[], str]) -> Finding:
    try:
        return what, True, probe()
    except (QagenError, OSError) as error:
        return what, False, str(error)


def _write_probe(space: Workspace) -> str:
    space.store.write_bytes("doctor/probe", b"ready\n")
    return space.store.root


def _roles(space: Workspace) -> str:
    profile = space.profile(space.settings.profile)
    return ", ".join(f"{role.value} {spec.name}" for role, spec in profile.roles.items())
