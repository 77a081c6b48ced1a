"""Finds the folder of the Dagster instance. An instance belongs to one store, and has the partitions of that store."""

import contextlib
import os
from pathlib import Path
from uuid import uuid4

from qagen_dagster.errors import ConfigError, StoreError
from qagen_dagster.settings import PROJECT_ROOT, Settings, dagster_home
from qagen_dagster.store import Store

HOME = ".dagster_home"
OWNER = "qagen_store"  # a file of the instance with the URL of its store, or with the path of its store relative to the instance


def instance_home(settings: Settings) -> Path:
    """The folder that DAGSTER_HOME names, else `.dagster_home` of a local store other than the project's `assets`, else of the project."""
    inside = Store(settings.assets).local_path(HOME)
    elsewhere = inside is not None and inside.parent.resolve() != PROJECT_ROOT / "assets"
    return dagster_home() or (inside.resolve() if inside and elsewhere else PROJECT_ROOT / HOME)


def open_home(settings: Settings) -> Path:
    """The folder of the instance. It records that the instance belongs to the store of `settings`.

    Raises ConfigError if DAGSTER_HOME names no folder, and if the instance belongs to another store. Raises StoreError
    if the store cannot be written to.
    """
    Store(settings.assets).check_writable()
    home, usual = instance_home(settings), PROJECT_ROOT / HOME
    if dagster_home() is None and home != usual and not home.is_dir():
        try:
            home.mkdir(parents=True)
        except OSError as error:
            raise StoreError(f"the store {settings.assets} cannot be written: {error.strerror}") from None
        (home / "dagster.yaml").write_bytes((usual / "dagster.yaml").read_bytes())
    if not home.is_dir():
        raise ConfigError("is not a folder (DAGSTER_HOME)", file=home)
    check_owner(home, settings.assets)
    if not _owner(home):
        with contextlib.suppress(OSError):  # a read-only folder does not record its store
            own = home / f"{OWNER}.{uuid4().hex}"
            own.write_text(_place(home, settings.assets))
            own.replace(home / OWNER)  # in one step, because another process may be reading it
    return home


def check_owner(home: Path, assets: str) -> None:
    """Raise ConfigError if the instance belongs to another store than `assets`."""
    owner = _owner(home)
    if owner and owner != _place(home, assets):
        other = owner if "://" in owner else (home / owner).resolve()
        raise ConfigError(
            f"the Dagster instance {home} belongs to the store {other}, not to {assets}: "
            "set DAGSTER_HOME to the folder of another instance"
        )


def _owner(home: Path) -> str:
    """The recorded store of the instance; empty if none is recorded."""
    try:
        return (home / OWNER).read_text()
    except FileNotFoundError:
        return ""


def _place(home: Path, assets: str) -> str:
    local = Store(assets).local_path("")
    return assets if local is None else os.path.relpath(local.resolve(), home)
