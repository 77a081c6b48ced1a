"""Fits the weights by which the embedded reader chooses short answers, and measures them on what they were not fitted on."""
