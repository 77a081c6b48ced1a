"""The `qagen` command. Commands that belong together are in one file; `main.py` has the table of all."""
