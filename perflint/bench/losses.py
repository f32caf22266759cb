"""Compares the losses before and after a fix."""

from __future__ import annotations

import math
from collections.abc import Sequence

from perflint.bench.results import Steps


def compared(before: Sequence[Steps], after: Sequence[Steps]) -> tuple[bool | None, int | None, float | None]:
    """Compare the losses of two variants step by step.

    Returns:
        Whether all are the same to the last bit, or None if that is unknown (there are none, or those of ``before``
        differ between its own runs); then, if they differ, the first step with a different loss (from 1), and the
        largest difference relative to the loss before (None: not finite).
    """
    if _first_difference(before[0], before[1:]) is not None:
        return None, None, None  # the script alone does not repeat its own losses, so a difference means nothing
    if not any(loss is not None for run in (*before, *after) for loss in run.losses):
        return None, None, None
    first = _first_difference(before[0], after)
    if first is None:
        return True, None, None
    return False, first + 1, largest_difference(before[0], after)


def _first_difference(one: Steps, others: Sequence[Steps]) -> int | None:
    found = (
        step
        for other in others
        for step, (left, right) in enumerate(zip(one.losses, other.losses, strict=False))
        if not _same(left, right)
    )
    return min(found, default=None)


def _same(left: float | None, right: float | None) -> bool:
    if left is None or right is None:
        return left is right
    return left == right or (math.isnan(left) and math.isnan(right))


def largest_difference(one: Steps, others: Sequence[Steps]) -> float | None:
    """The largest difference of a loss in ``others``, relative to that of ``one``; None if it is not finite."""
    largest = 0.0
    for other in others:
        for left, right in zip(one.losses, other.losses, strict=False):
            if not _same(left, right):
                if left is None or right is None or not math.isfinite(left - right):
                    return None
                largest = max(largest, abs(left - right) / (abs(left) or 1.0))
    return largest
