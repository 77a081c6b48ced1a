"""Agents that work on physics problems: one task, and the roles."""
