"""Works physics problems: state machine, tasks, properties, bank."""
