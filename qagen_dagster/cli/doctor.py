"""`qagen doctor`: checks whether this machine, the configuration and the models are ready."""

import contextlib
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import metadata

import click

from qagen_dagster.cli.echo import echo
from qagen_dagster.cli.options import json_option, profile_option
from qagen_dagster.cli.output import print_json
from qagen_dagster.errors import ConfigError, QagenError, StoreError
from qagen_dagster.formats.ocr import tesseract_available
from qagen_dagster.latex.engine import MISSING, find_engine
from qagen_dagster.latex.limited_program import network_closed
from qagen_dagster.loop import ledger
from qagen_dagster.loop.dagster_home import open_home
from qagen_dagster.loop.profile_checkup import checkup
from qagen_dagster.loop.questions.stopping import room_notes
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models import embedders
from qagen_dagster.records.document import CorpusIndex
from qagen_dagster.settings import Settings, secret

Finding = tuple[str, bool | None, str]  # what is checked, result (None: undecided or optional), detail


@click.command()
@profile_option
@click.option("--offline", is_flag=True, help="Do not call models. Only check that their API keys are set.")
@json_option
@click.pass_obj
def doctor(settings: Settings, profile: str | None, offline: bool, as_json: bool) -> int:
    """Check the installation, the configuration and the models.

    Checks Python, packages, folders, the ledger, the Dagster instance, OCR, TeX, corpora and the profile. Exits with 1 if
    a check fails. A corrupt entry of the ledger is never used, so its model call is paid again.

    Each model of the profile gets up to six short questions: does it answer, call tools (also when it is forced to), read images and
    return structured output? Models that are shown documents also get a prompt as long as a run sends. This costs a few thousand tokens
    for each model, and the tokens of the longest document. --offline skips all calls.
    """
    findings: list[Finding] = []
    for finding in _findings(replace(settings, profile=profile or settings.profile), offline):
        findings.append(finding)
        if not as_json:
            what, good, detail = finding
            mark = {True: "ok  ", False: "FAIL", None: "-   "}[good]
            echo(f"{mark} {what}: {detail}")
    if as_json:
        print_json([{"check": what, "ok": good, "detail": detail} for what, good, detail in findings])
    return 1 if any(good is False for _, good, _ in findings) else 0


def _findings(settings: Settings, offline: bool) -> Iterator[Finding]:
    space = Workspace(settings)
    yield "python", sys.version_info >= (3, 11), platform.python_version()
    for package in ("dagster", "duckdb", "pymupdf", "openai", "anthropic"):
        yield package, True, metadata.version(package)
    yield _try(
        "embeddings", lambda: f"{embedders.shared().encode(['ready']).shape[1]} dimensions, on this CPU"
    )
    yield _ocr()
    yield _tex()
    stored = _try("store", lambda: _write_probe(space))
    yield stored
    if stored[1]:
        yield from _ledger(space)
    yield _try("dagster instance", lambda: _instance(settings))
    corpora = space.corpora
    yield "corpora", bool(corpora.corpora), f"{len(corpora.corpora)} valid in {settings.corpora}"
    for fault in corpora.faults:
        yield "corpus", False, str(fault)

    def roles() -> str:
        bound = space.profile(settings.profile).roles
        return ", ".join(f"{role.value} {spec.name}" for role, spec in bound.items())

    yield _try(f"profile {settings.profile}", roles)
    with contextlib.suppress(QagenError):
        profile = space.profile(settings.profile)
        sizes = [] if offline else _document_sizes(space)
        for who, found in checkup(profile, secret, state=settings.state, sizes=sizes, offline=offline):
            yield f"{who}: {found.what}", found.good, found.detail
        for corpus in corpora.corpora.values():
            for key, scenario in corpus.config.scenarios.items():
                if (scenario.profile or settings.profile) == settings.profile:
                    for note in room_notes(scenario, profile):
                        yield f"{corpus.key}/{key}", None, note


def _instance(settings: Settings) -> str:
    home = open_home(settings)
    if not (home / "dagster.yaml").is_file():
        raise ConfigError("there is no dagster.yaml", file=home)
    return str(home)


def _ocr() -> Finding:
    if tesseract_available():
        return "ocr", True, shutil.which("tesseract") or "tesseract"
    return (
        "ocr",
        None,
        "tesseract is not installed: scanned pages will have no text (visual mode still works)",
    )


def _tex() -> Finding:
    engine = find_engine()
    if engine is None:
        return "tex", None, MISSING
    network = "" if network_closed() else "; warning: on this system its network access cannot be blocked"
    return "tex", True, f"{engine.path} ({engine.version}){network}"


def _try(what: str, probe: Callable[[], str]) -> Finding:
    try:
        return what, True, probe()
    except (QagenError, OSError) as error:
        return what, False, str(error)


def _write_probe(space: Workspace) -> str:
    store = space.store
    store.write_bytes("doctor/probe", b"ready\n")
    if store.local_path("doctor/probe") is None and store.create("doctor/probe", b"ready\n"):
        raise StoreError(
            f"{store.root} ignores `If-None-Match: *`: machines may each pay for the same request"
        )
    return store.root


def _ledger(space: Workspace) -> Iterator[Finding]:
    """Check every entry of the ledger, and the records of all batches. Unusable entries and foreign files are only named."""
    found = ledger.check(space.store)
    yield "ledger", True, f"{found.whole:,} entries and {found.batches:,} records of batches are intact"
    for fault in found.corrupt:
        yield "ledger", False, f"{fault.path}: {fault.reason}"
    for fault in found.unusable:
        yield "ledger", None, f"{fault.path}: {fault.reason}"
    for path in found.foreign:
        yield "ledger", None, f"{path}: not a file of the ledger"


def _document_sizes(space: Workspace) -> list[int]:
    """The sizes of documents: in a parsed corpus in characters, else the bytes of its .txt and .md files."""
    sizes: list[int] = []
    for corpus in space.corpora.corpora.values():
        index = space.store.find_valid(CorpusIndex.key(corpus.key), CorpusIndex)
        if index is not None:
            sizes += [document.char_count for document in index.documents]
        elif corpus.documents_folder.is_dir():
            files = corpus.documents_folder.rglob("*.*")
            sizes += [file.stat().st_size for file in files if file.suffix in (".txt", ".md")]
    return sizes
