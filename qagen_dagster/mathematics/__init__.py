"""Answers as values: reading an option's text, computing a checkable form, and comparing the two.

Text is read without being executed; a form is computed in a separate process. SymPy is imported only when the first value is computed.
"""
