"""Checks and fixes single files."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace

from perflint.configuration.settings import Settings
from perflint.findings import Finding, Level
from perflint.fix.fixer import fix_all
from perflint.text.source import Source

_MOST_KNOWN = 50

Wanted = Callable[[Source, list[Finding]], list[Finding]]
"""Decides which findings of a file to fix."""

log = logging.getLogger(__name__)


class Alone:
    """Checks files one by one, and remembers the last findings of each."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, Settings, list[Finding]]] = {}

    def check(self, source: Source, settings: Settings) -> list[Finding]:
        """What ``perflint check FILE`` would find; nothing if a rule fails on it, which is logged."""
        from perflint.run import engine  # imported late, because the cache may already have all the findings

        known = self._known.get(source.path)
        if known is not None and known[0] == source.text and known[1] == settings:
            return known[2]
        try:
            found = engine.check({source.path: source}, settings)
        except Exception:
            log.exception("perflint failed on %s, which is shown without findings until it changes", source.path)
            found = []
        self._known.pop(source.path, None)
        self._known[source.path] = source.text, settings, found
        if len(self._known) > _MOST_KNOWN:
            del self._known[next(iter(self._known))]
        return found

    def fixed(self, source: Source, settings: Settings, level: Level, wanted: Wanted) -> str:
        """The text of a file after the ``wanted`` fixes."""
        return fixed_text(source, lambda text: self.check(replace(source, text=text), settings), level, wanted)


def fixed_text(
    source: Source,
    check: Callable[[str], list[Finding]],
    level: Level,
    wanted: Wanted,
    others: Mapping[str, Source] | None = None,
) -> str:
    """The text of a file after all fixes of ``level`` and above, round after round like ``check --fix``.

    Args:
        source: the file.
        check: finds the findings in the file with another text.
        level: the lowest level to fix.
        wanted: which findings to fix.
        others: the files that may take names from it, by path.
    """

    def found(sources: Mapping[str, Source]) -> list[Finding]:
        now = sources[source.path]
        return wanted(now, check(now.text))

    outcome = fix_all({**(others or {}), source.path: source}, found, level)
    return outcome.changed.get(source.path, source).text
