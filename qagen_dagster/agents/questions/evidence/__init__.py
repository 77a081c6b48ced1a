"""The evidence check: quotes are found in the document, and must support the answer."""
