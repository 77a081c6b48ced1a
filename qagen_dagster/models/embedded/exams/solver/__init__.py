"""Solvers that recompute the key of an item independently of its family."""
