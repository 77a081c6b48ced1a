"""The work of each product: pure state machines, and the effects that perform their steps."""
