"""Cost and time of a run, estimated before it starts."""
