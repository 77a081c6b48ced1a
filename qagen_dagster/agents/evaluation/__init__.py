"""The agents that evaluations of a published set ask."""
