"""Agents: data that one loop runs."""
