"""How a script is run, and the outcome of one run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perflint.bench.results import Steps


class RunFailed(Exception):
    """A run has not measured anything; ``str(error)`` says why, and what to do."""


@dataclass(frozen=True)
class Plan:
    """How a script is run.

    ``script`` and ``directory`` (where it starts) are relative to ``root``, the project. ``warmup`` and ``steps`` are
    optimizer steps: those that are not counted, and those that are. ``seed`` None leaves the seeds unchanged.
    ``environment`` has variables in addition to those of this process. ``stall_limit`` is in seconds (None: the default
    of `stalls`). ``launch`` is the module that starts several processes, such as ``paddle.distributed.launch``, and its
    arguments; if it is empty, there is one process. ``profile``: also record what the time of the steps is spent on.
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
    """The outcome of one run.

    ``files`` are the Python files of the project that it has loaded, relative to the project; ``seconds`` is the time
    of the whole run, including its start. ``profile`` is the record of ``runner.profiler``, if the plan asked for it.
    """

    steps: Steps
    versions: dict[str, str]
    machine: str
    files: list[str]
    seconds: float
    profile: dict[str, Any] | None = None
