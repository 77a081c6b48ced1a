"""Assets, checks and metadata of physics problems."""
