from __future__ import annotations

import pytest

from qagen_dagster.answering.texts import bare_doi


@pytest.mark.parametrize(
    "said",
    [
        "10.1/x", "doi:10.1/x", "Doi: 10.1/x", "https://doi.org/10.1/x", "HTTPS://www.doi.org/10.1/x",
        "http://dx.doi.org/10.1/x", " doi.org/10.1/x ",
    ],
)  # fmt: skip
def test_a_doi_is_read_however_it_is_written(said: str) -> None:
    assert bare_doi(said) == "10.1/x"


@pytest.mark.parametrize(
    "said", [None, "", "doi:", "10.1", "https://example.org/10.1/x", "10.1/x y", "10.1/" + "x" * 300]
)
def test_what_is_no_doi_is_none(said: str | None) -> None:
    assert bare_doi(said) is None
