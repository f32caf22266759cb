"""Answers that are remembered and tracked: they know what of the edited files they were worked out from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from perflint.index.project import Project
from perflint.index.tracking import Log, Need

if TYPE_CHECKING:
    from perflint.index.kept_project import KeptProject

_BY_PATH = frozenset({"worker_defaults", "saves_on_every_rank", "amp_files"})
"""What the project works out of all files at once and is asked file by file."""


class _ByPath(Mapping[str, Any]):
    """An answer that is asked file by file; who asks needs no more of it than what it says of that file."""

    def __init__(self, name: str, answer: Mapping[str, Any], log: Log) -> None:
        self._name = name
        self._answer = answer
        self._log = log

    def __getitem__(self, path: str) -> Any:
        self._log.note(("answer", self._name, path))
        return self._answer[path]

    def __iter__(self) -> Iterator[str]:
        self._log.note(("answer", self._name))
        return iter(self._answer)

    def __len__(self) -> int:
        self._log.note(("answer", self._name))
        return len(self._answer)


def changed_answers(name: str, before: Any, now: Any) -> list[Need]:
    """What needs an answer of the whole project that is not as it was."""
    if before == now:
        return []
    paths = sorted(before.keys() | now.keys()) if name in _BY_PATH else ()
    return [("answer", name), *(("answer", name, path) for path in paths if before.get(path) != now.get(path))]


def answer(name: str) -> property:
    """A cached property of the whole project; who asks needs its value, whatever that was worked out from."""
    original: cached_property[Any] = vars(Project)[name]

    def get(self: KeptProject) -> Any:
        if name not in _BY_PATH:
            self.log.note(("answer", name))
        start = len(self.log.asked)
        if name not in self.facts:
            self.facts[name] = original.func(self)
        del self.log.asked[start:]
        answer = dict.__getitem__(self.facts, name)
        return _ByPath(name, answer, self.log) if name in _BY_PATH else answer

    return property(get, doc=original.__doc__)
