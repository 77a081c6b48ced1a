"""The seven roles that work on physics problems, one module each. Their callers check what they submit."""
