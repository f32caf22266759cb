"""Following the steps again after an edit: from where they may lead into the edited file, and no further."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from typing import Any

from perflint.index import hot
from perflint.index.file import FileIndex, Step
from perflint.index.kinds import Kind
from perflint.index.scopes import Scope
from perflint.index.tracking import Entry, Table
from perflint.index.watched import KeptProject

_LOOPS, _METHODS, _FORWARDS = "loops", "methods", "forwards"
Node = Hashable
"""A function that was followed, or where steps begin: the loops of a function, the methods or forwards of a file."""

_Call = tuple[FileIndex, Scope, dict[str, Kind], Step, int]


class Trail:
    """Where the steps of a project have led: which function called which, and what it was handed."""

    def __init__(self, project: KeptProject) -> None:
        self.visits = Table(project.log)
        self._callers: dict[Scope, set[Node]] = defaultdict(set)
        self._targets: dict[Node, set[Scope]] = defaultdict(set)
        self._handed: dict[Scope, set[Hashable]] = defaultdict(set)
        self._of_file: dict[FileIndex, set[Node]] = defaultdict(set)
        self._cut: set[Scope] = set()
        self._there = project.log.owned
        self.barren: set[Node] = set()
        """Beginnings from which no step leads anywhere."""

    def add(self, node: Node, file: FileIndex, scope: Scope, parameters: dict[str, Kind], last: bool) -> None:
        """Note a call; ``last``: it is as deep as steps are followed."""
        self._callers[scope].add(node)
        self._targets[node].add(scope)
        self._handed[scope].add(_key(parameters))
        self._of_file[file].add(scope)
        if last:
            self._cut.add(scope)

    def visit(self, node: Node, file: FileIndex, start: int, barren: bool) -> None:
        """Note what the look at a function was worked out from; ``barren``: it has found no step."""
        (self.barren.add if barren and not self._targets.get(node) else self.barren.discard)(node)
        self._of_file[file].add(node)
        self.visits.credit(node, start)

    def knows(self, scope: Scope, parameters: dict[str, Kind]) -> bool:
        """Whether it has been seen where a call leads."""
        return _key(parameters) in self._handed.get(scope, ()) and scope not in self._cut

    def leading(self, file: FileIndex, changed: Iterable[Node]) -> set[Node]:
        """What may lead into a file: the ways that did, and those that have to be looked at again."""
        found: set[Node] = set()
        queue = [*self._of_file[file], *changed]
        while queue:
            node = queue.pop()
            if node not in found:
                found.add(node)
                if isinstance(node, Scope):
                    queue += self._callers.get(node, ())
        return found

    def forget(self, file: FileIndex) -> None:
        """Forget a file whose functions are no longer there."""
        for node in self._of_file.pop(file, ()):
            for target in self._targets.pop(node, ()):
                self._callers[target].discard(node)
            if node in self.barren and self._is_there(node):
                self._of_file[file].add(node)
                continue
            self.barren.discard(node)
            self.visits.release(node)
            if isinstance(node, Scope):
                for caller in self._callers.pop(node, ()):
                    self._targets[caller].discard(node)
                self._handed.pop(node, None)
                self._cut.discard(node)

    def _is_there(self, node: Node) -> bool:
        """Whether steps may begin there after an edit as well: in a function that has stayed."""
        return isinstance(node, tuple) and node[0] == _LOOPS and node[1] in self._there


def _key(parameters: dict[str, Kind]) -> Hashable:
    return frozenset(parameters.items())


class _Calls(list[_Call]):
    """The calls that are still to be followed; those that cannot matter are left out."""

    def __init__(self, steps: Steps) -> None:
        super().__init__()
        self._steps = steps

    def append(self, call: _Call) -> None:
        if self._steps.takes(call):
            super().append(call)


class Steps(hot.Hot):
    """Finds what runs at each step, and keeps the way.

    Args:
        only: the file whose points are wanted; None: those of all files.
        leading: what may lead there (``Trail.leading``).
    """

    def __init__(
        self,
        project: KeptProject,
        forward_names: frozenset[str],
        trail: Trail,
        only: FileIndex | None = None,
        leading: Iterable[Node] = (),
    ) -> None:
        super().__init__(project, forward_names)
        self._log = project.log
        self._trail = trail
        self._only = only
        self._leading = frozenset(leading)
        self._node: Node = None
        self._queue = _Calls(self)

    def takes(self, call: _Call) -> bool:
        """Whether a call has to be followed; it is noted in any case."""
        file, scope, parameters, _, depth = call
        wanted = (
            self._only is None
            or file is self._only
            or scope in self._leading
            or not self._trail.knows(scope, parameters)
        )
        self._trail.add(self._node, file, scope, parameters, depth >= hot._MAX_DEPTH)
        return wanted

    def _begins(self, kind: str, file: FileIndex, at: object) -> bool:
        return self._only is None or file is self._only or (kind, at) in self._leading

    def _own_loops(self, file: FileIndex, scope: Scope) -> None:
        if self._begins(_LOOPS, file, scope) and not self._is_barren((_LOOPS, scope)):
            self._noted((_LOOPS, scope), file, super()._own_loops, file, scope)

    def _step_methods(self, file: FileIndex) -> None:
        if self._begins(_METHODS, file, file):
            self._noted((_METHODS, file), file, super()._step_methods, file)

    def _forwards(self, file: FileIndex) -> None:
        if self._begins(_FORWARDS, file, file):
            self._noted((_FORWARDS, file), file, super()._forwards, file)

    def _called(self, file: FileIndex, scope: Scope, parameters: dict[str, Kind], step: Step, depth: int) -> None:
        self._noted(scope, file, super()._called, file, scope, parameters, step, depth)

    def _is_barren(self, node: Node) -> bool:
        """Whether nothing has begun there, and nothing that this was worked out from has changed."""
        return self._only is not None and node in self._trail.barren and dict.__contains__(self._trail.visits, node)

    def _noted(self, node: Node, file: FileIndex, look: Any, *arguments: Any) -> None:
        start, known = len(self._log.asked), len(file.points)
        self._node = node
        look(*arguments)
        self._trail.visit(node, file, start, barren=len(file.points) == known)


def changed_nodes(trail: Trail, dropped: Iterable[Entry]) -> list[Node]:
    """The functions and beginnings that have to be looked at again."""
    return [entry.key for entry in dropped if entry.table is trail.visits]
