"""A project of which some files are edited: its answers know what of those files they were worked out from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from perflint.configuration.settings import Settings
from perflint.dataflow.resolving import Resolving
from perflint.incremental.kept_file import KeptFile
from perflint.incremental.kept_mentions import KeptMentions
from perflint.incremental.tracking import Log, Need, Registry, Remembered, TrackedMemory
from perflint.incremental.watched_file import WatchedFile
from perflint.index.mentions import Mentions
from perflint.index.project import FileIndex, Project
from perflint.syntax.scopes import Class, FileScopes, Scope
from perflint.text.source import Source


class KeptProject(Project):
    """The index of files that are checked again and again while some of them are edited.

    Args:
        sources: every readable file by path.
        settings: of the run.
        paths: the files that may be edited.
        known: an index of an earlier state; files with the same source are not parsed again.
    """

    memory: TrackedMemory
    mentions: KeptMentions
    is_edited = True

    def __init__(
        self,
        sources: Mapping[str, Source],
        settings: Settings,
        paths: frozenset[str] = frozenset(),
        known: Project | None = None,
    ) -> None:
        self.log = Log()
        self.paths = paths
        self._earlier = known.files if known is not None else {}
        super().__init__(sources, settings, TrackedMemory(self.log))
        self._earlier = {}
        self.resolving = Resolving.of(self)
        for path in paths:
            self.watched(path).open()

    def _file(self, source: Source, parts: tuple[str, ...]) -> FileIndex:
        made: KeptFile = (WatchedFile if source.path in self.paths else KeptFile)(source, parts, self)
        before = self._earlier.get(source.path)
        if before is not None and before.source is source and source.path not in self.paths:
            made.take_over(before)
            if source.path in before.project.broken:
                self.broken[source.path] = before.project.broken[source.path]
        return made

    def _mentions(self) -> Mentions[FileIndex]:
        return KeptMentions(self.files.values(), self.log)

    def watched(self, path: str) -> WatchedFile:
        """A file that may be edited."""
        file = self.files[path]
        assert isinstance(file, WatchedFile)
        return file

    def _definitions_in(self, path: str) -> Mapping[str, tuple[FileIndex, Scope | Class]]:
        """The functions and classes of a file, by the names that registries have for them."""
        file = self.watched(path)
        scopes: FileScopes = vars(file)["scopes"]
        found: dict[str, tuple[FileIndex, Scope | Class]] = {}
        for scope in scopes.scopes:
            found[f"{file.module}:{scope.qualname}"] = file, scope
        for owner in (*(scope.owner for scope in scopes.scopes if scope.owner), *scopes.classes.values()):
            found[f"{file.module}.{owner.qualname}"] = file, owner
        return found

    def _renew(self, file: FileIndex, now: Mapping[str, tuple[FileIndex, Scope | Class]]) -> None:
        for registry in self.memory.registries:
            registry.renew(file, now)

    def _outdate(self, path: str, changed: Iterable[Need]) -> None:
        """Let go of answers that hold nodes which are gone, or rows and offsets in an edited file."""
        renewed = self.watched(path).renewed
        if renewed is None:
            self.log.outdate(self.log.needs_of(path))
            return
        self.log.outdate([*changed, *renewed])
        self.log.outdate(self.log.needs_of(path), moved=True)

    def replace(self, path: str, text: str) -> list[Remembered]:
        """Put another text in the place of a watched file's; the answers that had to be forgotten."""
        file, known = self.watched(path), self._definitions_in(path)
        whole = [table for table in self.memory.whole if table.is_filled(())]
        before = [dict.__getitem__(table, ()) for table in whole]
        changed = file.replace(text)
        now = self._definitions_in(path)
        changed += Registry.met(known if file.is_grafted else (), now)
        self._renew(file, now)
        self._outdate(path, changed)  # first: the nodes of the old tree are gone
        dropped = self.log.dropped(changed)
        self._renew(file, now)  # again: an answer that is out of date by now may have met what is gone meanwhile
        while outdated := [at for at, table in enumerate(whole) if not table.is_filled(())]:
            for at in outdated:
                whole[at].question(self)  # which works it out
                dropped += self.log.dropped(whole[at].changes(before[at]))
                before[at] = dict.__getitem__(whole[at], ())
        return dropped
