from __future__ import annotations

import pytest

from qagen_dagster.english.key_facts import aliases, key_facts, share_stated

WHO = "The World Health Organization (WHO) leads it."
LONG = (
    "The council sold the Plover in 1990 and built a new pier with the money. "
    "Since then boats can land at low tide in the harbour."
)


@pytest.mark.parametrize(
    ("answer", "texts"),
    [
        ("copper, lead and zinc", ["copper", "lead", "zinc"]),
        ("The two boats are the Tern and the Plover.", ["the Tern", "the Plover"]),
        ("sand; gravel", ["sand", "gravel"]),
        ("March 5, 2020", ["March 5, 2020"]),
        ("Paris, France", ["Paris, France"]),
        ("two hundred and fifty", ["two hundred and fifty"]),
        ("between 5 and 10 mm", ["between 5 and 10 mm"]),
        ("because salt and sand that came in with the last storm block them", None),
        (LONG, LONG.replace("money. ", "money.|").split("|")),
        ("", []),
    ],
)
def test_an_answer_has_a_fact_for_each_item_or_sentence(answer: str, texts: list[str] | None) -> None:
    found = [one.text for one in key_facts("What is it?", answer, "")]
    assert found == ([answer] if texts is None else texts)


def test_a_list_in_an_order_is_one_fact() -> None:
    assert len(key_facts("In which order were they built?", "the pier, the wall and the tower", "")) == 1


@pytest.mark.parametrize(
    ("answer", "value", "unit", "tolerance"),
    [
        ("4.2 mm", 4.2, "mm", 0.05),
        ("about 300 people", 300, "people", 15),
        ("1,500 m", 1500, "m", 0),
        ("12 %", 12, "%", 0),
        ("Ida Holm", None, "", 0),
    ],
)
def test_numbers_have_a_unit_and_a_tolerance(
    answer: str, value: float | None, unit: str, tolerance: float
) -> None:
    (found,) = key_facts("How much?", answer, "")
    assert (found.value, found.unit, found.tolerance) == (value, unit, pytest.approx(tolerance))


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        (WHO, [("World Health Organization", "WHO")]),
        ("The PRV (pressure relief valve) opens.", [("pressure relief valve", "PRV")]),
        ("Ceylon, formerly known as Serendib, is an island.", [("Ceylon", "Serendib")]),
        ("Paris (France) and London (2012)", []),
        ("uses the temperature correction factor (TCF)", [("temperature correction factor", "TCF")]),
        ("the Center of Excellence (CoE)", [("Center of Excellence", "CoE")]),
        ("some other words (TCF)", []),
    ],
)
def test_a_text_gives_aliases(text: str, pairs: list[tuple[str, str]]) -> None:
    assert list(aliases(text)) == pairs


@pytest.mark.parametrize(
    ("answer", "given", "evidence", "share"),
    [
        ("World Health Organization", "The WHO leads it.", WHO, 1),
        ("WHO", "The World Health Organization does", WHO, 1),
        ("World Health Organization", "The WHO leads it.", "", 0),
        ("copper, lead and zinc", "zinc and copper", "", 2 / 3),
        ("copper, lead and zinc", "It mines zinc, lead, and copper there.", "", 1),
        ("copper, lead and zinc", "gold", "", 0),
        ("4.2 mm", "4.23 mm", "", 1),
        ("4.2 mm", "0.42 cm", "", 1),
        ("4.2 mm", "4.3 mm", "", 0),
        ("4.2 mm", "4.2 kg", "", 0),
        ("about 300 people", "310 people", "", 1),
        ("300 people", "310 people", "", 0),
        ("12 V", "24 V", "", 0),
        ("March 5, 2020", "on 5 March 2020", "", 1),
        ("March 5, 2020", "5 April 2020", "", 0),
        ("Ida Holm", "It was built by Ida Holm in 1990. It is not open.", "", 1),
        ("Ida Holm", "It was not Ida Holm", "", 0),
        ("Ida Holm", "Nils Berg", "", 0),
        ("the north pole", "the south pole", "", 0),
        ("Yes", "No", "", 0),
        (LONG, "In 1990 the council sold the Plover and built a pier.", "", 0.5),
        (LONG, LONG, "", 1),
    ],
)
def test_an_answer_gets_credit_for_each_fact(answer: str, given: str, evidence: str, share: float) -> None:
    facts = key_facts("What is it?", answer, evidence)
    assert share_stated(facts, "What is it?", given) == pytest.approx(share)


def test_no_answer_has_no_share() -> None:
    assert share_stated(key_facts("Why?", "", ""), "Why?", "so") is None
