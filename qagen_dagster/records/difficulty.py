"""Difficulty levels of exam items and physics problems."""

from __future__ import annotations

from enum import StrEnum


class Difficulty(StrEnum):
    """How hard an item is meant to be."""

    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"
