"""The resolved settings of one run (``perflint.configuration.config_files`` finds and reads them)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from perflint.findings import Confidence, ImpactLevel
from perflint.inputs.input_files import Inputs
from perflint.inputs.patterns import Patterns


@dataclass(frozen=True)
class DeclaredCall:
    """A function of the project that the configuration declares.

    ``parameter`` is the parameter that matters: a loader's number of workers, or the one that takes a tensor (empty:
    any argument). ``position`` is its place among the arguments (from 0; None: taken from the function's definition, or
    keyword only), ``default`` the number of workers of a loader if a call leaves it out.
    """

    parameter: str = ""
    position: int | None = None
    default: int = 0


@dataclass(frozen=True)
class Settings:
    """The settings of a run. Each field is the key of the same name (``_`` for ``-``) in ``[tool.perflint]``.

    ``context``: paths relative to ``root`` whose files are read as part of the project, but not reported.
    ``profile``: a profile, relative to ``root``, that findings are ranked by; empty: none.
    ``select`` None means the rules that are on by default; entries are prefixes (``PPF2``) or ``ALL``.
    ``join_lines``: whether findings of one rule on neighbouring lines with the same cause are reported as one.
    ``line_length`` is the greatest length of lines that a fix writes.
    ``target_paddle`` is the oldest Paddle that the code has to support; empty: taken from the project's files.
    ``inputs`` is not a key: information from files of other kinds, such as the requirements next to the code.
    ``noqa`` is not a key: whether comments silence findings.
    ``whole_project`` is not a key: whether the files of the run are everything that its findings can depend on.
    ``passed_over`` is not a key: pipes and devices that have the name of a configuration file.
    ``origins`` says for each key where its value came from, for ``perflint config``.
    """

    root: Path = Path()
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    exclude: tuple[str, ...] = ()
    extend_exclude: tuple[str, ...] = ()
    respect_gitignore: bool = True
    context: tuple[str, ...] = ()
    baseline: str = ""
    profile: str = ""
    default_workers: int = 4
    log_interval: int = 10
    min_confidence: Confidence = Confidence.MEDIUM
    min_impact: ImpactLevel = ImpactLevel.MEDIUM
    join_lines: bool = True
    extend_safe_fixes: tuple[str, ...] = ()
    extend_unsafe_fixes: tuple[str, ...] = ()
    loaders: Mapping[str, DeclaredCall] = field(default_factory=dict)
    sync_calls: Mapping[str, DeclaredCall] = field(default_factory=dict)
    checkpoint_calls: Mapping[str, DeclaredCall] = field(default_factory=dict)
    logging_calls: Mapping[str, DeclaredCall] = field(default_factory=dict)
    line_length: int | None = None
    target_paddle: str = ""
    inputs: Inputs = field(default_factory=Inputs)
    noqa: bool = True
    origins: Mapping[str, str] = field(default_factory=dict)
    whole_project: bool = False
    passed_over: tuple[Path, ...] = ()

    @cached_property
    def patterns_of_files(self) -> Patterns:
        """The patterns of ``per-file-ignores``, without the ``!`` that inverts a pattern."""
        return Patterns(pattern.removeprefix("!") for pattern in self.per_file_ignores)
