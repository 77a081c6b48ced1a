"""Answers as values: what an option's text says, what a checkable form computes, and whether the two are equal.

Nothing here knows of models, agents or exams' loops. Text is read without being run; a form is run in a process of
its own. SymPy is imported when the first value is computed, never with the package.
"""
