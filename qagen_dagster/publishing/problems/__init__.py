"""Exports of problem banks. Exporters do not write to disk."""
