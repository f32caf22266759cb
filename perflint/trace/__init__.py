"""The static trace of a training step: what it does, in order, without running anything."""
