"""Asset and metadata of the search index."""
