"""The agent that answers a question from excerpts of one document."""
