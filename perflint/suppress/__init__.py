"""Findings that are not to be reported: ``# noqa`` comments and baselines."""
