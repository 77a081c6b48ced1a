"""Publishes validated sets, and reads, exports and describes what is published."""
