from __future__ import annotations

import gc

from hypothesis import settings

# One machine's bad day must not fail a test, and a run must be repeatable: no deadline, no random seed.
# `pytest --hypothesis-profile=explore` looks further.
settings.register_profile("everyday", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=2_000)
settings.load_profile("everyday")

# Importing everything makes a million objects that stay: nobody looks through them meanwhile, nor in each test.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()
