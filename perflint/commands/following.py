"""The findings of ``--watch`` after a change: from a session, which is fast, if the same files have changed before.

After the first change of a file, everything is checked as usual. Then, while nobody waits, a session is prepared for
the next change of that file.
"""

from __future__ import annotations

import gc
from collections.abc import Mapping
from typing import TYPE_CHECKING

from perflint.commands import is_debugging
from perflint.commands.reading import Batch
from perflint.configuration.settings import Settings
from perflint.findings import Finding
from perflint.text.source import Source

if TYPE_CHECKING:
    from perflint.run.session import Session

MOST_FILES = 20
"""For how many files a session is prepared: those changed last. Hand edits do not change more at once."""

_MOST_CHARACTERS = 10_000_000
"""The largest total size of the files of a session, which keeps their index in memory."""


class Following:
    """Remembers the files, and their index, from one change to the next."""

    def __init__(self) -> None:
        self._session: Session | None = None
        self._sources: Mapping[str, Source] = {}
        self._settings: Settings | None = None
        self._edited: dict[str, None] = {}
        self._is_ready = False

    def findings(self, batch: Batch) -> list[Finding] | None:
        """The findings in the files that could be read, from the session if it has them; None: check everything.

        Args:
            batch: the files as they are now; they are compared with those of the last check.
        """
        changed = self._changed(batch)
        self._is_ready = self._is_ready and changed is not None and self._edited.keys() >= set(changed)
        for path in changed or ():
            self._edited.pop(path, None)
            self._edited[path] = None
        self._sources, self._settings = batch.sources, batch.examined
        if not self._is_ready or changed is None:
            return None
        try:
            return self._asked(changed)
        except Exception:
            self._drop()
            if is_debugging():
                raise
            return None  # the full check reports what is wrong, if it still is

    def get_ready(self) -> None:
        """Prepare a session for the next change of a file that has changed before; takes as long as a check."""
        if self._is_ready:
            return
        self._drop()
        for path in [path for path in self._edited if path not in self._sources] + [*self._edited][:-MOST_FILES]:
            self._edited.pop(path, None)
        size = sum(len(source.text) for source in self._sources.values())
        if not self._edited or self._settings is None or size > _MOST_CHARACTERS:
            return
        from perflint.run.session import Session  # a watch over files that never change does not need it

        gc.collect()  # the parts of an index refer to one another
        try:
            self._session = Session(self._sources, self._settings, self._edited)
        except Exception:  # the full check has reported it already
            self._drop()
            return
        gc.freeze()
        self._is_ready = True

    def _changed(self, batch: Batch) -> list[str] | None:
        """The files whose text has changed; None if anything else has changed too."""
        before, now = self._sources, batch.sources
        if batch.examined != self._settings or list(before) != list(now):
            return None
        changed = [path for path, source in now.items() if source is not before[path] and source != before[path]]
        if len(changed) > MOST_FILES or any(_layout(now[path]) != _layout(before[path]) for path in changed):
            return None
        return changed

    def _asked(self, changed: list[str]) -> list[Finding] | None:
        """Pass these changes to the session, and return its findings."""
        session = self._session
        assert session is not None
        for path in changed:
            session.edit(path, self._sources[path].text)
        if session.unparsed:
            return None  # the session would check everything too, in one process
        session.catch_up()
        return session.findings()

    def _drop(self) -> None:
        self._session, self._is_ready = None, False
        gc.unfreeze()


def _layout(source: Source) -> tuple[str, bool]:
    return source.encoding, source.bom
