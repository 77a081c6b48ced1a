"""Records of document questions."""
