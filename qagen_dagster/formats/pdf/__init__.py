"""The PDF format: text, structure and page pictures."""
