"""Agents without tools: they write many questions at once from the text they are shown, and answer them one by one."""
