"""The `qagen exam` commands."""
