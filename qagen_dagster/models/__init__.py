"""Language models behind one method. Provider-specific code stays in the file of its wire."""
