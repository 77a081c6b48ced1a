"""Reads the store as rows for the catalog."""
