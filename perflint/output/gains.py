"""What a profile says about a finding, as JSON-ready values for the machine-readable formats."""

from __future__ import annotations

from typing import Any

from perflint.ranking.ranked import Bound


def gain_data(bound: Bound) -> dict[str, Any]:
    """The share of the step (0 to 1), how many times as fast the step can get, and how that was found.

    ``share`` is None if nothing is known, ``at_most`` is None if nothing limits the gain; ``more`` says why.
    """
    return {
        "grade": str(bound.grade),
        "share": None if bound.share is None else round(bound.share, 6),
        "at_most": None if bound.at_most is None else round(bound.at_most, 4),
        "by": bound.by or None,
        "shared_by": bound.shared,
        "more": bound.more or None,
        "file": bound.profile or None,
    }
