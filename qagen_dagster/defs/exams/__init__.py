"""Assets, checks, metadata and partitions of exams."""
