"""Parameterised item families, one file per exam schema."""
