"""Assets, checks and metadata of evaluations."""
