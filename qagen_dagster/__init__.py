"""A Dagster project that turns document corpora into validated question/answer evaluation sets."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qagen_dagster.defs.questions.downstream import upstream
    from qagen_dagster.public import (
        PublishedSet,
        answer_from_document,
        combinations,
        get_document_text_status,
        published,
        score,
        score_markdown,
        semantic_search_document,
    )

__version__ = "0.1.0"
__all__ = [
    "PublishedSet",
    "__version__",
    "answer_from_document",
    "combinations",
    "get_document_text_status",
    "published",
    "score",
    "score_markdown",
    "semantic_search_document",
    "upstream",
]


def __getattr__(name: str) -> Any:
    """Load the public names at first use, so that importing the package stays quick."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "defs.questions.downstream" if name == "upstream" else "public"
    return getattr(import_module(f"{__name__}.{module}"), name)
