"""Reads the files of a corpus into the store as documents, and opens stored documents for agents."""
