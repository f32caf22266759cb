"""What a run shows: one module for each output format, and what they share."""
