"""Rate limits and concurrency limits, shared by threads and processes."""
