"""Question sets on the review page."""
