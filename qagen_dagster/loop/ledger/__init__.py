"""Reports on the ledger of paid responses, and its maintenance."""
