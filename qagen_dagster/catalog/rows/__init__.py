"""Turns records into flat rows of the catalog's tables, one module per product."""
