"""Short answers out of running text: what is asked, which spans there are, which one is chosen, and what speaks against it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from qagen_dagster.models.embedded.answering.choose import (
    MISMATCHES,
    SIGNS,
    Weights,
    agreeing,
    category_keys,
    choose,
    measured,
    mismatches,
    weights,
)
from qagen_dagster.models.embedded.answering.features import (
    CATEGORIES,
    NUMBERS,
    Candidate,
    Table,
    match,
    wanted_of,
)
from qagen_dagster.models.embedded.answering.question import read_question
from qagen_dagster.models.embedded.answering.spans import (
    FAR,
    LABELS,
    MOST_TOKENS,
    OWN,
    ready,
    spans_of,
    word_vectors,
)
from qagen_dagster.models.embedded.text.grammar import parse

TEXT = (
    "The northern bridge was built by Ida Holm in 1811.",
    "It has three arches.",
    "Divers inspected the piers.",
    "Nils Berg sold the old mill to the town in 1902.",
)
ANSWERED = ("Who built the northern bridge in 1811?", "Ida Holm")


def signs(question: str, answer: str) -> dict[str, float]:
    asked = read_question(question)
    sentences = [ready(text) for text in TEXT]
    place = next(number for number, text in enumerate(TEXT) if answer in text)
    doc = sentences[place].doc
    begin = TEXT[place].index(answer)
    tokens = [token.i for token in doc if begin <= token.idx < begin + len(answer)]
    found = mismatches(asked, word_vectors(asked.doc), sentences, place, tokens[0], tokens[-1] + 1)
    return dict(zip(MISMATCHES, found, strict=True))


def test_an_answered_question_has_no_mismatch() -> None:
    found = signs(*ANSWERED)
    assert not any(value for name, value in found.items() if name.startswith(("elsewhere", "absent")))
    assert (found["least"], found["mean"], found["better_sentence"]) == (1.0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("question", "answer", "name"),
    [
        ("Who built the northern bridge in 1902?", "Ida Holm", "elsewhere_number"),
        ("Who built the northern bridge in 1955?", "Ida Holm", "absent_number"),
        ("What did Ida Holm sell to the town in 1902?", "the old mill", "elsewhere_name"),
        ("What did Otto sell to the town in 1902?", "the old mill", "absent_name"),
        ("Who built the southern bridge in 1811?", "Ida Holm", "absent_quality"),
        ("Who burned the northern bridge in 1811?", "Ida Holm", "absent_verb"),
        ("Who never built the northern bridge?", "Ida Holm", "denial_added"),
    ],
)
def test_a_changed_word_is_a_mismatch_of_its_kind(question: str, answer: str, name: str) -> None:
    assert signs(question, answer)[name] > signs(*ANSWERED)[name]


HARBOUR = (
    "The pump house at Selby was built by Martha Kellogg in March 1987.",
    "Daniel Forsyth, a clockmaker from Leeds, wrote the firmware of its controller.",
    "The pump holds twelve filters and moves 4,000 litres of sea water per hour.",
    "Salt blocks the filters because the water of the basin is warm.",
    "In winter the keepers store the spare filters in the old chapel.",
)
WORDS = st.sampled_from(
    [
        "the",
        "pump",
        "and",
        "in",
        "1987",
        "Kellogg",
        "(",
        ")",
        ",",
        ".",
        "“",
        "”",
        "who",
        "opened",
        "of",
        "a",
        "valve",
        "été",
        "水",
        "-",
        "$5",
        "3.5",
        "%",
        "'",
        "not",
    ]
)
TEXTS = st.lists(WORDS, min_size=1, max_size=14).map(" ".join)


def blank(**changes: object) -> Weights:
    values: dict[str, object] = {
        "mean": (0.0,) * len(NUMBERS), "scale": (1.0,) * len(NUMBERS), "numbers": {"": (0.0,) * len(NUMBERS)},
        "categories": {}, "odds": (0.0,) * len(SIGNS), "bias": 0.0,
    }  # fmt: skip
    return Weights.model_validate(values | changes)


@pytest.mark.parametrize(
    ("question", "kind", "wants", "focus"),
    [
        ("Who built the pump house?", "who", "who", ""),
        ("When was the pump house built?", "when", "when", ""),
        ("How many filters does the pump hold?", "how many", "how many", "filter"),
        ("How long is the pier?", "how long", "how long", ""),
        ("In what year was the pump house built?", "what", "date", "year"),
        ("What city is the clockmaker from?", "what", "place", "city"),
        ("What type of valve opens at 9 bar?", "what", "what is", "valve"),
        ("The pump was built by whom?", "who", "who", ""),
        ("Tell me about it.", "other", "other", ""),
        ("", "other", "other", ""),
    ],
)
def test_what_is_asked(question: str, kind: str, wants: str, focus: str) -> None:
    found = read_question(question)
    assert (found.kind, found.wants, found.focus) == (kind, wants, focus)


def test_a_preposition_before_the_question_word_is_kept() -> None:
    assert read_question("In what year was the pump house built?").preposition == "in"


def test_names_numbers_phrases_and_clauses_are_candidates() -> None:
    texts = {one for text in HARBOUR for one in _texts(text)}
    assert {
        "Martha Kellogg", "March 1987", "twelve", "twelve filters", "4,000 litres", "Daniel Forsyth", "a clockmaker from Leeds",
        "Leeds", "in the old chapel", "the old chapel", "because the water of the basin is warm", "the water of the basin is warm",
    } <= texts  # fmt: skip


def _texts(text: str) -> list[str]:
    spans = spans_of(parse([text])[0])
    return [spans.doc[int(start) : int(end)].text for start, end in zip(spans.start, spans.end, strict=True)]


@settings(deadline=None, max_examples=40)
@given(TEXTS)
def test_every_candidate_is_words_of_its_sentence(text: str) -> None:
    spans = spans_of(parse([text])[0])
    assert spans.own.shape == (len(spans), len(OWN))
    assert np.isfinite(spans.own).all()
    pairs = set[tuple[int, int]]()
    for row in range(len(spans)):
        start, end = int(spans.start[row]), int(spans.end[row])
        assert 0 <= start < end <= len(spans.doc)
        assert end - start <= MOST_TOKENS
        assert start <= spans.root[row] < end
        assert any(char.isalnum() or char in "$%'" for char in spans.doc[start:end].text)
        assert len(spans.labels[row]) == len(LABELS)
        first, last = spans.doc[start], spans.doc[end - 1]
        assert first.pos_ != "CCONJ"
        assert not first.is_punct or first.text in '"“$'
        assert end - start == 1 or last.pos_ not in ("CCONJ", "ADP", "DET")
        pairs.add((start, end))
    assert len(pairs) == len(spans)


@settings(deadline=None, max_examples=25)
@given(TEXTS, st.lists(TEXTS, max_size=4))
def test_any_question_gets_a_span_of_the_text_or_nothing(question: str, sentences: list[str]) -> None:
    table = measured(question, sentences).table
    assert table.numbers.shape == (len(table.candidates), len(NUMBERS))
    assert np.isfinite(table.numbers).all()
    assert all(len(values) == len(CATEGORIES) for values in table.categories)
    found = choose(question, sentences)
    if found is None:
        assert not table.candidates
        return
    assert sentences[found.sentence][found.start : found.end] == found.text
    assert 0 <= found.chance <= 1


def test_no_candidate_is_longer_than_an_answer_may_be() -> None:
    long = "The keeper said that the valve " + "of the pump of the mill " * 8 + "froze."
    spans = spans_of(parse([long])[0])
    assert 10 < max(spans.end - spans.start) <= MOST_TOKENS


def test_steps_along_the_tree_are_a_distance() -> None:
    sentence = ready(HARBOUR[1])
    steps = sentence.steps
    assert (steps == steps.T).all()
    assert (np.diag(steps) == 0).all()
    for token in sentence.doc:
        assert steps[token.i, token.head.i] == (token.i != token.head.i)
    through = (steps[:, :, None] + steps[None, :, :]).min(axis=1)
    assert (steps <= through).all()
    assert steps.max() < FAR


def test_words_near_in_meaning_meet_without_being_the_same() -> None:
    question = read_question("Who constructed the machine shed?")
    sentences = [ready(text) for text in HARBOUR]
    wanted = wanted_of(question, word_vectors(question.doc), sentences)
    met = [match(one, wanted) for one in sentences]
    assert met[0].share == 0
    assert all(met[0].late > other.late for other in met[1:])


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who built the pump house?", "Martha Kellogg"),
        ("In what year was the pump house built?", "1987"),
        ("How many filters does the pump hold?", "twelve"),
        ("Who wrote the firmware?", "Daniel Forsyth"),
        ("What city does Daniel Forsyth come from?", "Leeds"),
        ("Where are the spare filters stored in winter?", "the old chapel"),
    ],
)
def test_the_shipped_weights_choose_what_is_asked_for(question: str, answer: str) -> None:
    found = choose(question, HARBOUR)
    assert found is not None
    assert answer in found.text
    assert len(found.text.split()) <= len(answer.split()) + 2
    assert found.chance > 0.4


def test_a_text_about_something_else_gets_little_chance() -> None:
    found = choose("Which enzyme does the liver need to break down fructose?", HARBOUR)
    assert found is not None
    assert found.chance < 0.15


def test_scores_are_the_sums_of_what_was_measured() -> None:
    values = ("when", "when") + ("x",) * (len(CATEGORIES) - 2)
    others = ("who", "who") + ("x",) * (len(CATEGORIES) - 2)
    numbers = np.zeros((1, len(NUMBERS)), dtype=np.float32)
    numbers[0, 0], numbers[0, 1] = 3.0, 100.0
    general = tuple(1.0 if at < 2 else 0.0 for at in range(len(NUMBERS)))
    special = tuple(10.0 if at == 0 else 0.0 for at in range(len(NUMBERS)))
    key = next(iter(category_keys(values)))
    fitted = blank(
        mean=(1.0,) * len(NUMBERS),
        numbers={"": general, "when": special},
        categories={key: 0.5, "unused": 9.0},
    )
    rest = 4.0  # the second number, cut off
    assert fitted.scores(Table((Candidate(0, 0),), numbers, (values,)))[0] == pytest.approx(
        2 + rest + 20 + 0.5
    )
    assert fitted.scores(Table((Candidate(0, 0),), numbers, (others,)))[0] == pytest.approx(2 + rest + 0.5)


def test_odds_become_a_chance() -> None:
    fitted = blank(odds=(2.0, *[0.0] * (len(SIGNS) - 1)), bias=-1.0)
    assert fitted.chance((0.5, *[9.0] * (len(SIGNS) - 1))) == pytest.approx(0.5)
    assert blank(bias=1e9).chance((0,) * len(SIGNS)) == pytest.approx(1)
    assert blank(bias=-1e9).chance((0,) * len(SIGNS)) == pytest.approx(0)


def test_weights_for_other_measurements_are_refused() -> None:
    with pytest.raises(ValidationError, match="fit them again"):
        blank(mean=(0.0,))
    with pytest.raises(ValidationError, match="fit them again"):
        blank(numbers={"who": (0.0,) * len(NUMBERS)})


def test_the_shipped_weights_fit_the_measurements() -> None:
    known = {f"{number} " for number in range(99)}
    assert all(key.split(" ")[0] + " " in known for key in weights().categories)
    assert weights().numbers["who"] != weights().numbers["when"]


def test_the_span_that_others_agree_with_wins_over_the_first() -> None:
    found = measured("Who wrote the firmware?", HARBOUR[1:2])
    texts = [found.span(row).text for row in range(len(found.table.candidates))]
    scores = np.full(len(texts), -50.0, dtype=np.float32)
    scores[texts.index("Leeds")] = 1.0
    for alike in ("a clockmaker", "clockmaker", "a clockmaker from Leeds"):
        scores[texts.index(alike)] = 0.9
    row, agreed = agreeing(found, scores)
    assert "clockmaker" in texts[row]
    assert 0.5 < agreed < 1
