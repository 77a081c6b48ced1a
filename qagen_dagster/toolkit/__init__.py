"""The tools an agent explores a document with."""
