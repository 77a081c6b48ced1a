"""Provider APIs, one file per wire."""
