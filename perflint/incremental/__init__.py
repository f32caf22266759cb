"""A project whose files are edited: what is kept after an edit, and what is worked out again."""
