"""How a script is run, and what one run has shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perflint.bench.results import Steps


class RunFailed(Exception):
    """A run has not measured anything; ``str(error)`` tells a person why, and what to do."""


@dataclass(frozen=True)
class Plan:
    """How a script is run.

    ``script`` and ``directory`` (where it starts) are seen from ``root``, the project.  ``warmup`` and ``steps`` are
    optimizer steps: those that are not counted, and those that are.  ``seed`` None leaves the seeds alone.
    ``environment`` has variables beside those of this process.  ``stall_limit`` is in seconds (None: as `stalls`
    has it).  ``launch`` are the module that starts several processes, such as ``paddle.distributed.launch``, and its
    arguments; where it is empty, there is one process.  ``profile``: note what the steps are spent on, too.
    """

    root: Path
    script: Path
    directory: Path
    arguments: list[str]
    python: str
    warmup: int = 10
    steps: int = 50
    seed: int | None = 0
    environment: dict[str, str] = field(default_factory=dict)
    stall_limit: float | None = None
    launch: list[str] = field(default_factory=list)
    profile: bool = False


@dataclass(frozen=True)
class Outcome:
    """What one run has shown.

    ``files`` are the Python files of the project that it has loaded, seen from there; ``seconds`` is the time that the
    whole run took, with its start.  ``profile`` is what ``runner.profiler`` has noted, where the plan asked for it.
    """

    steps: Steps
    versions: dict[str, str]
    machine: str
    files: list[str]
    seconds: float
    profile: dict[str, Any] | None = None
