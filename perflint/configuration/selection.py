"""Which rules apply, in which files, and which of their fixes count as safe."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perflint.configuration.settings import Settings
from perflint.findings import Level
from perflint.inputs.patterns import relative

if TYPE_CHECKING:
    from perflint.catalogue import Rule

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
    wanted = closest(settings.extend_select, rule.code, rule.name)
    if settings.select is None:
        # Being on by default is weakest: even `ignore = ["ALL"]` overrides it.
        default = 0 if rule.default else _NONE
        wanted = max(wanted, default)
    else:
        wanted = max(wanted, closest(settings.select, rule.code, rule.name))
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
    return Selection(
        tuple(
            selector
            for pattern, selectors in settings.per_file_ignores.items()
            if (pattern.removeprefix("!") in covering) is not pattern.startswith("!")
            for selector in selectors
        )
    )


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
