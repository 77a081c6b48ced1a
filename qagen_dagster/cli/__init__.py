"""The `qagen` command: one command, one file."""
