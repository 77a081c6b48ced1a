"""Assets, checks and metadata of grading."""
