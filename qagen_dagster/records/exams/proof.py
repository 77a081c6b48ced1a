"""What code finds on a question: named faults, and whether its key is proven. Finding them is the loop's."""

from __future__ import annotations

from enum import StrEnum

from qagen_dagster.records.base import Record
from qagen_dagster.records.exams.item import Letter, Severity


class Fault(Record):
    """One thing that is wrong with a question, as code sees it. `detail` is read by the implementer."""

    name: str
    severity: Severity
    detail: str


class ProofStatus(StrEnum):
    """What the checkable form says of the key."""

    PROVEN = "proven"  # exactly one option has the value of the form, and it is the key
    REFUTED = "refuted"  # another option has it, or several, or none
    UNPROVEN = "unproven"  # the form or the options could not be read as values
    ABSENT = "absent"  # there is no form


class Proof(Record):
    """The checkable form, computed and compared with every option."""

    status: ProofStatus = ProofStatus.ABSENT
    value: str = ""  # of the form, as text
    matching: tuple[Letter, ...] = ()  # options of that value
    detail: str = ""


class Examination(Record):
    """Everything that code says of one question."""

    faults: tuple[Fault, ...] = ()
    proof: Proof = Proof()
