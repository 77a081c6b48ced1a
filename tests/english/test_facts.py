from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.english.amounts import amounts
from qagen_dagster.english.dates import dates
from qagen_dagster.english.facts import Kind, differences, facts, facts_of_document, missing_names


def kinds(claim: str, evidence: str) -> list[Kind]:
    return [one.kind for one in differences(facts(claim), facts(evidence))]


@pytest.mark.parametrize(
    ("claim", "evidence", "kind"),
    [
        ("It sold 2,400 tickets.", "The fair sold 2,500 tickets in May.", Kind.NUMBER),
        ("It weighs 5 kg.", "The box weighs 5 g.", Kind.NUMBER),
        ("Sales rose by 3%.", "Sales rose by 4 percent.", Kind.NUMBER),
        ("He came third.", "He came second in the race.", Kind.NUMBER),
        ("It opened in 1984.", "It opened in 1985.", Kind.DATE),
        ("It opened on 3 May 1985.", "It opened on 4 May 1985.", Kind.DATE),
        ("It was built by Anna Berg.", "It was built by Otto Lang.", Kind.NAME),
        ("It was built prior to 1967.", "It was built in 1968.", Kind.DATE),
        ("It was built in 1967.", "It was built before 1967.", Kind.DATE),
        ("More than 90 came.", "The fair drew 85.", Kind.NUMBER),
        ("Wall W5 leans.", "Wall W2 leans.", Kind.NAME),
        ("The valve does not open.", "The valve does open.", Kind.NEGATION),
        ("The valve does open.", "The valve doesn't open.", Kind.NEGATION),
        ("Prices increased last year.", "Prices fell last year.", Kind.DIRECTION),
        ("The port lies in the north.", "The port lies in the south.", Kind.DIRECTION),
    ],
)
def test_one_changed_fact_is_a_conflict_of_its_kind(claim: str, evidence: str, kind: Kind) -> None:
    assert kinds(claim, evidence) == [kind]


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("It cost 1.2 million dollars.", "It cost $1,234,567."),
        ("It is 5 km long.", "The road is 5,000 metres long."),
        ("It opened in May 1985.", "It opened on 3 May 1985."),
        ("It costs £85.", "It costs 85 pounds."),
        ("It was built prior to 1967.", "It was built in 1966."),
        ("It was built in 1966.", "It was built before 1967."),
        ("It was built in the sixties.", "It was built in the 1960s."),
        ("It was the twenty-first.", "It was the 21st."),
        ("They counted two hundred and six.", "They counted 206."),
        ("It has three doors.", "There are 3 doors and 2 windows."),
        ("The WHO agreed.", "The World Health Organization agreed."),
        ("Nothing was found.", "The search did not find anything."),
        ("It rose.", "It rose and fell."),
        ("Not only Anna came.", "Anna came."),
    ],
)
def test_the_same_in_other_words_is_none(claim: str, evidence: str) -> None:
    assert kinds(claim, evidence) == []


def test_what_is_only_missing_is_no_conflict() -> None:
    assert kinds("It opened in 1985 and cost 3%.", "It opened.") == []


def test_the_line_names_both_sides() -> None:
    (found,) = differences(facts("It sold 2,400 tickets."), facts("It sold 2,500 tickets."))
    assert found.line() == 'says "2,400" where the evidence says "2,500"'


def test_a_limit_is_shown_if_only_it_differs() -> None:
    (found,) = differences(facts("It was built in 1967."), facts("It was built before 1967."))
    assert found.line() == 'says "1967" where the evidence says "before 1967"'


def test_words_of_different_names_are_shown_apart() -> None:
    evidence = facts("The Kestwick Library gives a medal by the silversmith Agnes Whitlow.")
    (found,) = differences(facts("It is by Otto Berg."), evidence)
    assert (found.claim, found.evidence) == ("Otto Berg", "Kestwick Library, Agnes")


@given(st.text(max_size=300))
def test_no_text_contradicts_itself(text: str) -> None:
    assert differences(facts(text), facts(text)) == []


@given(st.integers(2, 10**7), st.integers(2, 10**7))
def test_numbers_conflict_exactly_when_they_differ(mine: int, theirs: int) -> None:
    claim, evidence = facts(f"They counted {mine:,} sheep."), facts(f"They counted {theirs:,} sheep.")
    rounded = abs(mine - theirs) <= 0.05 * theirs
    if mine == theirs:
        assert differences(claim, evidence) == []
    elif not rounded:
        assert [one.kind for one in differences(claim, evidence)] == [Kind.NUMBER]


STATED = st.lists(
    st.sampled_from(
        [
            "3 May 1985",
            "1990s",
            "in 2004",
            "12 kg",
            "two",
            "May",
            "4,711",
            "the",
            "not",
            "Otto",
            "first",
            ".",
            "85%",
        ]
    ),
    max_size=12,
).map(" ".join)


@pytest.mark.parametrize(
    ("claim", "missing"),
    [
        ("It was seen in Taiwanese women.", []),
        ("It was seen in Iranian women.", []),
        ("It was seen in Swiss women.", ["Swiss"]),
        ("It was seen in Nigeria.", ["Nigeria"]),
    ],
)
def test_people_of_a_named_country_are_no_new_name(claim: str, missing: list[str]) -> None:
    named = [
        one.capitalize() for one in missing_names(facts(claim), facts("They live in Taiwan, Iran, Niger."))
    ]
    assert named == missing


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Southern Italy has many.", ["Southern", "Italy"]),
        ("Anna Berg came.", ["Anna", "Berg"]),
        ("Low CSF pressure was seen.", ["CSF"]),
        ("Altered ET-1 levels were seen.", ["et", "1"]),
        ("Increased D-dimer levels were seen.", ["dimer"]),
        ("Current K/DOQI guidelines differ.", ["DOQI"]),
        ("Prices rose in Oslo.", ["Oslo"]),
    ],
)
def test_what_opens_a_sentence_is_a_name_if_a_name_follows(text: str, found: list[str]) -> None:
    assert [written for _, written in facts(text).names] == found


@given(STATED)
def test_an_amount_within_a_date_is_none(text: str) -> None:
    told = list(dates(text))
    expected = [
        one
        for one in amounts(text)
        if not any(date.start < one.end and one.start < date.end for date in told)
    ]
    assert list(facts(text).amounts) == expected


@given(STATED)
def test_facts_of_a_document_are_those_of_a_claim_without_denials(text: str) -> None:
    claim, document = facts(text), facts_of_document(text)
    assert (document.amounts, document.dates, document.names) == (claim.amounts, claim.dates, claim.names)
    assert (document.stems, document.written) == (claim.stems, claim.written)
    assert (document.denied, document.polarities) == (None, ())
