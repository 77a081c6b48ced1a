from __future__ import annotations

from hypothesis import settings

# One machine's bad day must not fail a test, and a run must be repeatable: no deadline, no random seed.
# `pytest --hypothesis-profile=explore` looks further.
settings.register_profile("everyday", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=2_000)
settings.load_profile("everyday")
