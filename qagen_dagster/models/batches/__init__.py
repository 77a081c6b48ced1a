"""Batch endpoints of providers: requests collected, sent as one job, results handed out."""
