"""Closed word lists are written as one string; this module makes sets of them."""

from __future__ import annotations


def word_set(words: str) -> frozenset[str]:
    """The words of a blank-separated list."""
    return frozenset(words.split())
