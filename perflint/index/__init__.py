"""The index of a project: its files, modules, classes and functions, and what calls, imports and inherits from what."""
