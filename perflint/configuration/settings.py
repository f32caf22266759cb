"""The resolved settings of one run (``config_files`` finds and reads them), and which rules apply where."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from perflint.findings import Confidence, ImpactLevel, Level
from perflint.inputs.input_files import Inputs
from perflint.inputs.patterns import Patterns, relative

if TYPE_CHECKING:
    from perflint.catalogue import Rule


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


BUDGETED = ("waits", "copies", "logs", "saves", "collectives")
"""What a budget can limit: how many of them a training step has at most."""


@dataclass(frozen=True)
class Budgets:
    """The budgets of the steps of a project: the table of the configuration, and the directory of its paths."""

    table: Mapping[str, int | Mapping[str, int]] = field(default_factory=dict)
    root: Path = Path()

    def of(self, paths: Iterable[str]) -> dict[str, int]:
        """What a step may have of each kind, whose loop or whose program is in these files.

        >>> Budgets({"waits": 2, "tools/*.py": {"waits": 1}}).of(["tools/train.py"])
        {'waits': 1}
        """
        found = {name: limit for name, limit in self.table.items() if isinstance(limit, int)}
        places = [relative(path, str(self.root)) for path in paths] if len(found) < len(self.table) else []
        for pattern, limits in self.table.items():
            if isinstance(limits, Mapping) and any(map(Patterns([pattern]).covers, places)):
                found |= limits
        return found


@dataclass(frozen=True)
class Settings:
    """The settings of a run. Each field is the key of the same name (``_`` for ``-``) in ``[tool.perflint]``.

    ``context``: paths relative to ``root`` whose files are read as part of the project, but not reported.
    ``budget``: what a training step may have at most, by ``BUDGETED``; or a table of these by a pattern of files.
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
    budget: Mapping[str, int | Mapping[str, int]] = field(default_factory=dict)
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

    @property
    def budgets(self) -> Budgets:
        """The budgets of steps."""
        return Budgets(self.budget, self.root)

    @cached_property
    def patterns_of_files(self) -> Patterns:
        """The patterns of ``per-file-ignores``, without the ``!`` that inverts a pattern."""
        return Patterns(pattern.removeprefix("!") for pattern in self.per_file_ignores)


# --- which rules apply, in which files, and which of their fixes count as safe

ALL = "ALL"
_EXACT = 1_000
_NONE = -1
_WAITS = "sync"
"""The bottleneck of rules about waits for the device."""


def specificity(selector: str, code: str, name: str = "") -> int:
    """How specifically a selector means a rule: -1 not at all, 0 for ``ALL``, more for a longer prefix of the code.

    A selector is ``ALL``, a prefix of a code, a full code or a rule's name; the last two are the most specific. Case
    matters.
    """
    if not selector:
        return _NONE
    if selector in (code, name):
        return _EXACT
    if selector == ALL:
        return 0
    return len(selector) if code.startswith(selector) else _NONE


def closest(selectors: Iterable[str], code: str, name: str = "") -> int:
    """The specificity of the selector that means a rule most specifically; -1 if none does."""
    return max((specificity(selector, code, name) for selector in selectors), default=_NONE)


@dataclass(frozen=True)
class Selection:
    """The codes that at least one of some selectors means, for ``code in selection``; names are not resolved here."""

    selectors: tuple[str, ...]

    def __contains__(self, code: object) -> bool:
        """Whether a selector means this code."""
        return isinstance(code, str) and closest(self.selectors, code) >= 0


def selected(settings: Settings, rules: Mapping[str, Rule]) -> frozenset[str]:
    """The codes of ``rules`` that a run reports (before per-file-ignores).

    ``select`` None means the rules that are on by default; ``extend-select`` adds to it. If a selector and an
    ``ignore`` both mean a rule, the more specific one decides, or the ``ignore`` if they are equally specific.
    """
    return frozenset(code for code, rule in rules.items() if _is_selected(settings, rule))


def with_waits(codes: frozenset[str], rules: Mapping[str, Rule]) -> frozenset[str]:
    """The codes whose rules have to run for a report of ``codes`` alone.

    What one wait for the device costs depends on the others of its step: a read whose neighbour stays gains nothing.
    So if a rule about waits is selected, all of them run that are on by default.

    >>> from perflint import catalogue
    >>> sorted(with_waits(frozenset({"PPF201"}), catalogue.shipped()))[:3]
    ['PPF201', 'PPF202', 'PPF203']
    """
    waits = {code for code, rule in rules.items() if rule.bottleneck == _WAITS}
    return codes | {code for code in waits if rules[code].default} if codes & waits else codes


def _is_selected(settings: Settings, rule: Rule) -> bool:
    wanted = closest((*(settings.select or ()), *settings.extend_select), rule.code, rule.name)
    if settings.select is None and rule.default:
        wanted = max(wanted, 0)  # being on by default is weakest: even `ignore = ["ALL"]` overrides it
    return wanted > closest(settings.ignore, rule.code, rule.name)


def ignored_for(path: str | os.PathLike[str], settings: Settings) -> Container[str]:
    """The codes that ``per-file-ignores`` silences in a file.

    The patterns are gitignore patterns relative to ``settings.root``; one that starts with ``!`` applies to the files
    that it does not match.
    """
    if not settings.per_file_ignores:
        return ()
    place = relative(os.fspath(path), str(settings.root))
    covering = settings.patterns_of_files.each_covering(place)
    selectors: list[str] = []
    for pattern, chosen in settings.per_file_ignores.items():
        if (pattern.removeprefix("!") in covering) is not pattern.startswith("!"):
            selectors += chosen
    return Selection(tuple(selectors))


def level_for(code: str, level: Level, settings: Settings) -> Level:
    """The level of a fix of ``code`` after ``extend-safe-fixes`` and ``extend-unsafe-fixes`` are applied.

    The first turns unsafe into safe, the second safe into unsafe; if both mean the code, the more specific one decides,
    and unsafe if they are equally specific. A suggestion stays one: it is not ready to be applied.
    """
    safe = closest(settings.extend_safe_fixes, code)
    unsafe = closest(settings.extend_unsafe_fixes, code)
    if level is Level.UNSAFE and safe > unsafe:
        return Level.SAFE
    if level is Level.SAFE and unsafe >= max(safe, 0):
        return Level.UNSAFE
    return level
