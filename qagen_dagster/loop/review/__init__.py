"""Decisions of reviewers, and how well reviewers agree."""
