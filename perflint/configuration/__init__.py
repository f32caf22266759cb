"""The settings of a run: where they are found, which values are allowed, and how they are combined."""
