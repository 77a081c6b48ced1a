"""Reading Retry-After, and what is scrubbed from texts. `test_sdk_client.py` tests the errors over HTTP, on every wire."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from qagen_dagster.models.wires.server_errors import retry_after, scrub


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, 60.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00"}, 60.0),
        ({"retry-after": "Wed, 21 Oct 2020 07:28:00 GMT"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
    ],
)
def test_reading_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    now = datetime(2026, 10, 21, 7, 27, tzinfo=UTC)
    assert retry_after(headers, now=now) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "sk-proj-abcDEF123456",
        "AIzaSyA-1234567890",
        "Bearer abcdef123456",
        "api_key=abcdef123456",
        "gsk_abc123def456",
    ],
)
def test_what_looks_like_a_key_is_scrubbed(text: str) -> None:
    assert "123456" not in scrub(f"refused: {text}!")
    assert "refused" in scrub(f"refused: {text}!")
