"""Fuzzers: each is a program with a seed and a time limit, of which a short run is a test."""
