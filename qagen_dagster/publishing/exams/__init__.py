"""Banks of exam items as files of other programs. No disk."""
