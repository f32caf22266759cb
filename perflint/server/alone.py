"""The findings of a file that is checked by itself, and what becomes of one that perflint fails on."""

from __future__ import annotations

import logging
from dataclasses import replace

from perflint.configuration.settings import Settings
from perflint.findings import Finding, Level
from perflint.server.fixing import Wanted, fixed_text
from perflint.text.source import Source

_MOST_KNOWN = 50

log = logging.getLogger(__name__)


class Alone:
    """Checks files one by one, and remembers the last answer for each."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, Settings, list[Finding]]] = {}

    def check(self, source: Source, settings: Settings) -> list[Finding]:
        """What ``perflint check FILE`` would find; nothing where a rule fails on it, which is logged."""
        known = self._known.get(source.path)
        if known is not None and known[0] == source.text and known[1] == settings:
            return known[2]
        try:
            found = check({source.path: source}, settings)
        except Exception:
            log.exception("perflint failed on %s, which is shown without findings until it changes", source.path)
            found = []
        self._known.pop(source.path, None)
        self._known[source.path] = source.text, settings, found
        if len(self._known) > _MOST_KNOWN:
            del self._known[next(iter(self._known))]
        return found

    def fixed(self, source: Source, settings: Settings, level: Level, wanted: Wanted) -> str:
        """The text of a file once the fixes of the findings that are ``wanted`` are made."""
        return fixed_text(source, lambda text: self.check(replace(source, text=text), settings), level, wanted)


def check(sources: dict[str, Source], settings: Settings) -> list[Finding]:
    """As ``engine.check``, which is imported only where the cache cannot answer."""
    from perflint.run import engine

    return engine.check(sources, settings)


def fails_on(sources: dict[str, Source], settings: Settings) -> str | None:
    """The first file that makes the checks fail by itself."""
    for path, source in sources.items():
        try:
            check({path: source}, settings)
        except Exception:
            return path
    return None
