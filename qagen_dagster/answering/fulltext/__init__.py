"""A document's full text from the network: where it may be, how it is fetched safely, and how it is kept."""
