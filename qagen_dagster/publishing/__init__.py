"""Published sets and banks in the formats of other programs."""
