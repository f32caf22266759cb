"""Turns what the index knows into findings: rules, gates, the walk, and messages."""
