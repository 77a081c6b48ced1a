from __future__ import annotations

import gc
import weakref

import pytest

from qagen_dagster.grounding.facts import Kind
from qagen_dagster.grounding.features import SIGNS, Measured, measure
from qagen_dagster.grounding.source import Source
from tests.grounding.test_source import Counting

TEXT = (
    "The pumping station was built in 1990 by Anna Berg.\n"
    "It does not use more than 2,500 W at full load. The tank holds 40 litres of oil.\n"
    "The town lies in the north of Norway. Prices increased in May 2004."
)
STUDY = (
    "Many patients with chronic back pain took part in the study.\n"
    "Some of them were given an exercise programme, the others rested in bed.\n"
    "After some weeks those who moved walked further and slept better.\n"
    "Pain scores fell in every group, but more where people exercised.\n"
)


class Text(str):
    """A document that can be watched."""


def measured(claim: str, text: str = TEXT, question: str = "", several: bool = False) -> Measured:
    found = measure(claim, Source(text, Counting()), question, several=several)
    assert found is not None
    return found


def test_features_of_a_copy_are_at_their_best() -> None:
    found = measured("The tank holds 40 litres of oil.")
    assert found.value("coverage") == found.value("pairs") == found.value("company") == 1.0
    assert all(found.value(name) == 0.0 for name, sign in SIGNS.items() if sign < 0)
    assert found.conflicts == ()
    assert not found.overruled


@pytest.mark.parametrize("question", ["", "  "])
def test_a_claim_knows_whether_something_was_asked(question: str) -> None:
    assert measured("40 litres", question="How much oil does the tank hold?").value("asked") == 1.0
    assert measured("40 litres", question=question).value("asked") == 0.0


@pytest.mark.parametrize(
    ("claim", "overruled"),
    [
        ("The tank holds 50 litres of oil.", True),
        ("The tank does not hold 40 litres of oil.", True),
        ("The pumping station was built in 1991 by Anna Berg.", True),
        ("Of oil, 50 litres in the tank.", False),
        ("The tank holds 40 litres of oil.", False),
    ],
)
def test_a_changed_fact_overrules_only_where_words_come_in_the_order_of_the_evidence(
    claim: str, overruled: bool
) -> None:
    assert measured(claim).overruled is overruled


@pytest.mark.parametrize(
    ("claim", "drawn"),
    [
        ("Physical activity treats persistent backache well.", True),
        ("This first study shows that two treatments of backache differ.", True),
        ("Physical activity treats 85 % of persistent backache.", False),
        ("Physical activity treats persistent backache since 1999.", False),
        ("Physical activity treats forty kinds of persistent backache.", False),
        ("Physical activity treats backache, as Otto says.", False),
        ("Physical activity (PA) treats persistent backache.", True),
        ("Activity helps.", False),
    ],
)
def test_a_conclusion_brings_no_number_and_no_name_of_its_own(claim: str, drawn: bool) -> None:
    assert bool(measured(claim, STUDY).near) is drawn


def test_an_opposite_overrules_and_is_told_as_both_write_it() -> None:
    found = measured("Patients with ACUTE back pain took part.", STUDY)
    assert found.overruled
    assert found.value("opposite") == 1.0
    assert (found.conflicts[0].claim, found.conflicts[0].evidence) == ("acute", "chronic")


@pytest.mark.parametrize(
    ("claim", "drawn"),
    [("Activity treats backache.", True), ("Activity helps.", False), ("Activity treats 85 %.", False)],
)
def test_among_other_sentences_a_conclusion_may_be_short(claim: str, drawn: bool) -> None:
    assert bool(measured(claim, STUDY, several=True).near) is drawn
    assert not measured(claim, STUDY).near


@pytest.mark.parametrize(
    ("claim", "drawn"),
    [
        ("Physical activity does not treat persistent backache well.", False),
        ("Physical activity treats persistent backache without drugs.", True),
        ("Physical activity treats persistent backache well.", True),
    ],
)
def test_a_denial_is_no_conclusion_from_a_text_that_denies_nothing(claim: str, drawn: bool) -> None:
    assert bool(measured(claim, STUDY).near) is drawn
    assert measured(claim, f"{STUDY}\nSleep was similar in both groups.").near


ASKED = "To determine whether exercise reduces chronic back pain."


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        (f"{ASKED}\nMany people took part.", False),
        ("Exercise reduces chronic back pain.\nMany people took part.", True),
    ],
)
def test_what_a_document_only_asks_about_is_neither_denied_nor_affirmed(text: str, changed: bool) -> None:
    found = measured("Exercise does not reduce chronic back pain.", text)
    assert found.overruled is changed
    assert bool(found.value("new_denial")) is bool(found.value("changed_denial")) is changed
    assert bool(found.conflicts) is changed


@pytest.mark.parametrize(
    ("claim", "company"),
    [
        ("The pumping station was built by Anna Berg.", 1.0),
        ("The town of Anna Berg.", 0.5),
        ("The tank of Anna Berg holds oil.", 0.25),
        ("The pumping station of Norway was built by Anna Berg.", 0.0),
        ("The tank holds oil.", 1.0),
        ("The tank of Otto holds oil.", 1.0),  # a name the document lacks is counted elsewhere
    ],
)
def test_a_name_is_known_by_the_words_it_stands_with(claim: str, company: float) -> None:
    assert measured(claim).value("name_company") == company


@pytest.mark.parametrize(
    ("claim", "name"),
    [
        ("The pumping station was built in 1990 by Otto Lang.", ("Otto Lang", "Anna Berg")),
        ("The pumping station was built in 1990 by Anna Berg.", None),
        ("The pumping station was built in 1990.", None),
        ("In 1990 a station for pumping of Otto Lang.", None),
    ],
)
def test_another_name_in_a_sentence_of_the_document_overrules(
    claim: str, name: tuple[str, str] | None
) -> None:
    found = measured(claim, f"{TEXT} Otto Lang leads it.")
    assert found.overruled is (name is not None)
    if name is not None:
        first = found.conflicts[0]
        assert (first.kind, first.claim, first.evidence) == (Kind.NAME, *name)


@pytest.mark.parametrize(
    ("claim", "several", "little"),
    [
        ("Activity helps.", True, True),
        ("Activity helps.", False, False),
        (STUDY.splitlines()[3], True, False),
    ],
)
def test_few_words_among_other_sentences_tell_little(claim: str, several: bool, little: bool) -> None:
    assert measured(claim, STUDY, several=several).little is little
    assert not measured(claim, STUDY.splitlines()[0], several=several).little, "a short document"


def test_nothing_keeps_a_document_that_was_measured() -> None:
    text = Text(TEXT)
    watched = weakref.ref(text)
    source = Source(text, Counting())
    assert measure("Station 12 of Otto Lang holds 50 litres.", source) is not None
    del text, source
    gc.collect()
    assert watched() is None
