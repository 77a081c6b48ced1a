"""The benchmark of rankings: it reads each form of human sets, and its statistics are those of scipy."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks.ranking.agreement import Asked, agreement, ceiling, contrasts, pearson, spearman, tau_b
from benchmarks.ranking.sets import Human, documents_of, read_human, read_set, sampled

CRANFIELD = """<cranfield><doc><docno>7</docno><title>wings .</title><text>wings .
lift of wings</text></doc><doc><docno>9</docno><title>flow .</title><text>flow .
flow of air</text></doc></cranfield>"""
QUERIES = "<?xml version='1.0'?><xml><top><num> 4</num><title>what lifts</title></top></xml>"


def squad(folder: Path) -> Path:
    def paragraph(text: str, *asked: str) -> dict[str, object]:
        return {"context": text, "qas": [{"question": one} for one in asked]}

    data = [
        {"title": "Old_Mills", "paragraphs": [paragraph("The mill  is old.", "How old?"), paragraph("It fell.", "Who?", "When?")]},
        {"title": "Walls", "paragraphs": [paragraph("A wall of stone.", "What?")]},
    ]  # fmt: skip
    file = folder / "squad.json"
    file.write_text(json.dumps({"data": data}))
    return file


def beir(folder: Path) -> Path:
    (folder / "qrels").mkdir()
    rows = [
        {"_id": "d1", "title": "Mills", "text": "an old mill"},
        {"_id": "d2", "title": "", "text": "a wall"},
    ]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "queries.jsonl").write_text(
        '{"_id": "q1", "text": "what is old"}\n{"_id": "q2", "text": "none"}'
    )
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq2\td9\t1")
    return folder


def cranfield(folder: Path) -> Path:
    (folder / "cran.all.1400.xml").write_text(CRANFIELD)
    (folder / "cran.qry.xml").write_text(QUERIES)
    (folder / "cranqrel.trec.txt").write_text("1 0 7 2\n1 0 9 -1\n")
    return folder


@pytest.mark.parametrize(
    ("make", "passages", "questions"),
    [
        (squad, [("The mill is old.", "Old Mills", 0), ("It fell.", "Old Mills", 0), ("A wall of stone.", "Walls", 1)],
         [("How old?", (0,)), ("Who?", (1,)), ("When?", (1,)), ("What?", (2,))]),
        (beir, [("an old mill", "Mills", 0), ("a wall", "", 1)], [("what is old", (0,))]),
        (cranfield, [("lift of wings", "wings .", 0), ("flow of air", "flow .", 1)], [("what lifts", (0,))]),
    ],
)  # fmt: skip
def test_each_form_of_a_human_set_is_read(
    tmp_path: Path, make: Callable[[Path], Path], passages: list[object], questions: list[object]
) -> None:
    found = read_human(make(tmp_path))
    assert [(one.text, one.title, one.document) for one in found.passages] == passages
    assert [(one.text, one.relevant) for one in found.questions] == questions


def test_a_sample_keeps_whole_documents_and_their_questions(tmp_path: Path) -> None:
    human = read_human(squad(tmp_path))
    found = sampled(human, 2)
    assert len({one.document for one in found.passages}) == 1
    texts = {one.text for one in found.passages}
    kept = [one for one in human.questions if human.passages[one.relevant[0]].text in texts]
    assert [one.text for one in found.questions] == [one.text for one in kept]
    assert documents_of(human.passages)["00000.md"] == "# Old Mills\n\nThe mill is old.\n\nIt fell.\n"


def test_a_published_question_belongs_to_the_passage_with_its_longest_quote(tmp_path: Path) -> None:
    human: Human = read_human(squad(tmp_path))
    rows = [
        {"question": "What is old?", "evidence": [{"quote": "old"}, {"quote": "The mill\nis old"}]},
        {"question": "What else?", "evidence": [{"quote": "not there"}]},
    ]
    file = tmp_path / "questions.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    assert [(one.text, one.relevant) for one in read_set(file, human.passages)] == [("What is old?", (0,))]


def test_correlations_are_those_of_scipy() -> None:
    """Worked out by hand: 7 pairs agree and 1 does not, 9 are not tied in each; equal values share their mean rank."""
    first, second = np.array([[1.0, 2, 2, 4, 5]]), np.array([[1.0, 3, 2, 2, 6]])
    assert float(tau_b(first, second)[0]) == pytest.approx(0.6666666667)
    assert float(spearman(first, second)[0]) == pytest.approx(7.25 / 9.5)
    assert float(pearson(first, second)[0]) == pytest.approx(0.7751457)


def _asked(effects: list[float], seed: int, count: int = 400) -> Asked:
    random = np.random.default_rng(seed)
    documents = np.repeat(np.arange(20), count // 20)
    hard = random.normal(0, 0.1, 20)[documents]
    noise = random.normal(0, 0.3, (count, len(effects)))
    return Asked(np.array(effects)[None] + hard[:, None] + noise, documents)


def test_a_set_that_ranks_alike_reaches_the_ceiling_and_a_reversed_one_is_told() -> None:
    effects = [0.1, 0.3, 0.5, 0.7, 0.9]
    human, alike, reversed_ = _asked(effects, 1), _asked(effects, 2), _asked(effects[::-1], 3)
    assert agreement(human, alike, 20)["Kendall tau-b"].value == 1
    assert ceiling(human, 100, 20)["Kendall tau-b"].value > 0.9
    assert agreement(human, reversed_, 20)["Kendall tau-b"].high < 0
    higher = Asked(alike.values + 0.2, alike.documents)
    assert agreement(human, higher, 20)["inflation"].low > 0.1
    names = list("abcde")
    verdicts = [contrasts(human, made, 20, names, [("e", "a")])[0].verdict for made in (alike, reversed_)]
    assert verdicts == ["same sign", "WRONG SIGN"]
