"""Records of exam items."""
