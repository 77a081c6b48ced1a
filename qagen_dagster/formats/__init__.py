"""Bytes in, documents out: one format, one file, one line in the registry."""
