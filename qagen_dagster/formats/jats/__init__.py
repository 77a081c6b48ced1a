"""The JATS XML format."""
