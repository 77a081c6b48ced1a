"""Agents for evaluations of a published set."""
