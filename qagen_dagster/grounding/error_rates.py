"""How often the verdicts of code were right on public sets. `benchmarks/grounding` writes the figures."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources

from pydantic import TypeAdapter

from qagen_dagster.records.grading import ErrorRate

FILE = "error_rates.json"
_RATES = TypeAdapter(tuple[ErrorRate, ...])


@lru_cache(maxsize=1)
def error_rates() -> tuple[ErrorRate, ...]:
    """The figures, by length of the document and by verdict."""
    return _RATES.validate_json(resources.files("qagen_dagster.grounding").joinpath(FILE).read_bytes())
