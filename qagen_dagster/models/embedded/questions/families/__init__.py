"""Kinds of facts that rules turn into questions, one file per kind."""
