"""The strategy across: questions that need several documents, which share names or numbers."""
