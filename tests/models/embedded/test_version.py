"""The version of each group of embedded models moves with what its models submit, and with nothing else."""

from __future__ import annotations

import pytest

from qagen_dagster.models.embedded.provider import MECHANISMS
from qagen_dagster.models.spec import (
    ANSWERING_VERSION,
    EXAMS_VERSION,
    PROBLEMS_VERSION,
    QUESTIONS_VERSION,
    embedded_version,
)
from tests.models.embedded.version_inputs import GROUPS, current, recorded

RECORDS = "run `python -m tests.models.embedded.version_inputs` to record the new outputs"


@pytest.mark.parametrize("group", GROUPS)
def test_outputs_change_only_with_the_version(group: str) -> None:
    found, before = current(group), recorded()[group]
    constant = f"{group.upper()}_VERSION in models/spec.py"
    if found["version"] == before["version"]:
        assert found["outputs"] == before["outputs"], (
            f"the embedded models of {group} submit something else than before. If that is not wanted, undo it. If it is, "
            f"raise {constant}, say in the changelog that stored results become stale, and {RECORDS}."
        )
    else:
        assert found["outputs"] != before["outputs"], (
            f"{constant} changed, but no output did: results would become stale for nothing"
        )
        pytest.fail(f"{constant} changed with its outputs: {RECORDS}")


def test_every_model_has_the_version_of_its_group() -> None:
    named = {"rules": QUESTIONS_VERSION, "matcher": QUESTIONS_VERSION, "reader": ANSWERING_VERSION}
    for model in MECHANISMS:
        wanted = named.get(model, EXAMS_VERSION if model.startswith("exam-") else PROBLEMS_VERSION)
        assert embedded_version(model) == wanted, model
