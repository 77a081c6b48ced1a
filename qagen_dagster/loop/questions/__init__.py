"""Questions about documents: state machine, effects, sets, publishing."""
