"""A project whose files are edited: decides what is kept after an edit, and what is computed again."""
