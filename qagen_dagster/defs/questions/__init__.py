"""Assets, checks and metadata of document questions."""
