"""Checks everything that the editor shows: the folders of the workspace, and the files outside of them.

Each directory has settings, with the baseline and the profile that they name, which are read again when they change.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Generic, TypeVar

from perflint import catalogue
from perflint.catalogue import CatalogueError
from perflint.commands import CommandError
from perflint.commands.read_files import excluded, find
from perflint.commands.watch import Kept, Stamp, stamp_of
from perflint.configuration.keys import ConfigError
from perflint.configuration.settings import Settings
from perflint.findings import Finding, Level
from perflint.inputs.input_files import Inputs, read_inputs
from perflint.inputs.projects import is_whole
from perflint.ranking.profile_files import open_profile
from perflint.ranking.ranked import rank
from perflint.ranking.shares import Profiled, UnusableProfile
from perflint.run import discovery
from perflint.run.discovery import Found
from perflint.server import client
from perflint.server.client import Complaint, EditorSettings, Tell
from perflint.server.documents import Document, Result, View, source_of
from perflint.server.kept import Alone, KeptFindings, Wanted
from perflint.suppress.baseline import BaselineError, read
from perflint.text.source import Source

Content = TypeVar("Content")


class NamedFile(Generic[Content]):
    """A file that the settings name, which is read again when it changes.

    The user is told once if it cannot be used.
    """

    def __init__(self, tell: Tell, read: Callable[[Path], Content | None]) -> None:
        self.content: Content | None = None
        self._problem = Complaint(tell)
        self._read = read
        self._file: tuple[Path | None, Stamp | None] = None, None

    def look(self, path: Path | None) -> None:
        """Read the file again if it has changed; None means that the settings name none."""
        file = path, stamp_of(path) if path is not None else None
        if file == self._file:
            return
        if path != self._file[0]:
            self.content = None
        self._file, problem = file, ""
        try:
            self.content = self._read(path) if path is not None else None
        except (BaselineError, UnusableProfile) as error:
            problem = str(error)
        self._problem.update(problem)


class ProfileGains(NamedFile[Profiled]):
    """What the findings can save by a profile, which need not exist."""

    def __init__(self, tell: Tell) -> None:
        super().__init__(tell, self._opened)

    def _opened(self, path: Path) -> Profiled | None:
        self.content = None
        try:
            return open_profile(path) if path.exists() else None
        except UnusableProfile as error:
            raise UnusableProfile(f"{path} cannot be used as a profile: {error}") from error

    def told(self, source: Source, findings: list[Finding]) -> list[Finding]:
        """Findings of one file, each with what it can save after its message."""
        if self.content is None or not findings:
            return findings
        ranking = rank([self.content], findings, {source.path: source}, catalogue.shipped())
        return [_told(finding, ranking.of(finding).text) for finding in findings]


def _told(finding: Finding, gain: str) -> Finding:
    return replace(finding, message=f"{finding.message} Profile: {gain}.") if gain else finding


class Configured:
    """The settings for the code in one directory, and the baseline and the profile that they name.

    The user is told once if one of them cannot be used; until it is corrected, the previous one stays in use.
    """

    def __init__(self, start: Path, tell: Tell) -> None:
        self._start = start
        self._tell = tell
        self._editor: EditorSettings | None = None
        self._stamps: list[Stamp | None] = []
        self._problem = Complaint(tell)
        self._baseline = NamedFile(tell, read)
        self._gains = ProfileGains(tell)
        self.settings: Settings | None = None
        """None until there are settings that can be used."""

    def look(self, editor: EditorSettings) -> None:
        """Check whether the settings, or the baseline that they name, have changed."""
        self._look_at_configuration(editor)
        if self.settings is not None:
            inputs = read_inputs([str(self._start / "any.py")], self.settings.root)
            self.settings = replace(self.settings, inputs=inputs)
        settings = self.settings
        self._baseline.look(settings.root / settings.baseline if settings is not None and settings.baseline else None)
        self._gains.look(settings.root / settings.profile if settings is not None and settings.profile else None)

    def left(self, source: Source, findings: list[Finding]) -> list[Finding]:
        """The findings of one file that the baseline does not list."""
        if self._baseline.content is None or not findings:
            return findings
        return self._baseline.content.split(findings, {source.path: source}).new

    def told(self, source: Source, findings: list[Finding]) -> list[Finding]:
        """Findings of one file, with what the profile says about them in their messages."""
        return self._gains.told(source, findings)

    def wanted(self, code: str | None) -> Wanted:
        """Which findings to fix: those that are shown, or only those of one rule if a ``code`` is given."""
        return lambda source, findings: [each for each in self.left(source, findings) if code in (None, each.code)]

    def _look_at_configuration(self, editor: EditorSettings) -> None:
        stamps = [stamp_of(path) for path in client.configuration_files(self._start, editor)]
        if editor == self._editor and stamps == self._stamps:
            return
        self._editor, self._stamps = editor, stamps
        try:
            self.settings = client.resolve_settings(self._start, editor)
        except (ConfigError, CatalogueError) as error:
            self._problem.update(str(error))
            return
        if self._problem.update(""):
            self._tell.note("the configuration can be used again")


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
            is_new = root not in self._folders
            if is_new:
                self._folders[root] = Folder(root, self._tell)
            folder = self._folders[root]
            if looks or is_new:
                folder.look(view.settings_for(root))
            shown = (each for each in view.documents.values() if each.is_checked and each.is_file)
            folder.show(each for each in shown if folder.contains(each.path))
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


# -- folders ----------------------------------------------------------------------------------------------------------


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
        there = {**self._disk.sources, **{path: self._open[path] for path in shared}}
        sources = {path: source for path, source in there.items() if isinstance(source, Source)}
        if sources.keys() - self._disk.sources.keys():
            sources = dict(sorted(sources.items()))
        is_everything = self._disk.is_whole and len(sources) == len(there)
        known = replace(settings, whole_project=is_everything, inputs=self._disk.inputs)
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
        """A finding whose words name files as seen from the folder."""
        start = self.root.rstrip(os.sep) + os.sep
        impact = finding.impact
        if impact is not None and start in impact.reason:
            finding = replace(finding, impact=replace(impact, reason=impact.reason.replace(start, "")))
        return replace(finding, message=finding.message.replace(start, "")) if start in finding.message else finding


def _below(root: str, path: str) -> bool:
    return os.path.normcase(path).startswith(os.path.normcase(root).rstrip(os.sep) + os.sep)


# -- the files of a folder on disk ------------------------------------------------------------------------------------

MOST_BYTES = 10_000_000
"""The largest total size of a folder's files that are checked together: their index stays in memory."""


class Disk:
    """Reads what ``perflint check FOLDER`` reads; unchanged files are not read again."""

    def __init__(self, root: str, tell: Tell) -> None:
        self.sources: dict[str, Source] = {}
        """The files by the paths that findings carry, in order."""
        self.is_too_big = False
        self.is_whole = False
        """Whether nothing outside of these files can lead to a finding in them."""
        self.inputs = Inputs()
        """Information from files of other kinds that belong to these."""
        self._root = root
        self._tell = tell
        self._reading = Kept()
        self._paths: frozenset[str] = frozenset()
        self._by_real_path: Mapping[str, str] = {}
        self._problem = Complaint(tell)

    def look(self, settings: Settings | None) -> None:
        """Find and read the files that exist now; none without settings."""
        is_there = settings is not None and Path(self._root).is_dir()
        found = self._found(settings) if settings is not None and is_there else Found([], [])
        self._by_real_path = found.by_real_path
        self._paths = frozenset(map(str, found.files))
        was_too_big, self.is_too_big = self.is_too_big, sum(map(_size, found.files)) > MOST_BYTES
        if self.is_too_big and not was_too_big:
            self._tell.note(
                f"{self._root} holds more than {MOST_BYTES // 1_000_000} MB of Python: open files are checked "
                "one by one, without the code that calls them; open a subfolder instead"
            )
        self.sources, unreadable = self._reading.read_all([] if self.is_too_big else found.files)
        places = [Path(self._root), *_context(settings)] if settings is not None else []
        inputs = read_inputs(self.sources, settings.root) if settings is not None else Inputs()
        for problem in inputs.problems:
            if problem not in self.inputs.problems:
                self._tell.note(problem)
        self.inputs = inputs
        self.is_whole = not unreadable and settings is not None and is_whole(places, settings.root)

    def path_of(self, path: str) -> str | None:
        """The path that findings in this file carry; None for files outside this folder."""
        return path if path in self._paths else self._by_real_path.get(os.path.realpath(path))

    def _found(self, settings: Settings) -> Found:
        root = [Path(self._root)]
        try:
            found, _ = find(root, settings, context=_context(settings))
        except CommandError as error:
            self._problem.update(str(error))
            return discovery.python_files(root, settings)
        self._problem.update("")
        return found


def _context(settings: Settings) -> list[Path]:
    return [Path(os.path.normpath(settings.root / entry)) for entry in settings.context]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


# -- documents outside of all folders ---------------------------------------------------------------------------------

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
