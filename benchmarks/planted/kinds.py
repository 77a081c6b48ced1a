"""All kinds of fault, and the candidates that they make."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from benchmarks.planted import faults, unproven
from benchmarks.planted.documents import Fact
from benchmarks.planted.faults import Change, Others, Planted

MOST_QUOTES = 6  # of a submission
EACH = 2  # candidates of one kind from one document
WRONG = ("wrong number", "wrong name", "neighbour", "negated", "other cell", "other row", "wrong sum", "wrong sum alone", "wrong count", "absent", "absent question")  # fmt: skip
EVIDENCE = (
    "fragment",
    "other sentence",
    "half of the evidence",
    "alike sentence",
    "answer elsewhere",
    "pronoun",
    "row alone",
)
KINDS: dict[str, Change] = {
    "wrong number": faults.wrong_number,
    "wrong name": faults.wrong_name,
    "neighbour": faults.neighbour,
    "negated": faults.negated,
    "other cell": faults.other_cell,
    "other row": faults.other_row,
    "wrong sum": faults.wrong_sum,
    "wrong sum alone": faults.wrong_sum_alone,
    "wrong count": faults.wrong_count,
    "absent": faults.absent,
    "absent question": faults.absent_question,
    "fragment": faults.fragment,
    "other sentence": faults.other_sentence,
    "half of the evidence": faults.half,
    "false premise": faults.false_premise,
    "points at a text": faults.pointing,
    "needless hop": faults.needless_hop,
    "alike sentence": unproven.alike_sentence,
    "answer elsewhere": unproven.answer_elsewhere,
    "pronoun": unproven.pronoun,
    "row alone": unproven.row_alone,
    "given what is denied": unproven.given_denied,
    "nobody named": unproven.nobody_named,
}


def planted(facts: Sequence[Fact]) -> list[Planted]:
    """Every faulty candidate, each followed by its good twin."""
    others, found = Others(facts), list[Planted]()
    counts: dict[tuple[str, str], int] = {}
    for number, fact in enumerate(facts):
        if len(fact.heads) + len(fact.quotes) > MOST_QUOTES:
            continue
        for kind, change in KINDS.items():
            taken = counts.get((kind, fact.page.name), 0)
            pair = list(change(fact, others, random.Random(f"{kind} {number}"))) if taken < EACH else []
            if pair:
                counts[kind, fact.page.name] = taken + 1
                found.extend(replace(one, kind=kind) for one in pair)
    return found
