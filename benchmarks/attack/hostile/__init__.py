"""Hostile documents, made by script with fixed seeds: one module for each kind of file."""
