"""Agents that write many questions at once from the text they are shown, and answer them one by one. No tools."""
