"""Exam items: state machine, effects, bank."""
