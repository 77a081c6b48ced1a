"""Physics problems without a model: TeX alone, and only what can be computed or counted.

Classified by wording, ideas by lists of terms, numerical variants and conversions where the solution is a chain of
expressions in numbers that is computed again. Everything else is reported as what it is: not possible without a model.
"""
