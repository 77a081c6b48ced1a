"""See `datasets`."""
