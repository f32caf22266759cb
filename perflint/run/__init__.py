"""A run over files: one project after the other, in one process or several, once or repeatedly."""
