"""A Python file as text, before anything is parsed."""
