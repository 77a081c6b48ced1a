"""Records turned into flat rows of the catalog's tables, one file per product."""
