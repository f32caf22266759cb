"""What has to be known to read the figures of a rule: how often its mistake happens in a step, and what is unusual."""

from __future__ import annotations

EVENTS: dict[str, tuple[float, str]] = {
    "PPF101": (1, "batch"),
    "PPF102": (1, "batch"),
    "PPF104": (1 / 10, "epoch"),  # of ten steps
    "PPF107": (1, "loader"),
    "PPF202": (1, "line of the log (nine of ten are left out)"),
    "PPF205": (13, "tensor"),  # two weights for each of six levels, and the first zero
    "PPF208": (1, "update of the metric"),
    "PPF209": (16, "mask that is read"),  # 32 after each second step
    "PPF401": (1, "save"),
    "PPF402": (1 / 3, "save"),  # after each epoch of three steps
    "PPF405": (1, "line of the log (nine of ten are left out)"),
    "PPF601": (8, "batch of validation"),  # 16 after each second step
    "PPF701": (1, "step with its checks"),
    "PPF702": (1, "step with its records"),
    "PPF704": (1, "search"),
    "PPF705": (1, "pause"),
}
"""How often the mistake of a rule happens in a step of its script in ``tests/ips/scripts``, and what it is."""

REMARKS = {
    "PPF101": (
        "This needs a free core for the workers: if other programs take all cores, there is little to gain. The run is "
        "short, and at its end the workers have nothing left to load, so the ratio is a little too high"
    ),
    "PPF209": (
        "The script reads 32 masks after every second step, far more than a real training: multiply the milliseconds "
        "by the number of slices that yours reads"
    ),
    "PPF401": (
        "The ratio compares with no save at all, since the fix saves every thousand steps and the script makes 60: "
        "multiply the milliseconds by the number of saves that are left out"
    ),
    "PPF601": (
        "The script evaluates 16 batches after every second step, far more than a real training: multiply the "
        "milliseconds by the number of batches that yours evaluates"
    ),
}
"""Where a ratio alone would be misread, by rule: sentences, of which the last has no full stop."""
