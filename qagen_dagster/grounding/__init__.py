"""Whether an answer rests on its document: sentences, windows, checks, judge, grades. No Dagster, no disk."""
