"""The four grading methods: keyword, semantic, LLM judge, hybrid."""
