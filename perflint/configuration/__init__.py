"""The settings of a run: where they are written, what they may say, and what they come to."""
