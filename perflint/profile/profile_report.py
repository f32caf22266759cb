"""A profile as stored in JSON: the phases of a step, and the lines that take its time.

All times are in milliseconds, and means of one measured step; a share is a part of such a step, from 0 to 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from perflint.bench.results import KeptAsJson

FORMAT, VERSION = "perflint-profile", 1


class ProfileError(Exception):
    """JSON is not what ``perflint profile --json`` writes; ``str(error)`` says why."""


@dataclass(frozen=True)
class StepTimes(KeptAsJson):
    """How long the measured steps took, from the end of one to the end of the next."""

    mean: float
    median: float
    p95: float


@dataclass(frozen=True)
class PhaseTime(KeptAsJson):
    """The time and share of a step that a phase takes."""

    ms: float
    share: float


@dataclass(frozen=True)
class ProfileEvent(KeptAsJson):
    """A line of the project that takes time, and what it spends it on.

    Attributes:
        path: its file, relative to the root of the project, with "/".
        line: its number, from 1.
        kind: one of ``perflint.bench.runner.step_kinds``, such as "read".
        what: the function, such as ``Tensor.item``.
        times: calls per step; 0 (unknown) for code that was seen by sampling (kind "other").
        ms: milliseconds per step.
        share: the part of a step, from 0 to 1.
        phase: the phase that it belongs to.
        note: more about it, such as the workers of a loader, or "".
        via: the library function that the line has called, if that has called ``what``; else "".
        evaluating: whether the trained model was in evaluation mode.
        source: the text of the line, or "".
    """

    path: str
    line: int
    kind: str
    what: str
    times: float
    ms: float
    share: float
    phase: str
    note: str = ""
    via: str = ""
    evaluating: bool = False
    source: str = ""

    @property
    def place(self) -> str:
        """``train.py:73``."""
        return f"{self.path}:{self.line}"


@dataclass(frozen=True)
class ProfileReport(KeptAsJson):
    """A whole profile.

    Attributes:
        made: when it was made, in UTC, as in ISO 8601.
        script: the script, relative to the root of the project.
        arguments: what it was called with.
        python: the version of the Python that ran it.
        paddle: the version of Paddle.
        device: "cpu", or "gpu:0".
        warmup: steps that were left out.
        steps: steps that were measured.
        step_ms: their times.
        ips: samples per second.
        phases: all phases, in the order of ``step_kinds.PHASES``; their times add up to the mean step.
        events: the lines, the longest first.
        files: the SHA-256 of each Python file of the project that the script has loaded, by path.
        machine: the GPU if there is one, processor, cores, system.
        notes: remarks on the figures.
    """

    made: str
    script: str
    arguments: list[str]
    python: str
    paddle: str
    device: str
    warmup: int
    steps: int
    step_ms: StepTimes
    ips: float
    phases: dict[str, PhaseTime]
    events: list[ProfileEvent]
    files: dict[str, dict[str, str]]
    machine: str = ""
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The fields for ``json.dumps``."""
        return {"format": FORMAT, "version": VERSION, **super().to_json()}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ProfileReport:
        """Read what ``to_json`` has returned; unknown keys, which a later version may have added, are ignored.

        Raises:
            ProfileError: it is not a profile, or a key is missing.
        """
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise ProfileError(f'it is not a profile: "format" should be "{FORMAT}"')
        if data.get("version") != VERSION:
            raise ProfileError(
                f"it is a profile of version {data.get('version')}, and this perflint reads version {VERSION}"
            )
        try:
            parts = {
                "step_ms": StepTimes.from_json(data["step_ms"]),
                "phases": {name: PhaseTime.from_json(phase) for name, phase in data["phases"].items()},
                "events": [ProfileEvent.from_json(event) for event in data["events"]],
            }
            return super().from_json({**data, **parts})
        except KeyError as error:
            raise ProfileError(f"its key {error} is missing") from error
        except (TypeError, AttributeError) as error:
            raise ProfileError("its parts are not what a profile has") from error
