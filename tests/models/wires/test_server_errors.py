"""Reading Retry-After, and what is scrubbed from texts. `test_sdk_client.py` tests the errors over HTTP, on every wire."""

from __future__ import annotations

import pytest

from qagen_dagster.errors import ContextOverflowError
from qagen_dagster.models.wires.server_errors import from_status, scrub


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


@pytest.mark.parametrize(
    ("status", "body", "overflow"),
    [
        (500, {"error": {"message": "Context size has been exceeded.", "type": "server_error"}}, True),
        (500, {"error": {"message": "input (9000 tokens) is too large to process. increase the batch size"}}, True),
        (500, {"error": {"message": "llama runner: prompt too long; context limit exceeded"}}, True),
        (503, {"detail": {"msg": "Prompt too long"}}, True),
        (400, {"errors": [{"message": "AiError: exceeded this model context window limit (8192).", "code": 5021}]}, True),
        (400, {"message": "too many tokens: size limit exceeded by 1200 tokens."}, True),
        (400, {"error": "This model's maximum prompt length is 131072 but the request contains 140000 tokens."}, True),
        (400, {"error": {"code": "1261", "message": "Prompt exceeds max length"}}, True),
        (400, {"error": {"message": "Your request exceeded model token limit: 8192 (requested: 9000)"}}, True),
        (400, {"message": "Range of input length should be [1, 30720]"}, True),
        (422, {"error": "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens"}, True),
        (400, {"error": "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens"}, False),
        (400, {"error": "Tool names have a maximum length of 64"}, False),
        (429, {"error": "Rate limit: 40000 input tokens per minute"}, False),
        (403, {"error": "You have exceeded your monthly token limit"}, False),
    ],
)  # fmt: skip
def test_overflows_by_their_wording(status: int, body: dict[str, object], overflow: bool) -> None:
    assert isinstance(from_status("m", status, body, {}), ContextOverflowError) is overflow
