"""Measurements on a card that is lent for minutes: one process, no installation, each figure written at once.

``docs/gpu-day.md`` has the commands in order.
"""

NO_KERNEL = "Optimizer."
"""How the profiler's names begin for spans on the card that are no kernels, but what the optimizer did as a whole."""
