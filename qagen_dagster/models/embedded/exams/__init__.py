"""Exam items without a model: parameterised families make them, a solver of its own finds their keys again.

A family writes a stem around numbers that the request's seed chooses, computes the key, and computes each wrong option by
walking a named mistake in reasoning. The verifier shares no code with the families: it reads the stem. English only; as
many kinds of questions as there are families.
"""
