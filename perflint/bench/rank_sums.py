"""Combines several processes that train together into one training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from perflint.bench.results import Steps


def together(ranks: Sequence[Steps]) -> Steps:
    """Combine the steps of all ranks into those of one training.

    A step lasts as long as on the slowest rank, and has the samples of all ranks: two ranks with batches of 8 that take
    0.1 s and 0.2 s make 16 samples in 0.2 s, 80 per second. The waiting time is that of the rank that waits longest,
    the loss is the mean, and the memory is that of the rank that needs most.

    Args:
        ranks: what each rank has measured, one or more; if one has fewer steps than the others, only that many count.
    """
    first = ranks[0]
    if len(ranks) == 1:
        return first
    steps = range(min(len(rank.batch_s) for rank in ranks))
    return replace(
        first,
        batch_s=[max(rank.batch_s[step] for rank in ranks) for step in steps],
        reader_s=[max(rank.reader_s[step] for rank in ranks) for step in steps],
        samples=[sum(rank.samples[step] for rank in ranks) for step in steps],
        losses=[_mean([rank.losses[step] for rank in ranks]) for step in steps],
        peak_memory_mib=max(rank.peak_memory_mib for rank in ranks),
        device=f"{len(ranks)} x {first.device.partition(':')[0]}",
    )


def _mean(losses: Sequence[float | None]) -> float | None:
    known = [loss for loss in losses if loss is not None]
    return sum(known) / len(known) if known and len(known) == len(losses) else None
