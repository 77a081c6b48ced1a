"""Exam items from the embedded models: parameterised families generate them, and a separate solver checks their keys.

A family fills a stem with numbers drawn from the request's seed, computes the key, and derives each wrong option from
a named mistake. The verifier shares no code with the families: it reads the stem. All texts are English.
"""
