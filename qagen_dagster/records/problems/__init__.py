"""Records of physics problems."""
