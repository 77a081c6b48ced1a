"""Assets, checks and metadata of exams."""
