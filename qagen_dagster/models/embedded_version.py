"""The versions of the embedded models' rules.

A version is part of every fingerprint, so results of other rules count as results of another model. If a change of the rules
changes the submissions of a group of models, give the group a new version ("2", "3", ...) in the same change. Do so in no other
change, because a new version makes every stored result of the group stale. `tests/models/embedded/test_version.py` fails if
outputs change without a new version.
"""

# The first versions are digests of the files that held the rules, because older results have these digests as versions.
QUESTIONS_VERSION = "8"  # models "rules" and "matcher"; first 64a08149504d8350
ANSWERING_VERSION = "6"  # model "reader"; first 64a08149504d8350
EXAMS_VERSION = "5"  # models "exam-..."; first 052038541dec45bf
PROBLEMS_VERSION = "7104a66924eec6df"  # models "problem-..."

_BY_PREFIX = {
    "rules": QUESTIONS_VERSION,
    "matcher": QUESTIONS_VERSION,
    "reader": ANSWERING_VERSION,
    "exam": EXAMS_VERSION,
    "problem": PROBLEMS_VERSION,
}


def embedded_version(model: str) -> str:
    """The version of an embedded model's rules. A model without rules has QUESTIONS_VERSION."""
    return _BY_PREFIX.get(model.partition("-")[0], QUESTIONS_VERSION)
