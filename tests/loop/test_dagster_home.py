from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from qagen_dagster.errors import StoreError
from qagen_dagster.loop.dagster_home import OWNER, open_home
from qagen_dagster.settings import Settings, load_settings


def test_the_error_of_a_store_that_cannot_be_made_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    monkeypatch.setenv("QAGEN_ASSETS", "/proc/absent")
    with pytest.raises(StoreError, match=r"the store /proc/absent cannot be written: No such file"):
        open_home(load_settings())


def test_processes_that_begin_together_agree_on_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, assets = tmp_path / "home", tmp_path / "assets"
    home.mkdir()
    monkeypatch.setenv("DAGSTER_HOME", str(home))
    chosen = Settings(corpora=tmp_path, assets=str(assets))
    with ThreadPoolExecutor(8) as threads:
        for _ in range(200):
            (home / OWNER).unlink(missing_ok=True)
            assert set(threads.map(lambda _: open_home(chosen), range(8))) == {home}
    assert [file.name for file in home.iterdir()] == [OWNER]


def test_an_empty_record_of_the_store_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    (tmp_path / OWNER).touch()
    open_home(Settings(corpora=tmp_path, assets=str(tmp_path / "assets")))
    assert (tmp_path / OWNER).read_text() == "assets"
