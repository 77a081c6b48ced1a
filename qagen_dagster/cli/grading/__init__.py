"""The commands that grade answers and report grades."""
