"""Findings that should not be reported: ``# noqa`` comments and baselines."""
