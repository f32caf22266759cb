"""A project: its files, the modules, classes and functions in them, and who calls, imports and inherits from what."""
