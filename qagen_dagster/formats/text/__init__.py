"""The plain-text format."""
