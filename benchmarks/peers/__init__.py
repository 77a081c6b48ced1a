"""Ours beside other generators of question sets: the same documents, the same model server."""
