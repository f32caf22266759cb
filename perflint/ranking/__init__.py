"""Ranks findings by a profile: reads profiles, matches findings, and computes what each can save."""
