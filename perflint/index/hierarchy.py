"""The class hierarchy of a project: from a class to its bases, and to the classes that inherit from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from perflint.index.kinds import Kind
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Part, Place
from perflint.query import query
from perflint.syntax.names import dotted, is_like
from perflint.syntax.scopes import Class, Scope, terminal

_PLAIN_BASES = frozenset({"object", "paddle.nn.Layer", "nn.Layer"})

Placed = tuple["FileIndex", Class]
"""A class with its file."""


class Hierarchy(Part):
    """The classes of one project by who inherits from whom."""

    def bases(self, file: FileIndex, owner: Class) -> Iterator[Placed]:
        """The classes of the project that a class names as its bases, in order."""
        for base in owner.bases:
            found = Modules.of(self._project).class_called(base, file)
            if found is not None and found[1] is not owner:
                yield found

    def lineage(self, file: FileIndex, owner: Class) -> list[Placed]:
        """A class and the project's classes that it inherits from, nearest first."""
        return [(file, owner), *self.ancestors(file, owner)]

    def base_names(self, file: FileIndex, owner: Class) -> frozenset[str]:
        """The qualified names of all classes that a class inherits from, wherever they are defined."""
        return frozenset(base for _, one in self.lineage(file, owner) for base in one.bases)

    def unseen(self, file: FileIndex, owner: Class) -> frozenset[str]:
        """Those of these names that are not classes of the project."""
        named = Modules.of(self._project).class_called
        lineage = self.lineage(file, owner)
        return frozenset(base for there, one in lineage for base in one.bases if named(base, there) is None)

    def is_plain(self, file: FileIndex, owner: Class) -> bool:
        """Whether all code of a class and of its bases is known, except for that of ``Layer``."""
        return self.unseen(file, owner) <= _PLAIN_BASES

    def ancestors(self, file: FileIndex, owner: Class) -> list[Placed]:
        """The classes of the project that a class inherits from, nearest first."""
        return _all_next(owner, self.bases(file, owner), self.bases)

    def descendants(self, owner: Class) -> list[Placed]:
        """The classes of the project that inherit from a class, nearest first."""
        return _all_next(owner, self._children(owner), lambda _, child: self._children(child))

    @query
    def runs(self, file: FileIndex, owner: Class, method: Scope) -> bool:
        """Whether an object of a class runs a method of one of its bases when that method's name is called.

        It does not if a nearer class has its own version, unless that one calls others, as with ``super()``.
        """
        for _, one in self.lineage(file, owner):
            own = one.methods.get(method.name)
            if own is method:
                return True
            if own is not None and not _calls_others(own):
                return False
        return True

    def methods_like(self, owner: str, begin: str, end: str, named: str) -> Kind | None:
        """The methods of a project class and of its subclasses that a computed name may mean, as one value.

        ``getattr(self, "loss_" + kind)`` may mean any that begins with ``loss_``. Where so few letters say nothing, as
        in ``getattr(self, "_" + mode)``, it is one whose remaining letters are a text that the project gives ``mode``.

        Args:
            owner: the qualified name of the class.
            begin: how the names begin.
            end: how they end.
            named: the name of the variable or attribute between these.
        """
        found = Modules.of(self._project).class_named(owner)
        if found is None:
            return None
        classes = (*self.lineage(*found), *self.descendants(found[1]))
        methods = {scope: file for file, one in classes for scope in one.methods.values()}
        own = {scope: file for scope, file in methods.items() if is_like(scope.name, begin, end)}
        if not own and named:
            own = {scope: file for scope, file in methods.items() if self._fits(scope.name, begin, end, named)}
        nearest = {scope: file for scope, file in own.items() if scope.owner is found[1]}
        one_of = Modules.of(self._project).one_of
        return one_of(Place(file, scope) for scope, file in own.items()) or one_of(
            Place(file, scope) for scope, file in nearest.items()
        )

    def _fits(self, method: str, begin: str, end: str, named: str) -> bool:
        """Whether a name is made of a beginning, one of the texts that the project gives a variable, and an end."""
        if len(method) <= len(begin + end) or not method.startswith(begin) or not method.endswith(end):
            return False
        return method[len(begin) : len(method) - len(end)] in self._texts_given(named)

    @query
    def _texts_given(self, name: str) -> frozenset[str]:
        """The texts that the project gives a name."""
        return frozenset().union(*(_texts_given_in(file, name) for file in self._project.mentions.of(name)))

    def are_related(self, first: Class, second: Class) -> bool:
        """Whether two classes are the same, or one inherits from the other."""
        return first is second or any(
            child is other for one, other in ((first, second), (second, first)) for _, child in self.descendants(one)
        )

    @query
    def _children(self, owner: Class) -> list[Placed]:
        """The classes that name a class as their base."""
        names = self._project.mentions.other_names(owner.name)
        return [
            (file, child)
            for file in self._naming(names)
            for child in file.scopes.classes.values()
            for base in child.bases
            if child is not owner and base.rpartition(".")[2] in names and self._is(base, file, owner)
        ]

    def _naming(self, names: frozenset[str]) -> list[FileIndex]:
        if len(names) == 1:
            return self._project.mentions.bases(*names)
        return self._project.mentions.of(*sorted(names))

    def _is(self, base: str, file: FileIndex, owner: Class) -> bool:
        found = None if base.startswith("paddle.") else Modules.of(self._project).find(base, file)
        return found is not None and found[1] is owner


def _all_next(
    owner: Class, first: Iterable[Placed], following: Callable[[FileIndex, Class], Iterable[Placed]]
) -> list[Placed]:
    """The classes that lead on from a class, directly or through others, nearest first."""
    found: dict[Class, FileIndex] = {}
    queue = list(first)
    for file, one in queue:  # grows during the loop
        if one is not owner and one not in found:
            found[one] = file
            queue += following(file, one)
    return [(file, one) for one, file in found.items()]


@query
def _texts_given_in(file: FileIndex, name: str) -> frozenset[str]:
    """The texts that a file gives a name: in assignments, arguments, defaults, look-ups and comparisons."""
    given = rf"""\b{re.escape(name)}\b["']?[ ]*(?::[ ]*str[ ]*)?(?:==?|:|,)[ ]*["'](\w+)["']"""
    return frozenset(re.findall(given, file.source.text))


def _calls_others(method: Scope) -> bool:
    """Whether a method calls its namesake on something else than ``self``: ``super().fit()``, ``Base.fit(self)``."""
    return any(
        terminal(call) == method.name and dotted(call.func) != f"self.{method.name}"
        for statement in method.statements
        for call in statement.calls
    )
