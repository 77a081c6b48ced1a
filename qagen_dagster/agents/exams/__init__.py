"""Agents that make exam items: designer, implementer, verifier and style judge. Their only tool submits the result."""
