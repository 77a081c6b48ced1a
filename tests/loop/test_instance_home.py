from __future__ import annotations

import pytest

from qagen_dagster.errors import StoreError
from qagen_dagster.loop.instance_home import open_home
from qagen_dagster.settings import load_settings


def test_the_error_of_a_store_that_cannot_be_made_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    monkeypatch.setenv("QAGEN_ASSETS", "/proc/absent")
    with pytest.raises(StoreError, match=r"the store /proc/absent cannot be written: No such file"):
        open_home(load_settings())
