"""The findings of the files of a folder, kept up to date by a session; and of files that are checked alone.

At first the cache may have them, from the last time that the same files were open; then the session is only created
when it is needed, or when there is time.
"""

from __future__ import annotations

import gc
import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from perflint.commands import failing_file
from perflint.configuration.settings import Settings
from perflint.findings import Checked, Finding, Level, by_path
from perflint.fix.fixer import fix_all
from perflint.inputs.projects import split
from perflint.run import cache
from perflint.text.source import Source

if TYPE_CHECKING:
    from perflint.run.session import Session

log = logging.getLogger(__name__)


MOST_CLOSED = 20
"""How many closed files a session stays ready for; each makes an edit a little slower."""

_MOST_GUILTY = 5


class KeptFindings:
    """The findings in the files of a folder, kept up to date while some of them change."""

    def __init__(self) -> None:
        self.found: dict[str, list[Finding]] = {}
        """The findings by path; those of files that were not edited are as of the last ``settle``."""
        self.is_behind = False
        self.full_seconds = 0.0
        """How many seconds the last full check took."""
        self._session: Session | None = None
        self._settings: Settings | None = None
        self._sources: dict[str, Source] = {}
        self._ready: set[str] = set()
        self._guilty: dict[str, str] = {}
        """The texts that a rule fails on, by path."""

    def put(self, sources: Mapping[str, Source], settings: Settings, edited: Collection[str]) -> None:
        """Set the files of the folder, and check what has changed.

        Args:
            sources: all files, by path.
            settings: the settings of the checks.
            edited: the files that are open in the editor.
        """
        self._guilty = {path: text for path, text in self._guilty.items() if path in sources}
        for _ in range(_MOST_GUILTY):
            accepted = {path: each for path, each in sources.items() if self._guilty.get(path) != each.text}
            try:
                self._put(accepted, settings, edited)
                return
            except Exception:
                if not self._fail(accepted, settings):
                    return

    def get_ready(self, edited: Collection[str]) -> None:
        """Prepare for edits of these files, if not done yet; takes as long as a full check."""
        if self._settings is None or not self._sources or not edited:
            return
        if self._session is not None and self._ready.issuperset(edited):
            return
        try:
            self._prepare(edited)
        except Exception:
            self._start_over(self._settings, edited)

    def settle(self) -> None:
        """Update the findings of all files."""
        if not self.is_behind or self._session is None or self._settings is None:
            return
        try:
            with self._timed(bool(self._session.unparsed)):
                self._session.catch_up()
            self._enter(self._session.findings())
        except Exception:
            self._start_over(self._settings)

    @property
    def is_begun(self) -> bool:
        """Whether anything has been checked."""
        return bool(self._sources)

    @property
    def is_unparsed(self) -> bool:
        """Whether some file does not parse, so that ``settle`` has to check everything."""
        return self._session is not None and bool(self._session.unparsed)

    def has(self, path: str) -> bool:
        """Whether a file is among those checked."""
        return path in self._sources

    def fixed(self, path: str, level: Level, wanted: Wanted) -> str | None:
        """The text of a file after its fixes, with the other files as they are; None if a rule fails.

        Args:
            path: one of the files.
            level: the lowest level of fixes to apply.
            wanted: which findings to fix.
        """
        settings, source = self._settings, self._sources[path]
        assert settings is not None
        try:
            session = self._prepare([path])
            text = fixed_text(source, lambda now: wanted(now, session.edit(path, now.text)), level, self._sources)
            self.found[path] = session.edit(path, source.text)
        except Exception:
            self._start_over(settings)
            return None
        self.is_behind = True
        return text

    def drop(self) -> None:
        """Forget all files and findings, and free the index."""
        if self._session is None and not self._sources:
            return
        self._session, self.found, self._sources, self.is_behind = None, {}, {}, False
        self._ready.clear()
        gc.unfreeze()
        gc.collect()  # the parts of an index refer to one another
        gc.freeze()

    def _put(self, sources: dict[str, Source], settings: Settings, edited: Collection[str]) -> None:
        session = self._session
        if session is None or settings != self._settings or len(self._ready.difference(edited)) > MOST_CLOSED:
            if not self._recall(sources, settings):
                self._open(sources, settings, edited)
            return
        before, self._sources = self._sources, sources
        changed = [path for path, source in sources.items() if path not in before or source.text != before[path].text]
        if list(before) != list(sources) or not self._ready.issuperset(changed):
            self._update(sources, edited)
            return
        for path in changed:
            self.is_behind = True
            self.found[path] = session.edit(path, sources[path].text)

    def _prepare(self, edited: Collection[str]) -> Session:
        """A session that is ready for edits of these files."""
        if self._session is None:
            assert self._settings is not None
            return self._open(self._sources, self._settings, edited)
        if not self._ready.issuperset(edited):
            self._update(dict(self._sources), edited)
        return self._session

    def _recall(self, sources: dict[str, Source], settings: Settings) -> bool:
        """Load the findings from the cache; return whether it has them."""
        known = cache.load(cache.key(sources, settings), sources)
        if known is None:
            return False
        self.drop()
        self._sources, self._settings = sources, settings
        self._enter(known.findings)
        return True

    def _open(self, sources: dict[str, Source], settings: Settings, edited: Collection[str]) -> Session:
        from perflint.run.session import Session

        self.drop()
        self._sources, self._settings = sources, settings
        self._ready = {*edited}
        with self._timed(True):
            session = self._session = Session(sources, settings, edited)
        gc.freeze()  # otherwise the garbage collector would soon scan the whole index
        found = session.findings()
        self._enter(found)
        cache.store(cache.key(sources, settings), Checked(found), split(sources).roots)
        return session

    def _update(self, sources: dict[str, Source], edited: Collection[str]) -> None:
        assert self._session is not None
        self._ready = {path for path in self._ready if path in sources} | {*edited}
        with self._timed(True):
            self._session.update(sources, edited)
        self._enter(self._session.findings())
        gc.freeze()

    def _enter(self, findings: Iterable[Finding]) -> None:
        self.is_behind = False
        self.found = by_path(findings)

    def _start_over(self, settings: Settings, edited: Collection[str] = ()) -> None:
        """After a failure, check the same files again without the one that a rule fails on."""
        sources = dict(self._sources)
        self._fail(sources, settings)
        self.put(sources, settings, edited)

    def _fail(self, sources: dict[str, Source], settings: Settings) -> bool:
        """Find the file that a rule failed on, to leave it out until it changes; return whether there is one."""
        self.drop()
        path = failing_file(sources, settings)
        if path is None:
            log.exception("perflint failed; the files are checked again from the start after the next change")
            return False
        log.exception("perflint failed on %s, which is shown without findings until it changes", path)
        self._guilty[path] = sources[path].text
        return True

    @contextmanager
    def _timed(self, is_full: bool) -> Iterator[None]:
        start = time.perf_counter()
        yield
        if is_full:
            self.full_seconds = time.perf_counter() - start


# -- files checked alone ----------------------------------------------------------------------------------------------

_MOST_KNOWN = 50

Wanted = Callable[[Source, list[Finding]], list[Finding]]
"""Decides which findings of a file to fix."""


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
        return fixed_text(source, lambda now: wanted(now, self.check(now, settings)), level, {})


def fixed_text(
    source: Source, check: Callable[[Source], list[Finding]], level: Level, others: Mapping[str, Source]
) -> str:
    """The text of a file after all fixes of ``level`` and above, round after round like ``check --fix``.

    Args:
        source: the file.
        check: gives the findings to fix in the file, which may have another text.
        level: the lowest level to fix.
        others: the files that may take names from it, by path.
    """
    sources = {**others, source.path: source}
    outcome = fix_all(sources, lambda now: check(now[source.path]), level)
    return outcome.changed.get(source.path, source).text
