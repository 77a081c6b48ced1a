"""The agents of document questions: generator, validator (blind answer, then comparison), deduplicator."""
