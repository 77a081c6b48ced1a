"""Measurements: ratios taken side by side in one run. Not tests; they assert nothing about time."""
