"""Records of answering a question from one document."""
