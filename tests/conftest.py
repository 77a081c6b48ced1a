from __future__ import annotations

import gc
import os
import signal
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

# One machine's bad day must not fail a test, and a run must be repeatable: no deadline, no random seed.
# `pytest --hypothesis-profile=explore` looks further; `make test-long` runs all properties with `long`.
settings.register_profile("everyday", deadline=None, derandomize=True, max_examples=25)
settings.register_profile("long", deadline=None, derandomize=True, max_examples=240)
settings.register_profile("explore", deadline=None, max_examples=2_000)
settings.load_profile("everyday")

# A shell starts background jobs with SIGINT ignored, and commands that tests interrupt would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ["QAGEN_SCRIPTS"] = "tests.support.cloze"  # for scripted models in this process

# Importing everything makes a million objects that stay: nobody looks through them meanwhile, nor in each test.
gc.disable()

# The longest tests begin first, so that no process is left with one of them when the others are done.
FIRST = [Path(__file__).with_name(folder) for folder in ("e2e", "cli", "defs")]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: _turn(item.path))


@cache
def _turn(file: Path) -> int:
    return next((turn for turn, folder in enumerate(FIRST) if folder in file.parents), len(FIRST))


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_sessionfinish() -> None:
    gc.collect()  # clients that were left in circles end before the modules that they need
