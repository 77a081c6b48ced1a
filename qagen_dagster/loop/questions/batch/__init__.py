"""The batch strategy: many questions from one reply."""
