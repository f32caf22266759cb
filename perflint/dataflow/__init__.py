"""Finds what names, attributes and calls evaluate to: kinds, constants, and the functions that calls reach."""
