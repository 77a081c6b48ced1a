"""Decides whether two questions ask for the same thing."""
