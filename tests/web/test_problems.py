"""Problems on the review page, and what a rejection does to their bank."""

from __future__ import annotations

from pathlib import Path

import pytest

from qagen_dagster.loop.problems.bank import FILES, export_of, reviewed
from qagen_dagster.loop.problems.run_set import pipeline_result
from qagen_dagster.loop.review_decisions import append
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.decisions import Decision
from qagen_dagster.records.problems.result import ProblemBank
from qagen_dagster.web.problems import problem_source
from qagen_dagster.web.review_set import Row
from tests.support.problems.export import record
from tests.support.project import Project

ITEM = r"""\item A stone falls for $2\,\mathrm{s}$. How far?
\begin{tasks}(2)
\task $10\,\mathrm{m}$
\task $20\,\mathrm{m}$ \ans
\end{tasks}
\begin{solution}
It falls \(\frac{1}{2} g t^2\), which is $\boxed{20\,\mathrm{m}}$.
\end{solution}"""


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace(Project.make(tmp_path / "project").settings(profile="embedded"))


def bank(space: Workspace) -> ProblemBank:
    """One problem with a numerical variant, stored as it is published."""
    one = record(ITEM, variants={"numerical": ITEM.replace("2\\,\\mathrm{s}", "3\\,\\mathrm{s}")})
    made = reviewed(space, ProblemBank(name="motion", title="Motion", problems=(one,)))
    space.store.write(ProblemBank.file_key("motion", FILES[0]), made)
    return made


def reject(space: Workspace, row: Row) -> None:
    given = {"set_key": row.set_key, "question_id": row.id, "document_id": row.document}
    texts = {"question": row.question, "answer": row.answer, "reviewer": "ida", "reason": "ambiguous"}
    append(space, Decision.model_validate({**given, **texts, "action": "reject"}))


def test_each_item_of_a_problem_is_shown_with_its_formulas(space: Workspace) -> None:
    source = problem_source(space, "motion")
    assert source.state() is None
    bank(space)
    found = source.read()
    assert [(one.document, one.type, one.outcome) for one in found.rows] == [
        ("p-01", "original", "accepted"),
        ("p-01", "numerical", "accepted"),
    ]
    assert len({one.id for one in found.rows}) == 2
    sections = found.detail(found.rows[0].id).sections
    statement, *options = sections[0].entries
    assert "<math" in statement.markup
    assert [(one.label, one.mark) for one in options] == [("a", ""), ("b", "yes")]
    assert {"Solution", "LaTeX"} <= {one.title for one in sections}


def test_a_rejected_variant_leaves_the_exports(space: Workspace) -> None:
    bank(space)
    rows = problem_source(space, "motion").read().rows
    reject(space, rows[1])
    made = bank(space)
    assert made.problems[0].withdrawn == {"numerical": "ida: ambiguous"}
    assert [one.made for one in export_of(made).items] == ["original"]
    result = pipeline_result(made.problems[0])
    assert result is not None
    assert result.variants == {}
    after = problem_source(space, "motion").read().rows
    assert [(one.id, one.outcome, one.reason) for one in after] == [
        (rows[0].id, "accepted", ""),
        (rows[1].id, "rejected", "rejected_by_reviewer"),
    ]


def test_a_rejected_problem_leaves_with_all_that_was_made_of_it(space: Workspace) -> None:
    bank(space)
    reject(space, problem_source(space, "motion").read().rows[0])
    made = bank(space)
    assert made.accepted == ()
    assert export_of(made).items == ()
    assert [one.outcome for one in problem_source(space, "motion").read().rows] == ["rejected", "rejected"]
