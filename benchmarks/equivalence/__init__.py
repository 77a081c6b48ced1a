"""Compares what two checkouts make of the same input, for changes that must not change behaviour."""
