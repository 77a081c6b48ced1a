"""What an agent run leaves behind: its model calls with tokens, cost and time, and what the model wrote."""

from __future__ import annotations

import json
from collections.abc import Iterable

from qagen_dagster.agents.runner import AgentRun
from qagen_dagster.models.base import ModelSpec
from qagen_dagster.models.budget import usd
from qagen_dagster.models.messages import Response
from qagen_dagster.records.run import CallSummary


def call_summaries(
    run: AgentRun, role: str, spec: ModelSpec, document_id: str, attempt: int
) -> tuple[CallSummary, ...]:
    """Account for every response of a run."""
    return response_summaries(run.responses, role, spec, document_id, attempt)


def response_summaries(
    responses: Iterable[Response], role: str, spec: ModelSpec, document_id: str, attempt: int
) -> tuple[CallSummary, ...]:
    """Account for each response."""
    return tuple(
        CallSummary(
            request_key=response.request_key,
            role=role,
            model=spec.name,
            document_id=document_id,
            attempt=attempt,
            input_tokens=response.usage.input_tokens,
            output_tokens=response.usage.output_tokens,
            cached_tokens=response.usage.cached_tokens,
            reasoning_tokens=response.usage.reasoning_tokens,
            cache_write_tokens=response.usage.cache_write_tokens,
            usd=usd(spec, response.usage, batch=response.batch),
            seconds=round(response.seconds, 4),
            retries=response.retries,
            replayed=response.replayed,
        )
        for response in responses
    )


def raw_text(run: AgentRun) -> str:
    """Text and arguments of every response, in order."""
    rows: list[str] = []
    for response in run.responses:
        rows += [response.message.text] if response.message.text else []
        rows += [
            f"{call.name} {json.dumps(call.arguments, ensure_ascii=False)}"
            for call in response.message.tool_calls
        ]
    return "\n\n".join(rows)
