"""Parses the files of a corpus into documents in the store, and opens stored documents for agents."""
