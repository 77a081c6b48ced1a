"""Exports of problem banks: one file per format, pure, no disk."""
