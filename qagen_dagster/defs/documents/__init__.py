"""Assets and metadata of parsed documents and their visuals."""
