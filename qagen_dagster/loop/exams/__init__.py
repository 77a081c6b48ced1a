"""Works exam items: state machine, effects, bank."""
