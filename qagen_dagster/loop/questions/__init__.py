"""Document questions: state machine, effects, sets, publishing."""
