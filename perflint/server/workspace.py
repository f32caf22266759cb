"""Checks everything that the editor shows: the folders of the workspace, and the files outside of them."""

from __future__ import annotations

import gc
from collections.abc import Iterable

from perflint.findings import Finding, Level
from perflint.server.documents import Document, Result, View
from perflint.server.folder import Folder
from perflint.server.logs import Tell
from perflint.server.outside import Outside

_TIDY_AFTER = 100
"""The number of checks after which garbage is collected."""


class Workspace:
    """The folders and the files outside of them; for use in one thread only."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._view = View()
        self._folders: dict[str, Folder] = {}
        self._outside = Outside(tell)
        self._rounds = 0

    def take(self, view: View) -> None:
        """Check what the editor shows now."""
        before, self._view = self._view, view
        self._rounds += 1
        looks = view.looks != before.looks or view.settings != before.settings
        for root in self._folders.keys() - set(view.folders):
            self._folders.pop(root).kept.drop()
        for root in view.folders:
            folder = self._folders.get(root)
            is_new = folder is None
            if folder is None:
                folder = self._folders[root] = Folder(root, self._tell)
            if looks or is_new:
                folder.look(view.settings_for(root))
            folder.show(self._documents_in(folder))
        self._outside.take(view, looks)

    def results(self) -> list[Result]:
        """The results for all open documents."""
        return [Result(document, tuple(self._findings(document))) for document in self._view.documents.values()]

    def settle(self) -> None:
        """Update the findings of files that depend on edits in other files."""
        for folder in self._folders.values():
            folder.kept.settle()

    def settling_delay(self) -> float | None:
        """After how many idle seconds ``settle`` should be called; None: there is nothing to settle."""
        behind = [folder.kept for folder in self._folders.values() if folder.kept.is_behind]
        if not behind:
            return None
        # A file that does not parse is about to be corrected; until then everything is checked each time.
        return max(min(2 * kept.full_seconds, 10.0) if kept.is_unparsed else 0.0 for kept in behind)

    def get_ready(self) -> None:
        """Prepare for edits of the open documents."""
        for folder in self._folders.values():
            folder.get_ready()

    def tidy(self) -> None:
        """Collect the garbage of many checks; takes a second if the index is large."""
        if self._rounds < _TIDY_AFTER:
            return
        self._rounds = 0
        gc.unfreeze()
        gc.collect()
        gc.freeze()

    def fixed(self, document: Document, level: Level, code: str | None = None) -> str | None:
        """The text of a document with its fixes applied; None if it has changed meanwhile or a rule fails on it."""
        if self._view.documents.get(document.uri) is not document:
            return None
        folder = self._owner(document)
        return (folder or self._outside).fixed(document, level, code)

    def _findings(self, document: Document) -> list[Finding]:
        if not document.is_checked:
            return []
        folder = self._owner(document)
        return (folder or self._outside).findings(document)

    def _owner(self, document: Document) -> Folder | None:
        """The innermost folder that contains a document."""
        if not document.is_file:
            return None
        holding = [folder for folder in self._folders.values() if folder.contains(document.path)]
        return max(holding, key=lambda folder: len(folder.root), default=None)

    def _documents_in(self, folder: Folder) -> Iterable[Document]:
        documents = self._view.documents.values()
        return [each for each in documents if each.is_checked and each.is_file and folder.contains(each.path)]
