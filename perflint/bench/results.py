"""The figures of a measurement, as stored in JSON.

Seconds come from a monotonic clock. A report contains each measured step, so that other statistics can be computed from
it later.
"""

from __future__ import annotations

from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any, TypeVar

BEFORE, ALL_FIXES, ALL_SHOWN = "before", "all fixes", "all with suggestions"
"""Names of variants: the unchanged script, with all applied fixes, and also with those that are only shown."""

Kept = TypeVar("Kept", bound="KeptAsJson")


@dataclass(frozen=True)
class KeptAsJson:
    """A dataclass that can be written as JSON and read again."""

    def to_json(self) -> dict[str, Any]:
        """The fields for ``json.dumps``."""
        return asdict(self)

    @classmethod
    def from_json(cls: type[Kept], data: dict[str, Any]) -> Kept:
        """Read what ``to_json`` has written; unknown fields, which a later version may have added, are ignored.

        Raises:
            KeyError: a field is missing.
        """
        needed = {each.name for each in fields(cls) if each.default is MISSING and each.default_factory is MISSING}
        names = [each.name for each in fields(cls) if each.name in data or each.name in needed]
        return cls(**{name: data[name] for name in names})


@dataclass(frozen=True)
class Steps(KeptAsJson):
    """One run of one variant: an entry for each measured step, in order, without the warm-up.

    ``batch_s``: seconds from the end of one optimizer step to the end of the next. ``reader_s``: the part of it that
    was spent in the loader's ``next``. ``samples``: samples of the batch. ``losses``: None if ``backward`` was not
    called on a single number. ``peak_memory_mib``: of the device if it is a GPU, otherwise of the process.
    """

    batch_s: list[float]
    reader_s: list[float]
    samples: list[int]
    losses: list[float | None]
    peak_memory_mib: float
    device: str

    @property
    def ips(self) -> float:
        """Samples per second over all measured steps; 0 if they took no time."""
        seconds = sum(self.batch_s)
        return sum(self.samples) / seconds if seconds else 0.0


@dataclass(frozen=True)
class Variant(KeptAsJson):
    """The script in one state: ``before``, ``PPF201 train.py:109`` for one fix, or ``all fixes``.

    ``codes`` and ``places`` (``path:row``) are those of the findings that were fixed; ``fixes`` names each with its
    rule (``PPF201 train.py:109``); ``runs`` has one entry per round. ``event`` is what the fix removes from each step,
    in words (``a wait for the device``), if it removes one event per step; otherwise it is empty.
    """

    name: str
    codes: list[str]
    places: list[str]
    runs: list[Steps]
    fixes: list[str] = field(default_factory=list)
    event: str = ""

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Variant:
        """Like `KeptAsJson.from_json`, including its runs."""
        return super().from_json({**data, "runs": [Steps.from_json(run) for run in data["runs"]]})


@dataclass(frozen=True)
class Comparison(KeptAsJson):
    """A variant compared with ``before``, or with the older of two revisions.

    ``ips_before`` and ``ips_after`` are samples per second, geometric means over the rounds; ``ratio`` is the second
    divided by the first, ``low`` to ``high`` its 95 % interval. ``same_losses``: whether all losses are equal to the
    last bit; None if there are none, or if they differ between runs of the same script. If they differ, ``differ_from``
    is the first measured step (from 1) with a different loss, ``differ_by`` the largest difference, relative to the
    loss before (None: not finite).

    ``saved_ms`` is how many milliseconds shorter the mean step is, ``saved_low`` to ``saved_high`` the 95 % interval of
    that; below 0 if steps got longer, and None if the two have different numbers of samples per step.
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
    saved_ms: float | None = None
    saved_low: float | None = None
    saved_high: float | None = None


@dataclass(frozen=True)
class BenchReport(KeptAsJson):
    """A whole measurement. ``date`` is UTC, as in ISO 8601; ``warmup`` and ``steps`` apply to each run.

    ``conditions`` are what the figures depend on, and ``failed`` has the variants that were left out, with the reason;
    ``--resume`` needs both.
    ``pilot`` is the number of rounds after which the width of the intervals was first checked, to continue until they
    were narrow enough (``--until``); 0 if the number of rounds was fixed.
    """

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
    conditions: dict[str, str] | None = None
    failed: dict[str, str] | None = None
    pilot: int = 0

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> BenchReport:
        """Like `KeptAsJson.from_json`, including its variants and comparisons."""
        variants = [Variant.from_json(item) for item in data["variants"]]
        comparisons = [Comparison.from_json(item) for item in data["comparisons"]]
        return super().from_json({**data, "variants": variants, "comparisons": comparisons})
