"""The tools with which an agent explores a document."""
