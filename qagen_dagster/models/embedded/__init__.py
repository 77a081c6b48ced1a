"""The embedded models (no API key, no network): rules propose questions, retrieval answers them, comparison
deduplicates.

Their model names say what they are (`embedded:rules`, `embedded:reader`, `embedded:matcher`), and they use the tool
protocol of any model. They know English only. Questions reuse the evidence's words, about facts of single sentences,
rows and entries.
"""
