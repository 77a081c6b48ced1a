"""From a corpus' files to documents in the store, and back to something agents can open."""
