"""The model that needs no key and no download: rules propose, retrieval checks, comparison deduplicates.

It says what it is (`embedded:rules`, `embedded:reader`, `embedded:matcher`) and speaks the tool protocol of any
model. English only; questions copy the evidence's words; facts of single sentences, rows and entries.
"""
