"""Reads the YAML files that users write, and reports each error with its file and line."""
