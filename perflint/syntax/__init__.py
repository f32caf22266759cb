"""The source code of one file: its tree, names, scopes and statements, without information from other files."""
