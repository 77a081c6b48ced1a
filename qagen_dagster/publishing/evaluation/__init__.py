"""Reports of evaluations as files."""
