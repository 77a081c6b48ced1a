"""Physics problems: state machine, tasks, properties, bank."""
