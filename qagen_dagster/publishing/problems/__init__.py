"""Exports of problem banks, one module per format. Exporters do not write to disk."""
