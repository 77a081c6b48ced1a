"""The review page: the data of published sets that it shows, its server on loopback, and the same page as one file."""
