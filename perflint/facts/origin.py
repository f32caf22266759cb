"""Finds where the values of an expression come from, relative to the training step that uses them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from perflint.flow.by_statement import module_env
from perflint.flow.calls import CallGraph, Certainty
from perflint.flow.evaluate import Evaluator
from perflint.flow.values import Values
from perflint.index.kinds import HOST_TAG, TENSOR_TAG, TUPLE_TAG, UNKNOWN_TAG, Kind
from perflint.index.project import FileIndex, Place
from perflint.paddle.call_results import HOST_ATTRIBUTES, LOOPED
from perflint.paddle.tensor_methods import READ_METHODS
from perflint.syntax.bindings import Binding
from perflint.syntax.names import dotted, plain_names
from perflint.syntax.parameters import default_of, is_spread
from perflint.syntax.reaching import before, is_bound, is_mutated, is_rebound
from perflint.syntax.scopes import Scope, Statement
from perflint.syntax.tree import children, walk
from perflint.syntax.vocabulary import draws_batch, means_input, means_loader, means_settings
from perflint.training.steps import Point, points_of

LITERAL, INVARIANT, NUMBER, MADE, RANDOM = "literal", "invariant", "number", "made", "random"
BATCH, SLICE, READ, HOST, TENSOR, UNKNOWN = "batch", "slice", "read", "host", "tensor", "unknown"

_MOST = 100
"""How many expressions one question looks at, not counting constants."""
_RANK = (LITERAL, INVARIANT, NUMBER, MADE, RANDOM)
_PASSED_ON = frozenset(
    {"array", "asarray", "ascontiguousarray", "stack", "concatenate", "expand_dims", "squeeze", "reshape", "vstack"}
    | {"hstack", "copy", "transpose", "float32", "float64", "int32", "int64", "list", "tuple"}
)
_METHODS = frozenset({"astype", "reshape", "squeeze", "transpose", "copy", "flatten", "ravel", "items", "values"})
_FILLED = frozenset(
    {"zeros", "ones", "full", "eye", "identity", "arange", "linspace", "zeros_like", "ones_like", "full_like"}
)
_NUMBERS = frozenset({"sum", "len", "float", "int", "round", "abs", "max", "min"})
_PUTS = frozenset({"append", "extend", "insert", "add", "update"})


class Origin(NamedTuple):
    """Where values come from: ``kind`` is one of this module's constants; ``sure`` unless it depends on a name."""

    kind: str
    sure: bool = True


def origin(node: ast.expr, point: Point) -> Origin:
    """Where an expression of a statement on the hot path gets its values.

    ``literal``: constants; ``invariant``: the same at each step; ``number``: a Python number of this step; ``made``,
    ``random``: an array that NumPy fills; ``batch``: what the loop reads; ``slice``: some rows of an array that is the
    same at each step (``x_train[i * n : (i + 1) * n]``); ``read``: a tensor copied to the host without changes;
    ``tensor``: a tensor of this step; ``host``: something else computed on the host.
    """
    return _Tracer(point).origin(node, point.statement)


def _used_for_values(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of an expression without those that are only asked for their shape, or the like, as by ``x.shape``."""
    waiting = [node]
    for item in waiting:  # grows in the loop
        yield item
        is_form = isinstance(item, ast.Attribute) and item.attr in HOST_ATTRIBUTES
        waiting += () if is_form else children(item)


def is_read_back(node: ast.expr, point: Point) -> bool:
    """Whether host data of a step was computed from values that the step has read from the device, judging by names."""
    return _Tracer(point).reads_device(node, point.statement, set())


class _Tracer:
    """Follows names back through the assignments of one scope.

    ``known``: what the question has found so far, here and in callers; ``UNKNOWN`` while an origin depends on itself.
    """

    def __init__(self, point: Point, known: dict[ast.expr, Origin] | None = None) -> None:
        self._point = point
        self._file: FileIndex = point.file
        self._scope = point.scope
        self._known = {} if known is None else known

    def origin(self, node: ast.expr, at: Statement) -> Origin:
        """The origin of an expression of the statement ``at``."""
        if _is_literal(node):
            return Origin(LITERAL)
        if node not in self._known:
            self._known[node] = Origin(UNKNOWN)
            if len(self._known) < _MOST:
                self._known[node] = self._of(node, at)
        return self._known[node]

    def _of(self, node: ast.expr, at: Statement) -> Origin:
        if isinstance(node, ast.UnaryOp):
            return self.origin(node.operand, at)
        if isinstance(node, ast.BinOp):
            return self._arithmetic(node, at)
        if isinstance(node, (ast.List, ast.Tuple)):
            inside = self._all(node.elts, at)
            return inside if len(node.elts) == 1 else _gathered(inside)
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            return _gathered(self.origin(node.elt, at))
        if isinstance(node, ast.Name):
            return self._name(node.id, at)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, at)
        if isinstance(node, ast.Subscript):
            return self._item(node, at)
        return self._call(node, at) if isinstance(node, ast.Call) else Origin(UNKNOWN)

    def reads_device(self, node: ast.expr, at: Statement, seen: set[tuple[str, ast.stmt]]) -> bool:
        """Whether an expression of a statement reads a tensor, or the values of the names in it did."""
        for item in _used_for_values(node):
            if isinstance(item, ast.Call) and self._takes_tensor(item, at):
                return True
            if isinstance(item, ast.Name) and (item.id, at.node) not in seen:
                seen.add((item.id, at.node))
                if self._kind(item, at).is_tensor or any(
                    self.reads_device(value, where, seen) for value, where in self._given(item.id, at)
                ):
                    return True
        return False

    def _takes_tensor(self, call: ast.Call, at: Statement) -> bool:
        """Whether a call converts a tensor to something else."""
        if isinstance(call.func, ast.Attribute) and _last(call.func) in READ_METHODS and not _values(call):
            return not self._kind(call.func.value, at).is_host
        return any(self._kind(value, at).is_tensor for value in _values(call)) and not self._kind(call, at).is_tensor

    def _given(self, name: str, at: Statement) -> Iterator[tuple[ast.expr, Statement]]:
        """The values of a name before a statement, and what was put into it."""
        for binding in before(name, at, self._scope):
            if binding.value is not None:
                yield binding.value, binding.statement
        for statement in self._scope.statements:
            for call in statement.calls if statement.start < at.start else ():
                is_put = isinstance(call.func, ast.Attribute) and call.func.attr in _PUTS
                is_put = is_put and isinstance(call.func, ast.Attribute) and dotted(call.func.value) == name
                is_filled = isinstance(statement.node, ast.Expr) and name in map(dotted, call.args)
                if is_put or is_filled:  # ``find_paths(paths, costs)``
                    yield from ((value, statement) for value in _values(call) if dotted(value) != name)

    def _kind(self, node: ast.expr, at: Statement) -> Kind:
        point = points_of(self._file).get(at.node, self._point)
        return Evaluator(self._file, point.full_env).kind(node)

    def _all(self, nodes: Iterable[ast.expr], at: Statement) -> Origin:
        return _combined([self.origin(node, at) for node in nodes])

    def _arithmetic(self, node: ast.BinOp, at: Statement) -> Origin:
        found = self._all([node.left, node.right], at)
        return Origin(NUMBER) if found.kind in (HOST, READ, UNKNOWN) and self._is_number(node, at) else found

    def _is_number(self, node: ast.BinOp, at: Statement) -> bool:
        """Whether this is arithmetic with Python numbers (``sum(hits) / total``), judging by its calls."""
        called = [item for item in walk(node) if isinstance(item, ast.Call)]
        kinds = [self._kind(call, at) for call in called]
        # A list to which only host values were added has the kind of the empty list that it started as.
        numbers = bool(kinds) and all(kind.is_host or kind == Kind(TUPLE_TAG) for kind in kinds)
        is_arithmetic = _is_arithmetic(node) and not _has_container(node)
        return numbers and is_arithmetic and not self._kind(node, at).is_tensor

    def _name(self, name: str, at: Statement) -> Origin:
        for part in _comprehensions(at.node):
            if name in plain_names(part.target):
                return self._element(part.target, part.iter, name, at)
        found = before(name, at, self._scope)
        if not found:
            return self._outside(name)
        return _combined([self._bound(name, binding) for binding in found])

    def _bound(self, name: str, binding: Binding) -> Origin:
        loop, statement = self._point.loop, binding.statement
        value = self._of_binding(name, binding)
        if loop is not None and statement.node is not loop and not statement.is_in(loop):
            if is_rebound(name, loop) or is_mutated(name, loop):
                return Origin(HOST)
            stays = value.kind if value.kind in (LITERAL, TENSOR) else INVARIANT
            return Origin(stays, value.sure and value.kind != UNKNOWN)
        if value.kind in (*_RANK, READ) and is_mutated(name, self._scope.node):
            return Origin(HOST)
        return value

    def _of_binding(self, name: str, binding: Binding) -> Origin:
        node = binding.statement.node
        if binding.value is None:
            return Origin(UNKNOWN)
        if isinstance(node, (ast.For, ast.AsyncFor)):
            return self._element(node.target, node.iter, name, binding.statement)
        return self.origin(binding.value, binding.statement)

    def _element(self, target: ast.expr, iterated: ast.expr, name: str, at: Statement) -> Origin:
        """The origin of what a loop or a comprehension assigns to a name of its target."""
        if _counts(iterated) or _is_counter(target, iterated, name):
            return Origin(NUMBER)
        if iterated is getattr(self._point.loop, "iter", None):
            return Origin(SLICE if _is_cut(iterated, at, self._scope) else BATCH)
        called = _last(iterated.func) if isinstance(iterated, ast.Call) else ""
        if isinstance(iterated, ast.Call) and called in LOOPED and iterated.args:
            return self._all(iterated.args, at)
        if means_loader(called or _last(iterated)):
            return Origin(BATCH)
        return self.origin(iterated, at)

    def _outside(self, name: str) -> Origin:
        """The origin of a name that is not bound before its use here: a parameter, a global, an earlier value."""
        loop = self._point.loop
        if name in self._scope.parameters:
            if loop is not None:
                changes = is_rebound(name, loop) or is_mutated(name, loop)
                return Origin(HOST) if changes else Origin(INVARIANT, sure=False)
            return Origin(BATCH, sure=False) if means_input(name) else self._handed_over(name)
        if is_bound(name, self._scope):
            return Origin(HOST)
        module = self._file.scopes.module
        value = Values.of(self._file.project).definitions(Place(self._file, module)).get(name)
        if value is None or is_mutated(name, self._file.tree):
            return Origin(UNKNOWN)
        if _is_literal(value):
            return Origin(LITERAL)
        return Origin(INVARIANT) if module_env(self._file).get(name, Kind(UNKNOWN_TAG)).is_host else Origin(UNKNOWN)

    def _handed_over(self, name: str) -> Origin:
        """The origin of a parameter: the same at each step if all calls at a step pass something that is."""
        graph, found = CallGraph.of(self._file.project), list[Origin]()
        for site in graph.callers(Place(self._file, self._scope), Certainty.NAME):
            point = points_of(site.file).get(site.statement.node)
            if point is None or point.step is None:
                continue
            argument = site.argument(self._scope, name) or default_of(self._scope, name)
            if argument is None or is_spread(site.call):
                return Origin(UNKNOWN)
            part = _Tracer(point, self._known).origin(argument, point.statement)
            if part.kind not in (LITERAL, INVARIANT):
                return Origin(UNKNOWN)
            found.append(Origin(INVARIANT, part.sure and site.certainty is Certainty.SURE))
        return _combined(found)

    def _attribute(self, node: ast.Attribute, at: Statement) -> Origin:
        if self._kind(node, at).is_tensor:
            return Origin(TENSOR)
        name = dotted(node) or ""
        first, _, rest = name.partition(".")
        if first == "self" and "." not in rest:
            return Origin(INVARIANT, sure=False) if self._is_kept(rest, node, at) else Origin(UNKNOWN)
        if self._file.names.is_bound(first) and not is_bound(first, self._scope):
            if self._file.names.resolve(name).startswith(("math.", "numpy.")):
                return Origin(LITERAL)
            return Origin(INVARIANT if node.attr.isupper() else UNKNOWN)
        if means_settings(first) and not is_rebound(name, self._scope.node):
            return Origin(INVARIANT, sure=False)
        return Origin(UNKNOWN)

    def _is_kept(self, name: str, node: ast.Attribute, at: Statement) -> bool:
        """Whether ``self.name`` is host data that ``__init__`` sets and no method of the class changes."""
        owner = self._scope.owner
        if owner is None or self._kind(node, at).tag not in (HOST_TAG, TUPLE_TAG, UNKNOWN_TAG):
            return False
        assigned = owner.attributes.get(name, [])
        if not assigned or any(scope.name != "__init__" for _, scope in assigned):
            return False
        if any(isinstance(value, ast.Constant) and value.value is None for value, _ in assigned):
            return False
        return not is_mutated(f"self.{name}", owner.node)

    def _item(self, node: ast.Subscript, at: Statement) -> Origin:
        if self._is_option(node, at):
            return Origin(NUMBER)
        base = self.origin(node.value, at)
        if base.kind == READ:  # part of what was read: the host has selected it
            return Origin(HOST)
        if base.kind not in (LITERAL, INVARIANT, MADE):
            return base
        names = plain_names(node.slice)
        if all(self._name(name, at).kind in (LITERAL, INVARIANT) for name in names):
            return base
        return Origin(SLICE, sure=False) if _takes_rows(node.slice) else Origin(HOST)

    def _is_option(self, node: ast.Subscript, at: Statement) -> bool:
        """Whether an item is an option of an optimizer: ``group["betas"]`` in ``for group in self.param_groups``."""
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if not isinstance(key, str) or key == "params" or not isinstance(node.value, ast.Name):
            return False
        groups = (one.value for one in before(node.value.id, at, self._scope))
        held = [group.value if isinstance(group, ast.Subscript) else group for group in groups]
        return bool(held) and all(one is not None and _last(one).endswith("param_groups") for one in held)

    def _call(self, node: ast.Call, at: Statement) -> Origin:
        qualified, last = self._file.names.resolve(dotted(node.func) or ""), _last(node.func)
        known = self._of_numpy(node, qualified, at) or self._of_method(node, at)
        if known is not None:
            return known
        if draws_batch(last) or means_loader(last):
            return Origin(BATCH)
        if qualified.startswith("math.") or qualified in _NUMBERS:
            return Origin(LITERAL) if self._all(_values(node), at).kind == LITERAL else Origin(NUMBER)
        kind = self._kind(node, at)
        return Origin(TENSOR if kind.is_tensor else HOST if kind.is_host else UNKNOWN)

    def _of_numpy(self, node: ast.Call, qualified: str, at: Statement) -> Origin | None:
        """The origin of what NumPy draws, fills or copies, and of a list; None for other calls."""
        last, from_numpy = _last(node.func), qualified.startswith("numpy.")
        if qualified.startswith(("numpy.random.", "random.")):
            return Origin(RANDOM)
        if from_numpy and last in _FILLED:
            return Origin(MADE)
        if not (from_numpy or qualified in ("list", "tuple")) or last not in _PASSED_ON:
            return None
        inner = self._all(node.args[:1], at)
        copied = inner.kind == TENSOR or (from_numpy and self._is_tensor(node.args[0], at)) if node.args else False
        return Origin(READ) if copied else inner

    def _of_method(self, node: ast.Call, at: Statement) -> Origin | None:
        """The origin of the result of a method that reads or returns its object, or of Paddle; None for other calls."""
        last = _last(node.func)
        if isinstance(node.func, ast.Attribute) and last in READ_METHODS and not _values(node):
            return self._read(node.func.value, at)
        is_paddle = self._file.names.resolve(dotted(node.func) or "").startswith("paddle.")
        if is_paddle and self._kind(node, at).tag == TENSOR_TAG:
            return Origin(TENSOR)
        if isinstance(node.func, ast.Attribute) and last in _METHODS:
            return self.origin(node.func.value, at)
        return None

    def _is_tensor(self, node: ast.expr, at: Statement) -> bool:
        kind = self._kind(node, at)
        return kind.tag == TENSOR_TAG and not kind.guess and self.origin(node, at).kind != BATCH

    def _read(self, tensor: ast.expr, at: Statement) -> Origin:
        kind = self._kind(tensor, at)
        if kind.is_host or kind.tag not in (TENSOR_TAG, UNKNOWN_TAG, TUPLE_TAG):
            return self.origin(tensor, at)
        return Origin(READ, kind.is_tensor and not kind.guess)


def _values(call: ast.Call) -> list[ast.expr]:
    """The arguments of a call, without dtype and axis."""
    return [*call.args, *(item.value for item in call.keywords if item.arg not in ("dtype", "axis"))]


def _combined(found: list[Origin]) -> Origin:
    """The origin of a combination of several values."""
    kinds = {part.kind for part in found}
    sure = all(part.sure for part in found)
    if not kinds or UNKNOWN in kinds:
        return Origin(UNKNOWN)
    if len(kinds) == 1:
        return Origin(kinds.pop(), sure)
    if kinds & {TENSOR, HOST, READ}:
        return Origin(HOST)
    drawn = next((kind for kind in (BATCH, SLICE) if kind in kinds), None)
    return Origin(drawn or max(kinds, key=_RANK.index), sure)


def _gathered(part: Origin) -> Origin:
    """The origin of a list of such values: numbers in a list are something computed on the host."""
    return Origin(HOST, part.sure) if part.kind == NUMBER else part


def _has_container(node: ast.expr) -> bool:
    """Whether arithmetic uses all values of an array that it also sums or counts: ``w / np.sum(w)``."""
    called = [item for item in walk(node) if isinstance(item, ast.Call)]
    summed = {name for call in called for value in _values(call) if (name := dotted(value)) is not None}
    inside = {item for call in called for item in walk(call)}
    return any(isinstance(item, ast.Name) and item.id in summed for item in walk(node) if item not in inside)


def _is_arithmetic(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return _is_arithmetic(node.left) and _is_arithmetic(node.right)
    if isinstance(node, ast.Call):
        return _last(node.func) in _NUMBERS or _last(node.func) == "item"
    return isinstance(node, ast.Name) or (isinstance(node, ast.Constant) and isinstance(node.value, (int, float)))


def _is_literal(node: ast.expr) -> bool:
    if isinstance(node, (ast.List, ast.Tuple)):
        return bool(node.elts) and all(map(_is_literal, node.elts))
    if isinstance(node, ast.UnaryOp):
        return _is_literal(node.operand)
    return isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float))


def _takes_rows(index: ast.expr) -> bool:
    """Whether an index takes a run of rows: ``a:b``, ``a:b, :``."""
    return isinstance(index.elts[0] if isinstance(index, ast.Tuple) and index.elts else index, ast.Slice)


def _is_cut(iterated: ast.expr, at: Statement, scope: Scope) -> bool:
    """Whether a loop cuts an array into batches: ``[x[k : k + n] for k in range(0, len(x), n)]``."""
    if isinstance(iterated, ast.Call) and _last(iterated.func) in LOOPED and iterated.args:
        return _is_cut(iterated.args[0], at, scope)
    values = [one.value for one in before(iterated.id, at, scope)] if isinstance(iterated, ast.Name) else [iterated]
    return bool(values) and all(
        isinstance(value, ast.ListComp) and isinstance(value.elt, ast.Subscript) and _takes_rows(value.elt.slice)
        for value in values
    )


def _comprehensions(node: ast.stmt) -> Iterator[ast.comprehension]:
    for item in walk(node):
        if isinstance(item, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            yield from item.generators


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _counts(iterated: ast.expr) -> bool:
    return isinstance(iterated, ast.Call) and _last(iterated.func) in ("range", "trange")


def _is_counter(target: ast.expr, iterated: ast.expr, name: str) -> bool:
    counted = isinstance(iterated, ast.Call) and _last(iterated.func) == "enumerate"
    return counted and isinstance(target, ast.Tuple) and name in plain_names(target.elts[0])
