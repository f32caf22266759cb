"""One file as it is written: its tree, names, scopes and statements, read without asking any other file."""
