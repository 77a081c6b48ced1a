"""Finds what is out of date in the whole project, and why."""
