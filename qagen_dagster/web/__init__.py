"""The review page: what it shows of published sets, its server on loopback, and the same page as one file."""
