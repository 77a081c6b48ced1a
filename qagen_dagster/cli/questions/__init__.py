"""The commands that make question sets, list their questions and compare them."""
