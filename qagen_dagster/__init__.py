"""Document corpora in, validated question/answer evaluation sets out, as a Dagster project."""

from __future__ import annotations

__version__ = "0.1.0"
