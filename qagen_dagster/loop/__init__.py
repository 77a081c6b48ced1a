"""State machines over agents: pure transitions, and the effects that perform their steps."""
