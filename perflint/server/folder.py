"""One folder of the workspace: its files on disk, replaced by the editor's text where they are open."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from perflint.findings import Finding, Level
from perflint.run import discovery
from perflint.server.alone import Alone
from perflint.server.client_settings import EditorSettings
from perflint.server.configured import Configured
from perflint.server.disk import Disk
from perflint.server.documents import Document, source_of
from perflint.server.kept import KeptFindings
from perflint.server.logs import Tell
from perflint.text.source import Source


class Folder:
    """The findings of the documents that lie in a folder: the same as of ``perflint check FOLDER`` after saving all."""

    def __init__(self, root: str, tell: Tell) -> None:
        self.root = root
        self.kept = KeptFindings()
        self._configured = Configured(Path(root), tell)
        self._disk = Disk(root, tell)
        self._is_enabled = True
        self._open: dict[str, Source | Finding] = {}
        self._alone = Alone()

    def contains(self, path: str) -> bool:
        """Whether a file is in this folder, or is read to understand those that are."""
        if _below(self.root, path) or self._disk.path_of(path) is not None:
            return True
        return _below(os.path.realpath(self.root), os.path.realpath(path))

    def look(self, editor: EditorSettings) -> None:
        """Read the configuration and the files on disk again, if they have changed."""
        self._configured.look(editor)
        self._is_enabled = editor.enable
        self._disk.look(self._configured.settings if editor.enable else None)

    def show(self, documents: Iterable[Document]) -> None:
        """Replace files by the texts of their open documents, and check what that changes."""
        settings = self._configured.settings
        self._open = {}
        for document in documents:
            path = self._path_of(document.path)
            if path is not None:
                self._open[path] = source_of(path, document.text)
        if settings is None or not self._is_enabled or self._disk.is_too_big:
            self.kept.drop()
            return
        if not self._open and not self.kept.is_begun:
            return  # nobody would see the findings
        shared = [path for path in self._open if self._is_shared(path)]
        sources = dict(self._disk.sources)
        for path in shared:
            source = self._open[path]
            if isinstance(source, Source):
                sources[path] = source
            else:
                sources.pop(path, None)
        if sources.keys() - self._disk.sources.keys():
            sources = dict(sorted(sources.items()))
        known = replace(settings, whole_project=self._disk.is_whole, inputs=self._disk.inputs)
        self.kept.put(sources, known, shared)

    def get_ready(self) -> None:
        """Prepare for edits of the open documents."""
        self.kept.get_ready([path for path in self._open if self.kept.has(path)])

    def findings(self, document: Document) -> list[Finding]:
        """The findings of a document; paths in messages are relative to the folder."""
        path, settings = self._path_of(document.path), self._configured.settings
        source = self._open.get(path) if path is not None else None
        if path is None or source is None or settings is None or not self._is_enabled:
            return []
        if isinstance(source, Finding):
            return [source]
        found = self.kept.found.get(path, []) if self._is_shared(path) else self._alone.check(source, settings)
        left = self._configured.told(source, self._configured.left(source, found))
        return [self._shortened(finding) for finding in left]

    def fixed(self, document: Document, level: Level, code: str | None) -> str | None:
        """The text of a document after its fixes (of one rule if a ``code`` is given); None if impossible."""
        path, settings = self._path_of(document.path), self._configured.settings
        source = self._open.get(path) if path is not None else None
        if not isinstance(source, Source) or settings is None or not self._is_enabled:
            return None
        wanted = self._configured.wanted(code)
        if not self._is_shared(source.path):
            return self._alone.fixed(source, settings, level, wanted)
        return self.kept.fixed(source.path, level, wanted) if self.kept.has(source.path) else None

    def _path_of(self, path: str) -> str | None:
        """The path that findings in a file carry; None for an ignored file."""
        known = self._disk.path_of(path)
        if known is not None:
            return known
        settings = self._configured.settings
        parts = Path(os.path.relpath(path, self.root)).parts
        if settings is None or ".." in parts:
            return path
        return None if discovery.passes_over(Path(self.root), parts, settings) else path

    def _is_shared(self, path: str) -> bool:
        """Whether a file is one of those that are checked together: on disk, or open and not saved yet."""
        if self._disk.is_too_big:
            return False
        if self._disk.path_of(path) == path:
            return True
        return path.endswith(discovery.SUFFIX) and not os.path.lexists(path) and _below(self.root, path)

    def _shortened(self, finding: Finding) -> Finding:
        start = self.root.rstrip(os.sep) + os.sep
        return replace(finding, message=finding.message.replace(start, "")) if start in finding.message else finding


def _below(root: str, path: str) -> bool:
    return os.path.normcase(path).startswith(os.path.normcase(root).rstrip(os.sep) + os.sep)
