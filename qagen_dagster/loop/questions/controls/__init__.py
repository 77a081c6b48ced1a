"""Checks of candidates that the validator would accept: what a question claims about itself must hold."""
