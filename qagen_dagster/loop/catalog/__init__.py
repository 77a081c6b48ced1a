"""The store read as rows for the catalog."""
