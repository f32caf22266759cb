"""Values that are settled before the program runs: parameters and attributes that nobody in the project changes.

``def stack(x, is_decoder)`` whose every caller hands over ``False`` never takes the branch ``if is_decoder:``, and
neither does a class whose every construction says so.  Only what is certain counts: one caller that cannot be read,
one other place that stores the attribute, a registry or a decorator that may call as well, and nothing is settled.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perflint.dataflow.call_graph import CallGraph, Certainty
from perflint.dataflow.values import Values
from perflint.index.hierarchy import Hierarchy
from perflint.index.part import Part
from perflint.query import query
from perflint.syntax.bindings import bindings_of
from perflint.syntax.names import dotted
from perflint.syntax.parameters import all_parameters, default_of, is_spread
from perflint.syntax.scopes import Class, Scope
from perflint.syntax.tree import walk

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

_MAX_DEPTH = 5
_HARMLESS = ("staticmethod", "classmethod", "property", "override", "paddle.no_grad", "no_grad", "abstractmethod")
_ASKS = frozenset({"super", "isinstance", "issubclass", "type"})
_LOOKS_UP = frozenset({"eval", "exec", "globals", "locals", "vars", "importlib.import_module", "import_module"})
_PLAIN_BASES = frozenset({"object", "paddle.nn.Layer", "nn.Layer"})


class Known(Mapping[str, ast.expr]):
    """What the names of a scope stand for: those bound once (``own``), then those that are settled.

    Asking for a name looks for the latter in all calls of the function, so it should be asked last.
    """

    def __init__(self, own: Mapping[str, ast.expr], settled: Settled, file: FileIndex, scope: Scope) -> None:
        self.own = own
        self._settled = settled
        self._at = file, scope

    def __getitem__(self, name: str) -> ast.expr:
        value = self.get(name)
        if value is None:
            raise KeyError(name)
        return value

    def get(self, name: str, default: ast.expr | None = None) -> ast.expr | None:  # type: ignore[override]  # keys are names
        """The expression a name stands for."""
        value = self.own.get(name)
        return value if value is not None else self._settled.constant(name, *self._at) or default

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.own)

    def __len__(self) -> int:
        return len(self.own)


class Settled(Part):
    """Answers for one project; what was asked once is kept."""

    def known(self, file: FileIndex, scope: Scope, handed: Mapping[str, ast.expr] | None = None) -> Known:
        """What the names in the tests of a scope stand for: its definitions, what it is handed, what is settled."""
        own = Values.of(self._project).definitions(file, scope)
        return Known({**own, **handed} if handed else own, self, file, scope)

    def constant(self, name: str, file: FileIndex, scope: Scope) -> ast.Constant | None:
        """The constant that a parameter, or ``self.name``, has whenever a function runs; None where it may differ."""
        first, _, rest = name.partition(".")
        if not rest:
            return self._parameter(name, file, scope, 0) if name in all_parameters(scope) else None
        owner = scope.owner if first == "self" and "." not in rest else None
        return self._attribute(rest, file, owner, 0) if owner is not None else None

    def _value(self, node: ast.expr, file: FileIndex, scope: Scope, depth: int) -> ast.Constant | None:
        if isinstance(node, ast.Constant):
            return node
        name = dotted(node)
        if name is None or depth > _MAX_DEPTH:
            return None
        known = Values.of(self._project).definitions(file, scope).get(name)
        if known is not None:
            return self._value(known, file, scope, depth + 1)
        first, _, rest = name.partition(".")
        if not rest:
            return self._parameter(name, file, scope, depth + 1) if name in all_parameters(scope) else None
        owner = scope.owner if first == "self" and "." not in rest else None
        return self._attribute(rest, file, owner, depth + 1) if owner is not None else None

    # -- parameters --------------------------------------------------------------------------------------------

    @query(cycle=None)  # a function that hands its own parameter on
    def _parameter(self, name: str, file: FileIndex, scope: Scope, depth: int) -> ast.Constant | None:
        owner = scope.owner if scope.name == "__init__" else None
        if scope.name == "forward" or (scope.name.startswith("__") and owner is None):
            return None  # a call of the object calls it, by whatever name that has
        if name in bindings_of(scope):
            return None
        if not _is_plainly_decorated(owner or scope):
            return None
        default = default_of(scope, name)
        graph = CallGraph.of(self._project)
        if graph.are_too_many(file, scope):
            return None
        found: ast.Constant | None = None
        for site in graph.calls(file, scope, Certainty.NAME):
            argument = site.argument(scope, name)
            value = self._value(argument, site.file, site.scope, depth) if argument is not None else default
            if is_spread(site.call) or not isinstance(value, ast.Constant) or (found and not _same(found, value)):
                return None
            found = value
        return found if found is not None and self._is_only_called(owner or scope, file) else None

    # -- attributes --------------------------------------------------------------------------------------------

    @query(cycle=None)
    def _attribute(self, name: str, file: FileIndex, owner: Class, depth: int) -> ast.Constant | None:
        """What an attribute is bound to at the one place that stores it, in ``__init__``."""
        assigned = owner.attributes.get(name, [])
        if len(assigned) != 1 or assigned[0][1].name != "__init__" or name == "training":
            return None
        value, scope = assigned[0]
        constant = self._value(value, file, scope, depth)
        if constant is None or name in owner.methods or not self._is_plain(file, owner):
            return None
        stores = [
            where
            for where in self._stores(name)
            if where is None or Hierarchy.of(self._project).are_related(where, owner)
        ]
        own = file.source.lines.between(owner.node.lineno, owner.node.end_lineno or owner.node.lineno)
        return constant if stores == [owner] and "setattr(" not in own and "__dict__" not in own else None

    def _is_plain(self, file: FileIndex, owner: Class) -> bool:
        """Whether all the code of a class and of its bases is seen."""
        return Hierarchy.of(self._project).unseen(file, owner) <= _PLAIN_BASES

    def _stores(self, name: str) -> list[Class | None]:
        """Every store of an attribute of this name: the class whose ``self`` it is on, None for another object."""
        return [where for file in self._project.mentions.of(name) for where in self._stored_in(file).get(name, ())]

    @query(again=True)
    def _stored_in(self, file: FileIndex) -> Mapping[str, list[Class | None]]:
        found: dict[str, list[Class | None]] = defaultdict(list)
        for scope in file.scopes.scopes:
            for statement in scope.statements:
                for target in _targets(statement.node):
                    if isinstance(target, ast.Attribute):
                        own = isinstance(target.value, ast.Name) and target.value.id == "self"
                        found[target.attr].append(scope.owner if own else None)
        return found

    # -- who else may call -------------------------------------------------------------------------------------

    def _is_only_called(self, target: Scope | Class, file: FileIndex) -> bool:
        """Whether a function or class is reached by the calls that are seen, and by nothing else."""
        if not _is_plainly_decorated(target):
            return False
        if isinstance(target, Class):
            if Hierarchy.of(self._project).descendants(target) or not self._is_plain(file, target):
                return False
            if any(_makes_itself(scope) for scope in target.methods.values()):
                return False
        elif target.owner is not None and Hierarchy.of(self._project).descendants(target.owner):
            return False
        method = isinstance(target, Scope) and target.owner is not None
        return not any(self._may_be_held(other, target.name, method) for other in self._project.files.values())

    def _may_be_held(self, file: FileIndex, name: str, method: bool) -> bool:
        """Whether a file uses a name as a value, or may find it by a text that is worked out."""
        if not file.has(name):
            return False
        values = self._values(file)
        return name in values.held or (values.finds_methods if method else values.finds_names)

    @query
    def _values(self, file: FileIndex) -> _Values:
        return file.of_itself("values", _values_of)


def _is_plainly_decorated(target: Scope | Class) -> bool:
    """Whether no decorator of a function or class may hand it to somebody else."""
    decorators = target.node.decorator_list if not isinstance(target.node, ast.Module) else []
    return all((dotted(item) or dotted(getattr(item, "func", item))) in _HARMLESS for item in decorators)


def _same(first: ast.Constant, second: ast.Constant) -> bool:
    return type(first.value) is type(second.value) and bool(first.value == second.value)


def _targets(node: ast.stmt) -> Iterator[ast.expr]:
    """What a statement binds, one by one."""
    given: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        given = node.targets
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.For, ast.AsyncFor)):
        given = [node.target]
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        given = [item.optional_vars for item in node.items if item.optional_vars is not None]
    for target in given:
        if isinstance(target, (ast.Tuple, ast.List, ast.Starred)):
            yield from (item for item in walk(target) if isinstance(item, (ast.Name, ast.Attribute)))
        else:
            yield target


def _makes_itself(scope: Scope) -> bool:
    """Whether a method makes objects of its class without saying its name: ``cls(...)``."""
    names = (dotted(call.func) for statement in scope.statements for call in statement.calls)
    return any(name in ("cls", "self.__class__") for name in names)


@dataclass(frozen=True)
class _Values:
    """The names that a file uses other than by calling them, and whether it finds some by a text that it works out."""

    held: frozenset[str]
    finds_names: bool
    finds_methods: bool


def _values_of(file: FileIndex) -> _Values:
    called: set[int] = set()
    finds_names = finds_methods = False
    nodes = list(walk(file.tree))
    for node in nodes:
        if isinstance(node, ast.Call):
            called.add(id(node.func))
            name = dotted(node.func)
            if name in _ASKS:
                called.update(id(item) for argument in node.args for item in walk(argument))
            if name == "getattr" and not (len(node.args) > 1 and isinstance(node.args[1], ast.Constant)):
                finds_methods = True
                finds_names = finds_names or _is_a_module(node, file)
            finds_names = finds_names or name in _LOOKS_UP
        elif isinstance(node, ast.ClassDef):
            called.update(map(id, node.bases))
        elif isinstance(node, (ast.arg, ast.AnnAssign)) and node.annotation is not None:
            called.update(id(item) for item in walk(node.annotation))
    held = frozenset(
        node.id if isinstance(node, ast.Name) else node.attr
        for node in nodes
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load) and id(node) not in called
    )
    return _Values(held, finds_names, finds_methods or finds_names)


def _is_a_module(call: ast.Call, file: FileIndex) -> bool:
    """Whether ``getattr`` may be asked about a module: about a name that the file imports, or something worked out."""
    root = dotted(call.args[0]) if call.args else None
    return root is None or file.names.is_bound(root.partition(".")[0])
