from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.errors import StoreError
from qagen_dagster.index.chunks import chunks_of
from qagen_dagster.loop.evaluation.kinds import is_evaluated
from qagen_dagster.loop.evaluation.ranking_measures import placed
from qagen_dagster.loop.evaluation.retrieval_baseline import (
    holders_of,
    measure_retrieval,
    titles_of,
    without_title,
)
from qagen_dagster.loop.evaluation.run_questions import report_version
from qagen_dagster.loop.grading.grade_set import RunMark
from qagen_dagster.loop.index import build_index, is_indexed
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.models.budget import Allowance
from qagen_dagster.records.document import Ranking
from qagen_dagster.records.evaluation import Kind
from qagen_dagster.records.index_options import IndexOptions
from qagen_dagster.records.questions.results import Evidence
from tests.loop.conftest import CORPUS, PROFILE, PlayedWorkspace, put_documents
from tests.loop.evaluation.evaluation_set import facts, opened, pair, put_published
from tests.support.embeddings import embeddings
from tests.support.wire_server import WireServer

GEESE = "Geese fly south in autumn.\nThey come back in spring, when the lakes are open."
BREAD = "Knead the dough for ten minutes.\nBake it at 230 degrees until the crust is brown."
MEN = "Forty keepers lived on an island.\nNobody knows where they went."


def corpus(space: PlayedWorkspace, **documents: str) -> None:
    put_documents(space, {f"{name}.txt": text for name, text in documents.items()})


def geese(place: int = 2) -> Evidence:
    return Evidence(quote=GEESE.split("\n")[(place - 1) % 2], start_line=place, end_line=place)


def test_documents_and_evidence_are_looked_for_in_the_whole_corpus(workspace: PlayedWorkspace) -> None:
    corpus(workspace, geese=GEESE, bread=BREAD, men=MEN)
    build_index(workspace, "probes")
    dough = Evidence(quote="Bake it at 230 degrees", start_line=2, end_line=2)
    put_published(
        workspace,
        [
            pair("geese.txt", "When do the geese come back?", "spring", geese()),
            pair("bread.txt", "How hot is the oven for the loaf?", "230 degrees", dough),
            pair(
                "men.txt",
                "How many degrees does the oven need for bread?",
                "40",
                Evidence(quote="Forty", start_line=1, end_line=1),
            ),
        ],
    )
    report = measure_retrieval(opened(workspace))
    by = {one.document_id: {place.ranking: place for place in one.placements} for one in report.questions}
    for ranking in Ranking:
        assert (by["geese.txt"][ranking].document, by["geese.txt"][ranking].evidence) == (1, (1,))
    assert by["bread.txt"][Ranking.MEANING].document == 1
    assert by["men.txt"][Ranking.BOTH].document in (2, 3), "bread is nearer"
    assert by["men.txt"][Ranking.WORDS].document is None, "no word is shared"
    assert report.metrics["fused_document_recall_at_1"] == 0.6667
    assert report.metrics["fused_document_recall_at_5"] == 1
    assert report.metrics["bm25_document_recall_at_10"] < 1
    assert report.model == "embedded:minilm"


def test_a_question_that_quotes_its_title_is_also_searched_for_without_it(workspace: PlayedWorkspace) -> None:
    corpus(workspace, geese=f"Notes on Wild Birds\n\n{GEESE}", bread=BREAD)
    build_index(workspace, "probes")
    put_published(
        workspace,
        [pair("geese.txt", 'In "Notes on Wild Birds", what is baked until brown?', "spring", geese(4))],
    )
    report = measure_retrieval(opened(workspace))
    (one,) = report.questions
    assert one.untitled == "What is baked until brown?"
    (quoted, bare) = (placed(places, Ranking.BOTH) for places in (one.placements, one.untitled_placements))
    assert (quoted and quoted.document, bare and bare.document) == (1, 2)
    assert report.metrics["untitled_fused_document_recall_at_1"] == 0


def test_what_cannot_be_searched_for_is_not_measured(workspace: PlayedWorkspace) -> None:
    corpus(workspace, geese=GEESE, bread=BREAD, blank="")
    build_index(workspace, "probes")
    put_published(
        workspace,
        [
            pair("geese.txt", "When do the geese come back?", "spring", geese()),
            pair(
                "blank.txt",
                "What does the picture show?",
                "a goose",
                Evidence(quote="a goose", start_line=None, end_line=None, visual="Figure 1"),
            ),
            pair(
                "bread.txt",
                "How hot?",
                "230 degrees",
                Evidence(quote="230 degrees", start_line=2, end_line=2),
            ),
        ],
    )
    corpus(workspace, geese=GEESE, bread=f"{BREAD} Let it cool.", blank="")
    report = measure_retrieval(opened(workspace))
    assert [one.failure for one in report.questions] == [
        "",
        "the document has no text that could be found",
        "the search index does not hold this version of the document",
    ]
    assert (report.failed, report.metrics["fused_document_recall_at_1"]) == (2, 1)
    assert not is_indexed(workspace, "probes")
    build_index(workspace, "probes")
    assert is_indexed(workspace, "probes")
    assert not is_evaluated(opened(workspace), Kind.RETRIEVAL)


def test_the_same_index_and_questions_give_the_same_report(workspace: PlayedWorkspace) -> None:
    build_index(workspace, "probes")
    put_published(workspace, facts("a.txt"))
    first = measure_retrieval(opened(workspace))
    assert is_evaluated(opened(workspace), Kind.RETRIEVAL)
    assert report_version(measure_retrieval(opened(workspace, RunMark("run-2", "l")))) == report_version(
        first
    )
    (workspace.settings.corpora / "probes" / "corpus.yaml").write_text(
        f"{CORPUS}index: {{chunk_characters: 60, overlap_characters: 0}}\n"
    )
    build_index(workspace, "probes")
    assert not is_evaluated(opened(workspace), Kind.RETRIEVAL)
    cut = measure_retrieval(opened(workspace))
    assert {one.relevant for one in first.questions} == {1}
    places = [placed(one.placements, Ranking.BOTH) for one in cut.questions]
    assert all(place is not None and place.evidence for place in places)


def test_the_budget_ends_searching_and_the_next_run_goes_on(workspace: PlayedWorkspace) -> None:
    assert workspace.settings.profiles is not None
    with WireServer(embeddings) as server:
        url = server.url("openai_compatible")
        (workspace.settings.profiles / "mine.yaml").write_text(
            PROFILE.format(generator="writer")
            + f"embedder: {{provider: openai_compatible, model: m, base_url: '{url}', concurrency: 1}}\n"
        )
        space = Workspace(
            replace(workspace.settings, document_workers=1, state=workspace.settings.corpora / "state")
        )
        build_index(space, "probes")
        put_published(space, facts("a.txt"))
        report = measure_retrieval(opened(space, budget=Allowance(max_calls=2)))
        assert [bool(one.failure) for one in report.questions] == [False, False, True]
        assert ("max_calls 2" in report.questions[2].failure, report.unheard) == (True, 1)
        assert not is_evaluated(opened(space), Kind.RETRIEVAL)
        paid = len(server.requests)
        again = measure_retrieval(opened(space, RunMark("run-2", "launch-2"), Allowance(max_calls=2)))
        assert (again.failed, len(server.requests)) == (0, paid + 1)


def test_without_an_index_it_says_what_makes_one(workspace: PlayedWorkspace) -> None:
    put_published(workspace, facts("a.txt"))
    assert not is_evaluated(opened(workspace), Kind.RETRIEVAL)
    with pytest.raises(StoreError, match="has no search index: `qagen index`"):
        measure_retrieval(opened(workspace))


def test_chunks_that_hold_a_quote() -> None:
    lines = [f"Sentence number {n} stands on a line of its own here." for n in range(8)]
    text = "\n".join(lines)
    chunks = chunks_of(text, IndexOptions(chunk_characters=110, overlap_characters=55))
    of = {
        line: {
            c.number for c in chunks if c.start <= text.index(line) and c.end >= text.index(line) + len(line)
        }
        for line in lines
    }
    assert any(len(numbers) > 1 for numbers in of.values()), "overlapping chunks"
    for number, line in enumerate(lines, 1):
        evidence = [Evidence(quote=line, start_line=number, end_line=number)]
        assert holders_of(text, evidence, chunks) == [of[line]]
    long = Evidence(quote=text, start_line=1, end_line=8)
    assert holders_of(text, [long], chunks) == [{c.number for c in chunks}]
    reaching = Evidence(quote=f"{lines[0]}\n{lines[1][:4]}", start_line=1, end_line=2)
    assert holders_of(text, [reaching], chunks) == [of[lines[0]]], "a few letters are not half of it"
    elsewhere = [
        Evidence(quote=lines[1], start_line=1, end_line=1),
        Evidence(quote=lines[1], start_line=9, end_line=9),
        Evidence(quote="seen", start_line=None, end_line=None, visual="Figure 1"),
    ]
    assert holders_of(text, elsewhere, chunks) == []


@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=60), min_size=1, max_size=6
    ),
    st.data(),
)
def test_every_quote_of_a_text_is_held_by_a_chunk_or_by_none_that_matters(
    lines: list[str], data: st.DataObject
) -> None:
    text = "\n".join(lines)
    chunks = chunks_of(text, IndexOptions(chunk_characters=50, overlap_characters=20))
    number = data.draw(st.integers(1, len(lines)))
    quote = lines[number - 1].strip()
    evidence = [Evidence(quote=quote, start_line=number, end_line=number)] if quote else []
    found = holders_of(text, evidence, chunks)
    assert len(found) == len(evidence)
    known = {chunk.number for chunk in chunks}
    assert all(some and some <= known for some in found)


TITLES = ["Care of the Salt Probe", "Care of the Salt Probe Second edition"]


@pytest.mark.parametrize(
    ("question", "without"),
    [
        ("In \"Care of the Salt Probe\", how long is the cable?", "How long is the cable?"),
        ("According to care of the salt probe, how long is the cable?", "How long is the cable?"),
        ("How long is the cable in Care of the Salt Probe?", "How long is the cable?"),
        ("How long is the cable (\u201cCare of the Salt Probe\u201d) in metres?", "How long is the cable in metres?"),
        ("In Care of the Salt Probe Second edition, who wrote it?", "Who wrote it?"),
        ("How long is the salt probe's cable?", ""),
        ("How long is the cable?", ""),
    ],
)  # fmt: skip
def test_a_quoted_title_is_removed(question: str, without: str) -> None:
    assert without_title(question, TITLES) == without


def test_titles_are_those_of_the_metadata_and_of_the_first_lines() -> None:
    text = "\n# Town Council\n\nMinutes of 18 April\nPresent: all.\n"
    assert titles_of(text, "Council") == ["Council", "Town Council Minutes of 18 April", "Town Council"]
    assert titles_of("", None) == []
