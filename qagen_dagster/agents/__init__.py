"""Agents as data, and the one loop that runs them."""
