"""Finds a document's full text on the network, fetches it safely and stores it."""
