"""Agents that make exam items: designer, implementer, verifier and style judge. No tools but the one that submits."""
