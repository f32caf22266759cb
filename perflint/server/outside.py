"""Documents outside all folders of the workspace: each is checked alone, under the configuration of its directory."""

from __future__ import annotations

import os
from pathlib import Path

from perflint.commands.reading import excluded
from perflint.findings import Finding, Level
from perflint.server.alone import Alone
from perflint.server.configured import Configured
from perflint.server.documents import Document, View, source_of
from perflint.server.logs import Tell
from perflint.text.source import Source

_LIBRARIES = frozenset({"site-packages", "dist-packages"})
"""Directories of installed packages, which users may look into, but which are not checked."""


class Outside:
    """The findings of documents outside of all folders, and of those that are not on disk."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._view = View()
        self._alone = Alone()
        self._configured: dict[Path, Configured] = {}

    def take(self, view: View, looks: bool) -> None:
        """Take in what the editor shows now; ``looks``: configurations may have changed."""
        self._view = view
        if looks:
            for configured in self._configured.values():
                configured.look(view.settings_for(""))

    def findings(self, document: Document) -> list[Finding]:
        """The findings in a document."""
        configured = self._configured_for(document)
        if configured is None or configured.settings is None:
            return []
        source = source_of(document.path, document.text)
        if not isinstance(source, Source):
            return [source]
        return configured.left(source, self._alone.check(source, configured.settings))

    def fixed(self, document: Document, level: Level, code: str | None) -> str | None:
        """The text of a document after its fixes (only those of one rule if a ``code`` is given)."""
        configured = self._configured_for(document)
        source = source_of(document.path, document.text)
        if configured is None or configured.settings is None or not isinstance(source, Source):
            return None
        return self._alone.fixed(source, configured.settings, level, configured.wanted(code))

    def _configured_for(self, document: Document) -> Configured | None:
        """The settings for a document; None if it should not be checked."""
        editor = self._view.settings_for("")
        if not editor.enable:
            return None
        start = Path(document.path).parent if document.is_file else Path(next(iter(self._view.folders), os.curdir))
        configured = self._configured.get(start)
        if configured is None:
            configured = self._configured[start] = Configured(start.absolute(), self._tell)
            configured.look(editor)
        if configured.settings is not None and document.is_file:
            path = Path(document.path)
            if not _LIBRARIES.isdisjoint(path.parts) or excluded(path, configured.settings):
                return None
        return configured
