"""Exports of published question sets as files of other programs."""
