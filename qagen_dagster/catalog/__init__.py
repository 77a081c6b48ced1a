"""The catalog: a DuckDB file of everything that was made, derived from the store's records."""
