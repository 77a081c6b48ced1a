"""Exports of banks of exam items as files of other programs. Exporters do not write to disk."""
