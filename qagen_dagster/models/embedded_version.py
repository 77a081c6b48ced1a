"""The versions of the embedded models' rules.

A version is part of every fingerprint, so results of other rules count as made by another model. Give a group of models a
new version ("2", "3", ...) in the same change as rules that alter what they submit, and in no other: a new version makes
every stored result of the group stale. `tests/models/embedded/test_version.py` fails if outputs change without one.
"""

from __future__ import annotations

# The first versions are digests of the files that held the rules, because results made before carry these.
QUESTIONS_VERSION = "2"  # models "rules" and "matcher"; first 64a08149504d8350
ANSWERING_VERSION = "2"  # model "reader"; first 64a08149504d8350
EXAMS_VERSION = "052038541dec45bf"  # models "exam-..."
PROBLEMS_VERSION = "7104a66924eec6df"  # models "problem-..."

_BY_PREFIX = {
    "rules": QUESTIONS_VERSION,
    "matcher": QUESTIONS_VERSION,
    "reader": ANSWERING_VERSION,
    "exam": EXAMS_VERSION,
    "problem": PROBLEMS_VERSION,
}


def embedded_version(model: str) -> str:
    """The version of the rules behind an embedded model. A name without rules has the version of the questions."""
    return _BY_PREFIX.get(model.partition("-")[0], QUESTIONS_VERSION)
