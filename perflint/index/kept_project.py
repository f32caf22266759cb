"""A project of which some files are edited: its answers know what of those files they were worked out from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import cast

from perflint.configuration.settings import DeclaredCall
from perflint.index.file import FileIndex
from perflint.index.kept_answers import answer, changed_answers
from perflint.index.kept_file import KeptFile
from perflint.index.kept_mentions import KeptMentions
from perflint.index.project import Project
from perflint.index.scopes import Class, FileScopes, Scope
from perflint.index.tracking import Log, Need, Registry, Remembered, Table, TrackedMemory
from perflint.index.watched_file import WatchedFile
from perflint.text.source import Source

_WHOLE = (
    "live",
    "_optimizing",
    "optimizing_names",
    "worker_defaults",
    "saves_on_every_rank",
    "amp_files",
    "open_widths",
)
"""What the project works out of all files at once."""


class KeptProject(Project):
    """The index of files that are checked again and again while some of them are edited.

    Args:
        sources: every readable file by path.
        loaders: the functions that make loaders, by qualified name.
        paths: the files that may be edited.
        known: an index of an earlier state; files with the same source are not parsed again.
    """

    def __init__(
        self,
        sources: Mapping[str, Source],
        loaders: Mapping[str, DeclaredCall],
        paths: frozenset[str] = frozenset(),
        known: Project | None = None,
    ) -> None:
        self.log = Log()
        self.paths = paths
        self._earlier = known.files if known is not None else {}
        super().__init__(sources, loaders, TrackedMemory(self.log))
        self._earlier = {}
        self._classes = Registry(self.log)
        self._functions = Registry(self.log)
        self.mentions: KeptMentions = KeptMentions(self.files.values(), self.log)
        for path in paths:
            self.watched(path).open()

    def _add(self, source: Source, parts: tuple[str, ...]) -> None:
        made: KeptFile = (WatchedFile if source.path in self.paths else KeptFile)(source, parts, self)
        before = self._earlier.get(source.path)
        if before is not None and before.source is source and source.path not in self.paths:
            made.take_over(before)
            if source.path in before.project.broken:
                self.broken[source.path] = before.project.broken[source.path]
        self.files[source.path] = made
        self._modules[parts[:-1] if parts[-1] == "__init__" else parts] = made

    @cached_property
    def facts(self) -> Table:
        """What was worked out of all files."""
        return Table(self.log)

    def may_be_misaligned(self, file: FileIndex) -> bool:
        """Not asked: an edit would ask all files again, where what is remembered of each function is quick enough."""
        return True

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
        for registry in (self._classes, self._functions):
            cast("Registry", registry).renew(file, now)

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
        file, before, known = self.watched(path), dict(self.facts), self._definitions_in(path)
        changed = file.replace(text)
        now = self._definitions_in(path)
        changed += Registry.met(known if file.is_grafted else (), now)
        self._renew(file, now)
        self._outdate(path, changed)  # first: the nodes of the old tree are gone
        dropped = self.log.dropped(changed)
        self._renew(file, now)  # again: an answer that is out of date by now may have met what is gone meanwhile
        while outdated := [name for name in before if not dict.__contains__(self.facts, name)]:
            for name in outdated:
                assert getattr(self, name) is not None  # which works it out
                answer = dict.__getitem__(self.facts, name)
                dropped += self.log.dropped(changed_answers(name, before[name], answer))
                before[name] = answer
        return dropped


for _name in _WHOLE:
    setattr(KeptProject, _name, answer(_name))
