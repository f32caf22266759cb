"""The figures of a measurement, as they are kept in JSON.

Seconds are read off a monotonic clock.  A report holds each measured step, so that other statistics can be worked out
from it later.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

BEFORE, ALL_FIXES = "before", "all fixes"
"""The names of the variants that every report has, unless there is one fix only."""


@dataclass(frozen=True)
class Steps:
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

    def to_json(self) -> dict[str, Any]:
        """The run as ``json.dumps`` takes it."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Steps:
        """The run that ``to_json`` has written.

        Raises:
            KeyError: a field is missing.
        """
        return cls(**_taken(cls, data))


@dataclass(frozen=True)
class Variant:
    """The script in one state: ``before``, ``PPF201 train.py:109`` for one fix, or ``all fixes``.

    ``codes`` and ``places`` (``path:row``) are those of the findings that were fixed; ``runs`` has one entry a round.
    """

    name: str
    codes: list[str]
    places: list[str]
    runs: list[Steps]

    def to_json(self) -> dict[str, Any]:
        """The variant as ``json.dumps`` takes it."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Variant:
        """The variant that ``to_json`` has written.

        Raises:
            KeyError: a field is missing.
        """
        return cls(**{**_taken(cls, data), "runs": [Steps.from_json(run) for run in data["runs"]]})


@dataclass(frozen=True)
class Comparison:
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

    @property
    def gains(self) -> bool:
        """Whether the whole interval is above 1."""
        return self.low > 1

    def to_json(self) -> dict[str, Any]:
        """The comparison as ``json.dumps`` takes it."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Comparison:
        """The comparison that ``to_json`` has written.

        Raises:
            KeyError: a field is missing.
        """
        return cls(**_taken(cls, {"differ_from": None, "differ_by": None, **data}))


@dataclass(frozen=True)
class BenchReport:
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

    def to_json(self) -> dict[str, Any]:
        """The report as ``json.dumps`` takes it."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> BenchReport:
        """The report that ``to_json`` has written.

        Raises:
            KeyError: a field is missing.
        """
        variants = [Variant.from_json(item) for item in data["variants"]]
        comparisons = [Comparison.from_json(item) for item in data["comparisons"]]
        return cls(**{**_taken(cls, data), "variants": variants, "comparisons": comparisons})


def _taken(kind: type[Any], data: dict[str, Any]) -> dict[str, Any]:
    """The fields of a dataclass; others, which a later version may write, are passed over."""
    return {field.name: data[field.name] for field in fields(kind)}
