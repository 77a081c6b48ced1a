"""Programs that run in the environment of a peer; each knows only its library."""
