"""Fuzzers: each makes up input with a seed, runs perflint on it within a time limit, and says what failed.

``python -m tests.fuzz.NAME --seed 1 --seconds 60`` runs one; the tests run each for a moment.
"""
