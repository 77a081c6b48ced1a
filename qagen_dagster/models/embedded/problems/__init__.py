"""Physics problems with the embedded models: only TeX, and only what can be computed or counted.

Wording gives the classification, and lists of terms give the ideas. Numerical variants and conversions need a
solution that is a chain of numerical expressions to recompute. Everything else is reported as impossible without a
language model.
"""
