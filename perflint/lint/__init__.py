"""Turns what the index knows into findings: the registry of rules, their candidates, and messages."""
