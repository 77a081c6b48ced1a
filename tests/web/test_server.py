from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx
import pytest

from qagen_dagster.loop.review_decisions import decisions_of
from qagen_dagster.loop.workspace import Workspace
from tests.support.history_project import COMBINATION, history
from tests.support.reviewed import KEY, page, reviewed


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return reviewed(tmp_path / "project")


@pytest.fixture
def client(space: Workspace) -> Generator[httpx.Client]:
    with page(space) as address, httpx.Client(base_url=address, trust_env=False) as opened:
        yield opened


def sent(client: httpx.Client, **changes: Any) -> httpx.Response:
    """An acceptance of the first question, as the page sends it."""
    headers = {"Origin": str(client.base_url).rstrip("/"), "Content-Type": "application/json"}
    row = client.get("data").json()["rows"][0]
    judgement = {"set_key": KEY.key, "question_id": row["id"], "reviewer": "ann", "action": "accept"}
    return client.post("decide", headers=headers | changes, content=json.dumps(judgement))


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
    ids=["rebound name", "another port", "foreign origin", "opaque origin", "foreign site"],
)
def test_a_foreign_page_reads_and_writes_nothing(
    client: httpx.Client, space: Workspace, headers: dict[str, str]
) -> None:
    for path in ("", "data", "review.js"):
        assert client.get(path, headers=headers).status_code == 403
    assert sent(client, **headers).status_code == 403
    assert decisions_of(space, KEY.key) == {}


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded"])
def test_a_form_of_another_page_cannot_write(client: httpx.Client, kind: str) -> None:
    assert sent(client, **{"Content-Type": kind}).status_code == 403
    assert client.post("decide", content="{}").status_code == 403  # without Origin


def test_a_decision_is_stored_and_answered_with_the_state(client: httpx.Client, space: Workspace) -> None:
    answer = sent(client)
    assert (answer.status_code, answer.json()["state"]) == (200, "accepted")
    (decisions,) = decisions_of(space, KEY.key).values()
    assert [(one.reviewer, one.action.value, one.answer) for one in decisions] == [
        ("ann", "accept", "10 bar")
    ]
    assert (
        client.get("reviews?known=0&read=1").json()["reviews"]["sets"][KEY.key][decisions[0].question_id][
            "state"
        ]
        == "accepted"
    )
    assert client.get("reviews?known=1&read=1").json() is None


def test_a_page_to_read_refuses_decisions(space: Workspace) -> None:
    with page(space, read_only=True) as address, httpx.Client(base_url=address, trust_env=False) as client:
        assert client.get("data").json()["readOnly"] is True
        assert sent(client).status_code == 403


def test_every_answer_forbids_scripts_of_others(client: httpx.Client) -> None:
    for path in ("", "data", "nothing"):
        headers = client.get(path).headers
        assert "script-src 'self';" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
    assert client.get("../pyproject.toml").status_code == 404


def test_what_is_not_a_decision_is_one_line(client: httpx.Client) -> None:
    headers = {"Origin": str(client.base_url).rstrip("/"), "Content-Type": "application/json"}
    row = client.get("data").json()["rows"][0]
    judgement = {"set_key": KEY.key, "question_id": row["id"], "reviewer": "ann", "action": "edit"}
    answer = client.post("decide", headers=headers, content=json.dumps(judgement))
    assert (answer.status_code, answer.json()) == (
        400,
        {"error": "an edit needs new_question and new_answer"},
    )
    judgement["question_id"] = "q-0"
    assert client.post("decide", headers=headers, content=json.dumps(judgement)).status_code == 404
    assert client.post("decide", headers=headers, content=b" " * 200_000).status_code == 400


def test_one_question_has_its_lines_and_its_similar_questions(client: httpx.Client) -> None:
    rows = client.get("data").json()["rows"]
    asked = {"set": KEY.key, "id": rows[1]["id"]}
    (passage,) = client.get("detail", params=asked).json()["passages"]
    assert [line["pieces"] for line in passage if line["number"] == 4] == [
        ["Valve 1 ", "opens at 11 bar", "."]
    ]
    lines = client.get("lines", params={**asked, "first": 1, "last": 99}).json()
    assert [line["number"] for line in lines] == [1, 2, 3, 4, 5]
    near = client.get("similar", params=asked).json()
    assert near[0]["score"] > 0.8
    assert rows[1]["id"] not in [one["id"] for one in near]
    assert "qagen run" in client.get("lineage", params=asked).json()["note"]
    assert client.get("lines", params={**asked, "first": "x", "last": 1}).status_code == 400


def test_agreement_has_the_facts_of_the_sets_on_which_somebody_decided(client: httpx.Client) -> None:
    assert client.get("agreement").json() == {}
    sent(client)
    facts = client.get("agreement").json()[KEY.key]
    assert facts["states"] == {"accepted": 1, "unreviewed": 5}
    assert facts["reviewers"] == {"ann": 1}


@pytest.mark.filterwarnings("ignore::dagster.BetaWarning", "ignore::dagster.PreviewWarning")
@pytest.mark.filterwarnings("ignore:Property `OpDefinition.version`:DeprecationWarning")
def test_versions_can_be_compared_and_attempts_have_their_cost(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    space = Workspace(history(tmp_path_factory).project.settings())
    with page(space, read_only=True) as address, httpx.Client(base_url=address, trust_env=False) as client:
        asked = {"set": COMBINATION}
        versions = client.get("versions", params=asked).json()
        assert [one["version"] for one in versions] == [*range(len(versions), 0, -1)]
        assert versions[-1]["questions"] == 4
        assert versions[-1]["profile"]
        found = client.get("compare", params={**asked, "first": 1, "second": len(versions)}).json()
        assert (found["first"]["version"], found["second"]["version"]) == (1, len(versions))
        assert found["in_both"] + len(found["only_in_first"]) == 4
        data = client.get("data").json()
        assert all(row["usd"] > 0 for row in data["rows"] if row["outcome"] == "accepted")
        lost = client.get("compare", params={**asked, "first": 1, "second": 99})
        assert (lost.status_code, "99" in lost.json()["error"]) == (404, True)
