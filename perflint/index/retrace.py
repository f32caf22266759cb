"""Following the steps again after an edit: from where they may lead into the edited file, and no further."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from perflint.index import hot
from perflint.index.clues import Clues
from perflint.index.file import FileIndex, Point, Step
from perflint.index.kept_project import KeptProject
from perflint.index.kinds import Kind
from perflint.index.reads import Read
from perflint.index.scopes import Scope
from perflint.index.tracking import Entry, Table

_LOOPS, _METHODS, _FORWARDS = "loops", "methods", "forwards"
Node = Hashable
"""A function that was followed, or where steps begin: the loops of a function, the methods or forwards of a file."""

_Call = tuple[FileIndex, Scope, dict[str, Kind], Step, int]


class Trail:
    """Where the steps of a project have led: which function called which, and what it was handed."""

    def __init__(self, project: KeptProject) -> None:
        self.visits = Table(project.log)
        self.looks = Table(project.log)
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

    def forget(self, file: FileIndex, rows: tuple[int, int]) -> None:
        """Forget a file whose functions are no longer there; what was found on these rows may stand on others now."""
        for key, look in [*self.looks.items()]:
            node = vars(key[0])["node"]
            if look.file is file and node.lineno <= rows[1] + 1 and rows[0] <= node.end_lineno:
                dict.__delitem__(self.looks, key)
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
        self._steps.record(call)
        if self._steps.takes(call):
            super().append(call)


@dataclass(frozen=True)
class _Read:
    call: ast.Call
    read: Read


@dataclass(frozen=True)
class _Defaults:
    target: Scope
    found: dict[str, ast.expr]


@dataclass(frozen=True, eq=False)
class _Look:
    """What a look at a function has found: the next one finds the same, if no answer it asked for has been dropped.

    ``row``: where the function stood.  ``step``: the one that led there; None for a look for loops, where steps begin.
    ``defaults``: what every call made its parameters stand for.  ``moves_along``: no row in it is one of a file that
    may be edited, but for those of the function itself.
    """

    file: FileIndex
    row: int
    step: Step | None
    defaults: Mapping[str, ast.expr] | None
    found: list[Point | _Call | _Read | _Defaults]
    moves_along: bool

    def step_now(self, then: Step, base: Step | None, shift: int) -> Step:
        """What is now a step that was found then: ``base`` leads to the function, which has moved by some rows."""
        via = tuple((path, row + shift) for path, row in then.via[len(self.step.via) if self.step else 0 :])
        if base is None:
            return replace(then, line=then.line + shift, via=via)
        return replace(base, via=base.via + via, sure=then.sure)


class Steps(hot.Hot):
    """Finds what runs at each step, and keeps the way.

    Args:
        only: the file whose points are wanted; None: those of all files.
        leading: what may lead there (``Trail.leading``).
        keeps: what a look at a function finds is kept, and found again where nothing that it asked has changed.
    """

    def __init__(
        self,
        project: KeptProject,
        clues: Clues,
        trail: Trail,
        only: FileIndex | None = None,
        leading: Iterable[Node] = (),
        keeps: bool = True,
    ) -> None:
        super().__init__(project, clues)
        self._log = project.log
        self._paths = project.paths
        self._trail = trail
        self._only = only
        self._leading = frozenset(leading)
        self._keeps = keeps
        self._node: Node = None
        self._queue = _Calls(self)
        self._found: list[Point | _Call | _Read | _Defaults] | None = None

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
            self._noted((_LOOPS, scope), file, self._own_loops_again, file, scope)

    def _own_loops_again(self, file: FileIndex, scope: Scope) -> None:
        self._again((scope, _LOOPS), file, scope, None, lambda: hot.Hot._own_loops(self, file, scope))

    def _look(self, file: FileIndex, scope: Scope, parameters: dict[str, Kind], step: Step, depth: int) -> None:
        key = scope, _key(parameters), depth, step.sure
        self._again(key, file, scope, step, lambda: hot.Hot._look(self, file, scope, parameters, step, depth))

    def _again(self, key: Hashable, file: FileIndex, scope: Scope, step: Step | None, look: Callable[[], None]) -> None:
        """Look at a function, or find again what an earlier look has found."""
        row = getattr(scope.node, "lineno", None)
        if not self._keeps or row is None:
            look()
            return
        looks, defaults = self._trail.looks, self._defaults.get(scope)
        if looks.is_filled(key) and dict.__getitem__(looks, key).defaults != defaults:
            dict.__delitem__(looks, key)
        if key not in looks:
            found: list[Point | _Call | _Read | _Defaults] = []
            self._found = found
            look()
            self._found = None
            rows = {item.read.path for item in found if isinstance(item, _Read)}
            looks[key] = _Look(file, row, step, defaults, found, moves_along=rows.isdisjoint(self._paths))
        else:
            self._find_again(looks[key], scope, step, row)

    def _find_again(self, look: _Look, scope: Scope, step: Step | None, row: int) -> None:
        steps: dict[Step, Step] = {}

        def now(then: Step) -> Step:
            if then not in steps:
                steps[then] = look.step_now(then, step, row - look.row)
            return steps[then]

        for item in look.found:
            if isinstance(item, Point):
                new = now(item.step) if item.step is not None else None
                self._put(Point(item.statement, scope, new, item.env, item.loop, look.file))
            elif isinstance(item, _Read):
                self._put_read(look.file, item.call, item.read)
            elif isinstance(item, _Defaults):
                self._take_defaults(item.target, item.found)
            else:
                file, target, parameters, then, depth = item
                self._queue.append((file, target, parameters, now(then), depth))

    def record(self, item: Point | _Call | _Read | _Defaults) -> None:
        """Note what a look finds."""
        if self._found is not None:
            self._found.append(item)

    def _put(self, point: Point) -> None:
        self.record(point)
        super()._put(point)

    def _put_read(self, file: FileIndex, call: ast.Call, read: Read) -> None:
        self.record(_Read(call, read))
        start = len(self._log.asked)
        super()._put_read(file, call, read)
        del self._log.asked[start:]  # where it stands is no part of what was found

    def _take_defaults(self, target: Scope, found: dict[str, ast.expr]) -> None:
        self.record(_Defaults(target, found))
        super()._take_defaults(target, found)

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
        return self._keeps and node in self._trail.barren and dict.__contains__(self._trail.visits, node)

    def _noted(self, node: Node, file: FileIndex, look: Any, *arguments: Any) -> None:
        start, known = len(self._log.asked), len(file.points)
        self._node = node
        look(*arguments)
        self._trail.visit(node, file, start, barren=len(file.points) == known)


def changed_nodes(trail: Trail, dropped: Iterable[Entry]) -> list[Node]:
    """The functions and beginnings that have to be looked at again."""
    return [entry.key for entry in dropped if entry.table is trail.visits]
