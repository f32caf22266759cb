"""The figures of a measurement, as they are kept in JSON.

Seconds are read off a monotonic clock.  A report holds each measured step, so that other statistics can be worked out
from it later.
"""

from __future__ import annotations

from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, TypeVar

BEFORE, ALL_FIXES = "before", "all fixes"
"""The names of the variants that every report has, unless there is one fix only."""

Kept = TypeVar("Kept", bound="_Kept")


@dataclass(frozen=True)
class _Kept:
    """What can be written as JSON, and read again."""

    def to_json(self) -> dict[str, Any]:
        """The fields as ``json.dumps`` takes them."""
        return asdict(self)

    @classmethod
    def from_json(cls: type[Kept], data: dict[str, Any]) -> Kept:
        """What ``to_json`` has written; fields that a later version may have added are passed over.

        Raises:
            KeyError: a field is missing.
        """
        names = [each.name for each in fields(cls) if each.name in data or each.default is MISSING]
        return cls(**{name: data[name] for name in names})


@dataclass(frozen=True)
class Steps(_Kept):
    """One run of one variant: an entry for each measured step, in order; the warm-up is left out.

    ``batch_s``: seconds from the end of one optimizer step to the end of the next.  ``reader_s``: the part of it that
    was spent in the loader's ``next``.  ``samples``: samples of the batch.  ``losses``: None where nobody called
    ``backward`` on one number.  ``peak_memory_mib``: of the device if that is a GPU, else of the process.
    """

    batch_s: list[float]
    reader_s: list[float]
    samples: list[int]
    losses: list[float | None]
    peak_memory_mib: float
    device: str

    @property
    def ips(self) -> float:
        """Samples a second, over all measured steps; 0 where these took no time."""
        seconds = sum(self.batch_s)
        return sum(self.samples) / seconds if seconds else 0.0


@dataclass(frozen=True)
class Variant(_Kept):
    """The script in one state: ``before``, ``PPF201 train.py:109`` for one fix, or ``all fixes``.

    ``codes`` and ``places`` (``path:row``) are those of the findings that were fixed; ``runs`` has one entry a round.
    """

    name: str
    codes: list[str]
    places: list[str]
    runs: list[Steps]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Variant:
        """As above, with its runs."""
        return super().from_json({**data, "runs": [Steps.from_json(run) for run in data["runs"]]})


@dataclass(frozen=True)
class Comparison(_Kept):
    """A variant against ``before``.

    ``ips_before`` and ``ips_after`` are samples a second, geometric means over the rounds; ``ratio`` is the second by
    the first, ``low`` to ``high`` its 95 % interval.  ``same_losses``: whether all losses are equal to the last bit;
    None where there are none, or where the script gives other losses whenever it runs.  Where they are not:
    ``differ_from`` is the first measured step (from 1) with another loss, ``differ_by`` the largest difference,
    relative to the loss before (None: not finite).
    """

    variant: str
    ips_before: float
    ips_after: float
    ratio: float
    low: float
    high: float
    same_losses: bool | None
    differ_from: int | None = None
    differ_by: float | None = None


@dataclass(frozen=True)
class BenchReport(_Kept):
    """A whole measurement.  ``date`` is UTC, as in ISO 8601; ``warmup`` and ``steps`` are of each run."""

    script: str
    arguments: list[str]
    machine: str
    versions: dict[str, str]
    date: str
    warmup: int
    steps: int
    rounds: int
    variants: list[Variant]
    comparisons: list[Comparison]
    notes: list[str]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> BenchReport:
        """As above, with its variants and comparisons."""
        variants = [Variant.from_json(item) for item in data["variants"]]
        comparisons = [Comparison.from_json(item) for item in data["comparisons"]]
        return super().from_json({**data, "variants": variants, "comparisons": comparisons})
