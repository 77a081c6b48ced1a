"""Exports of published sets, opened by the programs that they are made for."""
