"""One folder of the workspace: its files on disk, with what the editor has of them in their place."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from perflint import discovery
from perflint.commands.watch import Kept
from perflint.findings import Finding, Level
from perflint.server.alone import Alone
from perflint.server.configuration import EditorSettings
from perflint.server.configured import Configured
from perflint.server.documents import Document, source_of
from perflint.server.kept import KeptFindings
from perflint.server.logs import Tell
from perflint.source import Source
from perflint.wholeness import is_whole

MOST_BYTES = 10_000_000
"""Of all files of a folder together, up to which it is checked as one: its index stays in memory."""


class Folder:
    """The findings of the documents that lie in a folder: those of ``perflint check FOLDER`` once all are saved."""

    def __init__(self, root: str, tell: Tell) -> None:
        self.root = root
        self.kept = KeptFindings()
        self._tell = tell
        self._configured = Configured(Path(root), tell)
        self._reading = Kept()
        self._is_enabled = True
        self._is_too_big = False
        self._files: dict[str, Source] = {}
        self._paths: frozenset[str] = frozenset()
        self._by_real: dict[str, str] | None = None
        self._unreadable: dict[str, Finding] = {}
        self._open: dict[str, Source | Finding] = {}
        self._alone = Alone()

    def contains(self, path: str) -> bool:
        """Whether a file lies in this folder."""
        return _below(self.root, path) or _below(os.path.realpath(self.root), os.path.realpath(path))

    def look(self, editor: EditorSettings) -> None:
        """Look at the configuration and at the files on disk."""
        self._configured.look(editor)
        self._is_enabled = editor.enable
        settings = self._configured.settings
        if settings is None or not self._is_enabled or not Path(self.root).is_dir():
            self._take([])
            return
        found = discovery.python_files([Path(self.root)], settings)
        self._take(found.files)

    def show(self, documents: Iterable[Document]) -> None:
        """Put the texts of open documents in the place of their files, and check what that changes."""
        settings = self._configured.settings
        self._open = {}
        for document in documents:
            path = self._path_of(document.path)
            if path is not None:
                self._open[path] = source_of(path, document.text)
        if settings is None or not self._is_enabled or self._is_too_big:
            self.kept.drop()
            return
        if not self._open and not self.kept.is_begun:
            return  # nobody sees what would be found
        shared = [path for path in self._open if self._is_shared(path)]
        sources = dict(self._files)
        for path in shared:
            source = self._open[path]
            if isinstance(source, Source):
                sources[path] = source
            else:
                sources.pop(path, None)
        if sources.keys() - self._files.keys():
            sources = dict(sorted(sources.items()))
        whole = not self._unreadable and is_whole([Path(self.root)], settings.root)
        self.kept.put(sources, replace(settings, whole_project=whole), shared)

    def get_ready(self) -> None:
        """Get ready for edits of the documents that are open."""
        self.kept.get_ready([path for path in self._open if self.kept.has(path)])

    def findings(self, document: Document) -> list[Finding]:
        """What is known of a document; paths in messages are seen from the folder."""
        path, settings = self._path_of(document.path), self._configured.settings
        source = self._open.get(path) if path is not None else None
        if path is None or source is None or settings is None or not self._is_enabled:
            return []
        if isinstance(source, Finding):
            return [source]
        found = self.kept.found.get(path, []) if self._is_shared(path) else self._alone.check(source, settings)
        return [self._shortened(finding) for finding in found]

    def fixed(self, document: Document, level: Level, code: str | None) -> str | None:
        """The text of a document once its fixes are made (of one rule, for a ``code``); None where that cannot be."""
        path, settings = self._path_of(document.path), self._configured.settings
        source = self._open.get(path) if path is not None else None
        if not isinstance(source, Source) or settings is None or not self._is_enabled:
            return None
        if not self._is_shared(source.path):
            return self._alone.fixed(source, settings, level, code)
        return self.kept.fixed(source.path, level, code) if self.kept.has(source.path) else None

    def _take(self, files: list[Path]) -> None:
        self._by_real = None
        self._paths = frozenset(map(str, files))
        was_too_big, self._is_too_big = self._is_too_big, sum(map(_size, files)) > MOST_BYTES
        if self._is_too_big and not was_too_big:
            self._tell.note(
                f"{self.root} holds more than {MOST_BYTES // 1_000_000} MB of Python: the files that are open are "
                "checked one by one, without the code that calls them; open a folder below it"
            )
        self._files, unreadable = self._reading.read_all([] if self._is_too_big else files)
        self._unreadable = {finding.path: finding for finding in unreadable}

    def _path_of(self, path: str) -> str | None:
        """The path that findings of a file carry; None for a file that is ignored."""
        if path in self._paths:
            return path
        if self._by_real is None:
            self._by_real = {os.path.realpath(each): each for each in self._paths}
        known = self._by_real.get(os.path.realpath(path))
        if known is not None:
            return known
        settings = self._configured.settings
        parts = Path(os.path.relpath(path, self.root)).parts
        if settings is None or ".." in parts:
            return path
        return None if discovery.passes_over(Path(self.root), parts, settings) else path

    def _is_shared(self, path: str) -> bool:
        """Whether a file is one of those that are checked together: on disk, or about to be saved there."""
        if self._is_too_big:
            return False
        if path in self._paths:
            return True
        return path.endswith(discovery.SUFFIX) and not os.path.lexists(path) and _below(self.root, path)

    def _shortened(self, finding: Finding) -> Finding:
        start = self.root.rstrip(os.sep) + os.sep
        return replace(finding, message=finding.message.replace(start, "")) if start in finding.message else finding


def _below(root: str, path: str) -> bool:
    return os.path.normcase(path).startswith(os.path.normcase(root).rstrip(os.sep) + os.sep)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
