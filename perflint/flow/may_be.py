"""What the value of an expression may be: a tensor, a number, None, and who else may store something there."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from perflint.index.kinds import (
    HOST_TAG,
    LAYER_TAG,
    LOADER,
    LOADER_TAG,
    OBJECT_TAG,
    TENSOR,
    TENSOR_TAG,
    UNKNOWN,
    Kind,
    layer,
)
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Project
from perflint.paddle import call_results
from perflint.paddle.tensor_methods import may_have
from perflint.query import query
from perflint.syntax.names import dotted
from perflint.syntax.parameters import is_spread
from perflint.syntax.scopes import Class, Scope, terminal
from perflint.syntax.tree import string_of, walk

# Finds what gives a name or an attribute a value without an assignment in its own module or class.
#
# That is a store from another file (``helpers.penalty = ...``), one that names what it stores in a text (``setattr``,
# ``globals()``, ``self.__dict__``), and a patch (``mock.patch.object(trainer, "penalty")``).

_BY_TEXT = ("setattr", "__setattr__", "__dict__", "vars", "globals")
_SETTERS = frozenset({"setattr", "__setattr__", "patch", "object"})
_STORING = frozenset({"update", "setdefault", "__setitem__"})

_Name = str | None
"""A name that is stored; None if it is computed, so that it may be any."""


@dataclass(frozen=True)
class _Stored:
    """The names that a file stores in objects other than ``self``, in modules, and in itself by ``globals()``."""

    in_objects: frozenset[_Name]
    in_modules: frozenset[_Name]
    in_itself: frozenset[_Name]


def may_rebind(file: FileIndex, name: str) -> bool:
    """Whether something may store a value under a name of a module that does not assign to it there."""
    others = file.project.mentions.of(name, *_BY_TEXT)
    return _has(_stored_by(file).in_itself, name) or any(_has(_stored_by(other).in_modules, name) for other in others)


def replaces(file: FileIndex, name: str) -> bool:
    """Whether a file stores another value under a name of a module that it imports: ``F.mse_loss = ...``."""
    return file.has_words(name) and name in _stored_by(file).in_modules


def may_set(project: Project, name: str) -> bool:
    """Whether something other than the methods of an object may set an attribute of this name."""
    return any(_has(_stored_by(other).in_objects, name) for other in project.mentions.of(name, *_BY_TEXT))


def sets_any_attribute(owner: Class) -> bool:
    """Whether a class sets attributes of its objects under names that are computed: ``setattr(self, key, value)``."""
    found = (store for item in walk(owner.node) for store in _stores(item))
    return any(name is None and _is_self(holder) for holder, name in found)


def _has(names: frozenset[_Name], name: str) -> bool:
    return name in names or None in names


@query
def _stored_by(file: FileIndex) -> _Stored:
    objects: set[_Name] = set()
    modules: set[_Name] = set()
    itself: set[_Name] = set()
    for holder, name in (store for item in walk(file.tree) for store in _stores(item)):
        if isinstance(holder, ast.Call) and dotted(holder.func) in ("globals", "vars") and not holder.args:
            itself.add(name)
        elif not (_is_self(holder) and name is None):
            root = dotted(holder)
            modules |= {name} if root is None or file.names.is_bound(root.partition(".")[0]) else set()
            objects.add(name)
    return _Stored(frozenset(objects), frozenset(modules), frozenset(itself))


def _is_self(holder: ast.expr) -> bool:
    return isinstance(holder, ast.Name) and holder.id == "self"


def _stores(item: ast.AST) -> Iterator[tuple[ast.expr, _Name]]:
    """What a node stores in an object, unless it is an assignment to an attribute of ``self``."""
    if isinstance(item, ast.Attribute):
        if not isinstance(item.ctx, ast.Load) and not _is_self(item.value):
            yield item.value, item.attr
    elif isinstance(item, ast.Subscript):
        holder = _with_names(item.value)
        if holder is not None and not isinstance(item.ctx, ast.Load):
            yield holder, string_of(item.slice)
    elif isinstance(item, ast.Call):
        yield from _stores_of_call(item)


def _stores_of_call(call: ast.Call) -> Iterator[tuple[ast.expr, _Name]]:
    last = terminal(call) or ""
    holder = _with_names(call.func.value) if isinstance(call.func, ast.Attribute) else None
    if holder is not None and last in _STORING:
        yield from ((holder, keyword.arg) for keyword in call.keywords)
        if call.args:
            yield holder, string_of(call.args[0])
    elif last in _SETTERS:
        texts = [text for text in map(string_of, call.args[:2]) if text is not None]
        if texts:
            yield call.args[0], texts[-1].rpartition(".")[2]
        elif "setattr" in last and len(call.args) == len(("object", "name", "value")):
            yield call.args[0], None


def _with_names(node: ast.expr) -> ast.expr | None:
    """The object whose names a dictionary contains: ``vars(args)``, ``args.__dict__``; for ``globals()`` the call."""
    if isinstance(node, ast.Attribute):
        return node.value if node.attr == "__dict__" else None
    name = dotted(node.func) if isinstance(node, ast.Call) else None
    if not isinstance(node, ast.Call) or name not in ("vars", "globals"):
        return None
    return node.args[0] if node.args else node


# What the value of an expression may be: a tensor, a plain number, None; unlike a ``Kind``, nothing is left out.
#
# A ``Kind`` says what a value most likely is, for findings. An edit that adds ``.detach()`` fails if the value is a
# number on one path, however unlikely: so here each path counts, and what is not known is ``UNKNOWN``.

May = frozenset[Any]
"""All that a value may be: a ``Kind``, a function or a class of the project, or a tuple, of a ``May`` for each item."""

NUMBER, NONE = Kind(HOST_TAG, scalar=True), Kind(HOST_TAG, type="None")
IMPORTED, BUILTIN = Kind(OBJECT_TAG, type="import"), Kind(OBJECT_TAG, type="builtins")
"""A name that an import binds, and one that nothing binds."""

NOTHING: May = frozenset()
"""No path gives a value: the name is not bound, or an error is certain."""
ANYTHING, A_TENSOR, A_NUMBER = frozenset({UNKNOWN}), frozenset({TENSOR}), frozenset({NUMBER})
_MOST = 8
_WIDEST = 16
_DEEPEST = 3
"""How many alternatives, items of a tuple, and tuples in tuples are distinguished."""
_MOST_NESTED = 60
_COLLATE = 8
"""The position of ``collate_fn`` in ``DataLoader``."""

_NUMBERS = frozenset({"float", "int", "bool", "len", "isinstance", "hasattr", "callable", "ord", "id", "hash"})
_OF_NUMBERS = frozenset({"round", "abs", "pow", "divmod"})
_PYTHONS = _OF_NUMBERS | {"max", "min", "sum"}
_CLOCKS = frozenset({"time.time", "time.perf_counter", "time.monotonic", "time.time_ns", "time.process_time"})
_NO_VALUES = frozenset({"backward", "register_hook", "clear_grad", "clear_gradient"})
"""Methods of a tensor that return something else."""


@dataclass(frozen=True)
class Defined:
    """A function or a class of the project."""

    file: FileIndex
    what: Scope | Class


def union(*parts: May) -> May:
    """What a value may be that is one of several."""
    if len(parts) == 2 and parts[0] is parts[1]:
        return parts[0]
    found = frozenset[Any]().union(*parts)
    tuples: dict[int, list[tuple[May, ...]]] = {}
    for each in found:
        if isinstance(each, tuple):
            tuples.setdefault(len(each), []).append(each)
    if any(len(alike) > 1 for alike in tuples.values()):
        merged = (tuple(union(*items) for items in zip(*alike, strict=True)) for alike in tuples.values())
        found = frozenset((*(each for each in found if not isinstance(each, tuple)), *merged))
    return found if len(found) <= _MOST else ANYTHING


def tuple_of(items: list[May]) -> May:
    """A tuple with these items."""
    return ANYTHING if len(items) > _WIDEST or _depth(items) >= _DEEPEST else frozenset({tuple(items)})


def _depth(items: Iterable[May]) -> int:
    nested = (each for item in items for each in item if isinstance(each, tuple))
    return max((1 + _depth(each) for each in nested), default=0)


def items_of(may: May, count: int) -> list[May]:
    """What the names may be that a value is unpacked to."""
    parts = [each if isinstance(each, tuple) else (_item(each),) * count for each in may]
    if any(len(part) != count for part in parts):
        return [ANYTHING] * count
    return [union(*(part[at] for part in parts)) for at in range(count)]


def element(may: May) -> May:
    """What iterating over a value gives."""
    return union(*(union(*each) if isinstance(each, tuple) else _item(each) for each in may))


def _item(each: Any) -> May:
    return A_TENSOR if each is TENSOR or each is LOADER else ANYTHING


class Expressions(ABC):
    """Evaluates the expressions of one function; a subclass knows the code around them."""

    file: FileIndex
    _depth = 0

    @abstractmethod
    def value_of(self, node: ast.Name | ast.Attribute) -> May | None:
        """What a name, or an attribute that the function sets, may be; None for other attributes."""

    @abstractmethod
    def called(self, target: Defined, call: ast.Call) -> May:
        """The result of calling a function of the project."""

    @abstractmethod
    def called_on_self(self, method: str, call: ast.Call) -> May:
        """The result of a method of the object itself, which may be of a subclass."""

    @abstractmethod
    def method(self, owner: str, name: str) -> Defined | None:
        """A method of a class of the project."""

    @abstractmethod
    def found(self, qualified: str) -> May:
        """A function or class of the project by its qualified name."""

    def may_be(self, node: ast.expr) -> May:
        """All that an expression may be."""
        handler = _HANDLERS.get(type(node))
        if handler is None or self._depth > _MOST_NESTED:
            return ANYTHING
        self._depth += 1
        try:
            return handler(self, node)
        finally:
            self._depth -= 1

    def iterated(self, node: ast.expr) -> May:
        """What iterating over an expression gives."""
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            return self._any_of(node.elts)
        if isinstance(node, (ast.GeneratorExp, ast.ListComp, ast.SetComp)):
            return self.may_be(node.elt)
        name = self._qualified(node.func) if isinstance(node, ast.Call) and not is_spread(node) else None
        if name is None or not isinstance(node, ast.Call):
            return element(self.may_be(node))
        if name == "range":
            return A_NUMBER
        if name == "enumerate" and node.args:
            return tuple_of([A_NUMBER, self.iterated(node.args[0])])
        if name == "zip" and node.args:
            return tuple_of([self.iterated(argument) for argument in node.args])
        if name.rpartition(".")[2] == "tqdm" and node.args:
            return self.iterated(node.args[0])
        return element(self.may_be(node))

    def _any_of(self, nodes: list[ast.expr]) -> May:
        return union(*map(self.may_be, nodes)) if 0 < len(nodes) <= _WIDEST else ANYTHING

    def _constant(self, node: ast.Constant) -> May:
        if node.value is None:
            return frozenset({NONE})
        return A_NUMBER if isinstance(node.value, (int, float)) else ANYTHING

    def _name(self, node: ast.Name) -> May:
        found = self.value_of(node)
        return ANYTHING if found is None else found

    def _attribute(self, node: ast.Attribute) -> May:
        found = self.value_of(node)
        if found is not None:
            return found
        return A_TENSOR if node.attr == "T" and self.may_be(node.value) == A_TENSOR else ANYTHING

    def _subscript(self, node: ast.Subscript) -> May:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            return ANYTHING if isinstance(node.slice, ast.Slice) else A_NUMBER
        base = self.may_be(node.value)
        at = node.slice.value if isinstance(node.slice, ast.Constant) else None
        found = [
            each[at]
            if isinstance(each, tuple) and type(at) is int and -len(each) <= at < len(each)
            else A_TENSOR
            if each is TENSOR
            else ANYTHING
            for each in base
        ]
        return union(*found)

    def _tuple(self, node: ast.Tuple) -> May:
        if len(node.elts) > _WIDEST or any(isinstance(item, ast.Starred) for item in node.elts):
            return ANYTHING
        return tuple_of([self.may_be(item) for item in node.elts])

    def _binary(self, node: ast.BinOp) -> May:
        return operated(node.op, self.may_be(node.left), self.may_be(node.right))

    def _compare(self, node: ast.Compare) -> May:
        if all(isinstance(operator, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for operator in node.ops):
            return A_NUMBER
        sides = [self.may_be(node.left), *map(self.may_be, node.comparators)]
        if not all(sides):
            return NOTHING
        if all(side == A_NUMBER for side in sides):
            return A_NUMBER
        has_none = any(NONE in side for side in sides)  # (a tensor is never equal to None, which gives False)
        return A_TENSOR if len(sides) == 2 and A_TENSOR in sides and not has_none else ANYTHING

    def _unary(self, node: ast.UnaryOp) -> May:
        value = self.may_be(node.operand)
        return A_NUMBER if isinstance(node.op, ast.Not) else value if value <= {TENSOR, NUMBER} else ANYTHING

    def _call(self, node: ast.Call) -> May:
        name = self._qualified(node.func)
        if name is not None:
            return self._named(name, node)
        function = node.func
        if isinstance(function, ast.Attribute):
            found = self.value_of(function)
            if found is None or found == ANYTHING:
                return self._method(function, node)
            return self._of_each(found, node)
        return self._of_each(self.may_be(function), node)

    def _of_each(self, functions: May, call: ast.Call) -> May:
        return union(*(self._result(each, call) for each in functions))

    def _qualified(self, function: ast.expr) -> str | None:
        """The qualified name of a function that an import or nothing at all binds; None for others."""
        name = dotted(function)
        root = function
        while isinstance(root, ast.Attribute):
            root = root.value
        if name is None or not isinstance(root, ast.Name):
            return None
        bound = self.value_of(root)
        if bound == frozenset({BUILTIN}):
            return name if function is root else None
        meant = self.file.names.meanings(name) if bound == frozenset({IMPORTED}) else ()
        return meant[0] if len(meant) == 1 else None

    def _named(self, name: str, call: ast.Call) -> May:
        """The result of a function of Python, of Paddle, or of another file."""
        if name.startswith("paddle."):
            is_replaced = replaces(self.file, name.rpartition(".")[2])
            return ANYTHING if is_replaced else self._of_paddle(name, call)
        if name in _NUMBERS or name in _CLOCKS or name.startswith("math."):
            return A_NUMBER
        if name in _PYTHONS:
            return self._of_python(name, call)
        return self._of_each(self.found(name), call)

    def _of_paddle(self, name: str, call: ast.Call) -> May:
        if name in call_results.PARALLEL and call.args:
            return self.may_be(call.args[0])  # it calls the layer that it wraps
        made = call_results.call_result(name, call)
        if made.tag == LOADER_TAG:
            return frozenset({LOADER}) if _makes_tensors(call) else ANYTHING
        if name == _SEQUENTIAL and not self._ends_with_paddle(call):
            return ANYTHING
        return frozenset({TENSOR if made.tag == TENSOR_TAG else made}) if made.tag in _FOLLOWED else ANYTHING

    def _ends_with_paddle(self, call: ast.Call) -> bool:
        """Whether the last layer of a ``Sequential`` that does anything is Paddle's, so that it gives a tensor."""
        parts = (item.elts[-1] if isinstance(item, ast.Tuple) and item.elts else item for item in reversed(call.args))
        layers = (self.may_be(part) for part in parts)
        last = next((may for may in layers if may != frozenset({_IDENTITY})), ANYTHING)
        return bool(last) and all(
            isinstance(each, Kind) and each.tag == LAYER_TAG and each.type.startswith("paddle.") and each != _IDENTITY
            for each in last
        )

    def _of_python(self, name: str, call: ast.Call) -> May:
        given = [] if is_spread(call) else [self.may_be(argument) for argument in call.args]
        if name in ("max", "min") and len(given) > 1:
            found = union(*given)
            return found if found <= {TENSOR, NUMBER} else ANYTHING
        if name == "sum" and len(call.args) == 1 and given:
            return self._sum(call.args[0])
        if name == "abs" and given in ([A_TENSOR], [A_NUMBER]):
            return given[0]
        return A_NUMBER if name in _OF_NUMBERS and given and all(each == A_NUMBER for each in given) else ANYTHING

    def _sum(self, node: ast.expr) -> May:
        """``sum(losses)``: 0 if there are none."""
        each = self.iterated(node)
        if isinstance(node, (ast.Tuple, ast.List)) and node.elts:
            return each if each in (A_TENSOR, A_NUMBER) else ANYTHING
        return A_NUMBER if each == A_NUMBER else union(each, A_NUMBER)

    def _method(self, function: ast.Attribute, call: ast.Call) -> May:
        if isinstance(function.value, ast.Name) and function.value.id == "self":
            return self.called_on_self(function.attr, call)
        base = self.may_be(function.value)
        if base == A_TENSOR:
            return self._of_tensor(function.attr)
        if function.attr == "item" and base and not call.args and base <= {TENSOR, NUMBER, UNKNOWN}:
            return A_NUMBER
        return union(*(self._of_object(each, function.attr, call) for each in base))

    def _of_tensor(self, method: str) -> May:
        if method == "item":
            return A_NUMBER
        is_tensor = method not in call_results.HOST_METHODS and method not in _NO_VALUES and may_have(method)
        return A_TENSOR if is_tensor and not method.startswith("_") else ANYTHING

    def _of_object(self, each: Any, method: str, call: ast.Call) -> May:
        if not isinstance(each, Kind) or not each.type:
            return ANYTHING
        if each.type == "paddle.amp.GradScaler" and method == "scale" and call.args:
            return self.may_be(call.args[0])
        if each.tag == LAYER_TAG and method in ("train", "eval", "to"):
            return ANYTHING
        if each.type.startswith("paddle."):
            return A_TENSOR if each.tag == LAYER_TAG and method == "forward" else ANYTHING
        found = self.method(each.type, method)
        return self.called(found, call) if found is not None else ANYTHING

    def _result(self, function: Any, call: ast.Call) -> May:
        """The result of calling a value."""
        if isinstance(function, Defined):
            is_class = isinstance(function.what, Class)
            return _instance(function) if is_class else self.called(function, call)
        if function is LOADER:
            return frozenset({LOADER})
        if not isinstance(function, Kind) or function.tag not in (LAYER_TAG, OBJECT_TAG):
            return ANYTHING
        if function == _IDENTITY:
            return self.may_be(call.args[0]) if call.args else ANYTHING
        if function.type.startswith("paddle."):
            return A_TENSOR if function.tag == LAYER_TAG else ANYTHING
        found = self.method(function.type, "__call__")
        found = found or (self.method(function.type, "forward") if function.tag == LAYER_TAG else None)
        return self.called(found, call) if found is not None else ANYTHING


def _instance(target: Defined) -> May:
    """An object of a class of the project."""
    assert isinstance(target.what, Class)
    kind = Modules.of(target.file.project).kind_of_instance(target.file, target.what)
    return frozenset({kind}) if kind.type else ANYTHING


def _makes_tensors(call: ast.Call) -> bool:
    """Whether a loader makes a tensor of each number, which it does without a function of its own for that."""
    sizes = [keyword.value for keyword in call.keywords if keyword.arg == "batch_size"]
    is_batched = not any(isinstance(size, ast.Constant) and size.value is None for size in sizes)
    is_own = any(keyword.arg == "collate_fn" for keyword in call.keywords) or len(call.args) > _COLLATE
    return is_batched and not is_own and not is_spread(call) and terminal(call) == "DataLoader"


def operated(operator: ast.operator, left: May, right: May) -> May:
    """The result of an operation; one with None fails, so it gives nothing."""
    found = {_operated(operator, one, other) for one in left - {NONE} for other in right - {NONE}}
    return union(*found)


def _operated(operator: ast.operator, left: Any, right: Any) -> May:
    if left is TENSOR:
        return A_TENSOR
    if right is TENSOR:  # (``"%.3f" % loss``, ``[loss] * 2``)
        is_known = left is NUMBER or (left is UNKNOWN and not isinstance(operator, ast.Mod))
        return A_TENSOR if is_known else ANYTHING
    return A_NUMBER if left is NUMBER and right is NUMBER else ANYTHING


_FOLLOWED = frozenset({TENSOR_TAG, LAYER_TAG, OBJECT_TAG})
_SEQUENTIAL, _IDENTITY = "paddle.nn.Sequential", layer("paddle.nn.Identity")
"""The layers of Paddle that give what another layer, or their argument, gives."""

_HANDLERS: Mapping[type, Callable[[Expressions, Any], May]] = {
    ast.Constant: Expressions._constant,
    ast.Name: Expressions._name,
    ast.Attribute: Expressions._attribute,
    ast.Subscript: Expressions._subscript,
    ast.BinOp: Expressions._binary,
    ast.Compare: Expressions._compare,
    ast.UnaryOp: Expressions._unary,
    ast.Call: Expressions._call,
    ast.BoolOp: lambda here, node: here._any_of(node.values),
    ast.IfExp: lambda here, node: here._any_of([node.body, node.orelse]),
    ast.NamedExpr: lambda here, node: here.may_be(node.value),
    ast.Tuple: Expressions._tuple,
}
"""The method for each type of expression; any other may be anything."""
