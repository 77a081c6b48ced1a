"""Sets up answering a question from one document."""
