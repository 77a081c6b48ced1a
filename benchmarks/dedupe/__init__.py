"""Questions that a deduplicator must tell apart or join, and how well ours does it."""
