"""The output of a run: one module for each output format, and what they share."""
