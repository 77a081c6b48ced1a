"""Solvers that find the key of an item again, independently of its family."""
