"""Reports on the ledger of paid responses, for people."""
