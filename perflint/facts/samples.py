"""Finds what the samples of a loader consist of: worker processes cannot pass on everything that a dataset may return.

On Paddle 3.3.1 workers crash on samples that are Paddle tensors, as ``transform=ToTensor()`` and ``paddle.to_tensor``
in ``__getitem__`` create them, and shared memory rejects arrays of size zero (``np.zeros((0, 4))`` for no boxes). So
everything that may create a sample is followed: the dataset, its transforms, the collating function.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perflint.dataflow.call_graph import CallGraph
from perflint.facts.object_parts import class_of, parts_of
from perflint.index.kinds import LAYER_TAG
from perflint.index.modules import Modules
from perflint.syntax.bindings import bindings_of
from perflint.syntax.names import dotted
from perflint.syntax.parameters import all_parameters, argument_of, is_zero
from perflint.syntax.scopes import Class, Scope
from perflint.syntax.tree import children, string_of, walk

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

_TENSORS = re.compile(
    r"paddle\.(?:(?:tensor|linalg|fft|signal|sparse|geometric|incubate)\.)*[a-z]\w*$|paddle\.Tensor$"
    r"|paddle\.(?:fluid|base)\.dygraph\.(?:base\.)?to_variable$"
    r"|paddle\.nn\.(?:functional\.\w+|[A-Z]\w*)$|paddle\.audio\.(?:features|functional)\.\w+$"
    r"|paddle\.vision\.(?:transforms\.)*(?:transforms\.|functional\.)*(?:ToTensor|to_tensor)$"
)
_NO_TENSORS = re.compile(
    r"paddle\.(?:no_grad|enable_grad|(?:is|in|set|get|enable|disable)_\w+|seed|save|summary|flops|batch|broadcast_shape"
    r"|iinfo|finfo|jit|grad)$"
)
_COLLATORS = re.compile(
    r"paddlenlp\.data\.(?:data_collator\.)?(?:DataCollator\w+|DefaultDataCollator|default_data_collator)$"
)
"""PaddleNLP's collators: they create Paddle tensors, unless ``return_tensors="np"`` requests arrays."""
_TO_HOST = frozenset({"numpy", "item", "tolist"})
_EMPTY = frozenset(f"numpy.{name}" for name in ("zeros", "ones", "empty", "full"))
_MAKERS = ("__getitem__", "__iter__", "__call__")
"""The methods of a dataset, a transform or a collating object that run in a worker."""

_MOST_PLACES = 300


@dataclass(frozen=True)
class Obstacle:
    """A place that creates samples that worker processes cannot pass on.

    ``empty``: they are arrays of size zero, which only shared memory rejects; otherwise Paddle tensors.
    """

    path: str
    line: int
    text: str
    empty: bool = False


def obstacle(file: FileIndex, scope: Scope, call: ast.Call, *datasets: tuple[str, int]) -> Obstacle | None:
    """What prevents a loader from passing on its samples; tensors come before arrays of size zero.

    Args:
        call: the call that creates the loader.
        datasets: names and positions of the parameters for datasets.
    """
    search = _Search()
    for name, position in datasets or (("dataset", 0),):
        search.value(file, scope, argument_of(call, name, position))
    search.value(file, scope, argument_of(call, "collate_fn", 8))
    for keyword in call.keywords:
        if keyword.arg is None:
            search.value(file, scope, keyword.value)
    return min(search.found, key=lambda item: item.empty, default=None)


class _Search:
    """Follows everything that a value may be; each place is examined once."""

    def __init__(self) -> None:
        self.found: list[Obstacle] = []
        self._seen: set[object] = set()

    def value(self, file: FileIndex, scope: Scope, node: ast.expr | None) -> None:
        """Examine what an expression may be: an object whose methods run in a worker, or a function that does."""
        for item in _on_the_device(node) if node is not None else ():
            if isinstance(item, ast.Call):
                self._called(file, scope, item)
            elif isinstance(item, ast.Name | ast.Attribute) and isinstance(item.ctx, ast.Load):
                self._named(file, scope, dotted(item), file.row(item))

    def _is_new(self, *key: object) -> bool:
        if key in self._seen or len(self._seen) > _MOST_PLACES:
            return False
        self._seen.add(key)
        return True

    def _called(self, file: FileIndex, scope: Scope, call: ast.Call) -> None:
        name = dotted(call.func)
        qualified = file.names.resolve(name) if name else ""
        is_tensor = _makes_tensor(call, qualified) or _is_graph_tensor(call)
        if is_tensor or _is_empty(call, qualified):
            text = qualified if is_tensor and qualified else ast.unparse(call)
            self.found.append(Obstacle(file.path, file.row(call), text, not is_tensor))

    def _named(self, file: FileIndex, scope: Scope, name: str | None, line: int = 0) -> None:
        """Examine what a name at a line may be: a class, a function, its values or arguments."""
        if name is None or not self._is_new(scope, name):
            return
        first, _, rest = name.partition(".")
        owner = class_of(file, scope, ast.Name(first, ast.Load())) if rest else None
        if owner is not None:
            self._attribute(*owner, rest.partition(".")[0])
            return
        bound = _bound(scope, first)
        if bound is not None:
            self._bound(file, bound, name)
            return
        qualified = file.names.resolve(name)
        found = Modules.of(file.project).find(qualified, file)
        if found is not None:
            self._definition(*found)
            return
        if qualified.endswith(".default_data_collator") and _COLLATORS.match(qualified):
            self.found.append(Obstacle(file.path, line or 1, qualified))
        module, _, last = qualified.rpartition(".")
        there = Modules.of(file.project).module_named(module, file) if file.names.is_bound(first) else None
        if there is not None and there is not file:
            self._named(there, there.scopes.module, last)

    def _bound(self, file: FileIndex, scope: Scope, name: str) -> None:
        first = name.partition(".")[0]
        if first in scope.functions:
            self._definition(file, scope.functions[first])
        if first in all_parameters(scope):
            for site in CallGraph.of(file.project).calls(file, scope):
                self.value(site.file, site.scope, site.argument(scope, first))
        for statement in bindings_of(scope).get(first, ()):
            self.value(file, scope, getattr(statement.node, "value", None))

    def _attribute(self, file: FileIndex, owner: Class, name: str) -> None:
        """Examine what an attribute of an object may be, and at the method of that name."""
        if not self._is_new(owner, name):
            return
        for there, scope, value in parts_of(file, owner, name):
            self.value(there, scope, value)
        method = Modules.of(file.project).method_of(file, owner, name)
        if method is not None:
            self._body(*method)

    def _definition(self, file: FileIndex, found: Scope | Class) -> None:
        if isinstance(found, Scope):
            self._body(file, found)
            return
        if Modules.of(file.project).kind_of_instance(file, found).tag == LAYER_TAG:
            self.found.append(Obstacle(file.path, file.row(found.node), found.name))
            return
        for name in _MAKERS:
            method = Modules.of(file.project).method_of(file, found, name)
            if method is not None:
                self._body(*method)

    def _body(self, file: FileIndex, scope: Scope) -> None:
        """Examine everything that a function calls and names: it may run for each sample, or return what does."""
        if not self._is_new(scope):
            return
        for statement in scope.statements:
            read = {id(item) for call in statement.calls if _reads(call) for item in walk(call)}
            for call in statement.calls:
                if id(call) not in read:
                    self.value(file, scope, call)
            if isinstance(statement.node, ast.Return):
                self.value(file, scope, statement.node.value)


def _on_the_device(node: ast.expr) -> Iterator[ast.AST]:
    """The parts of an expression, without those that are read to the host at once: ``x.mean().numpy()``."""
    waiting: list[ast.AST] = [node]
    while waiting:
        item = waiting.pop()
        yield item
        if not _reads(item):
            waiting += children(item)


def _reads(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _TO_HOST


def _makes_tensor(call: ast.Call, qualified: str) -> bool:
    """Whether a call creates a Paddle tensor, or a layer or an object that does."""
    if _COLLATORS.match(qualified) is not None:
        kind = argument_of(call, "return_tensors", None)
        return kind is None or string_of(kind) != "np"
    if _TENSORS.match(qualified) is None or _NO_TENSORS.match(qualified) is not None:
        return False
    as_arrays = argument_of(call, "return_numpy", None) if qualified == "paddle.load" else None
    return as_arrays is None or (isinstance(as_arrays, ast.Constant) and not as_arrays.value)


def _bound(scope: Scope, name: str) -> Scope | None:
    """The function or module that binds a name visible in a scope."""
    inner: Scope | None = scope
    while inner is not None:
        if name in all_parameters(inner) or name in inner.functions:
            return inner
        if any(_gives(statement.node) for statement in bindings_of(inner).get(name, ())):
            return inner
        inner = inner.parent
    return None


def _gives(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign)


def _is_graph_tensor(call: ast.Call) -> bool:
    """``graph.tensor()``, with which PGL turns a graph of arrays into one of tensors."""
    return isinstance(call.func, ast.Attribute) and call.func.attr == "tensor" and not call.args and not call.keywords


def _is_empty(call: ast.Call, qualified: str) -> bool:
    """Whether a call creates an array of size zero: ``np.zeros((0, 4))``, ``np.array([])``, ``boxes.reshape(0, 4)``."""
    if qualified in ("numpy.array", "numpy.asarray"):
        return bool(call.args) and isinstance(call.args[0], ast.List | ast.Tuple) and not call.args[0].elts
    if qualified in _EMPTY:
        return any(map(is_zero, _sizes(call.args[:1])))
    is_reshape = isinstance(call.func, ast.Attribute) and call.func.attr == "reshape"
    return is_reshape and any(map(is_zero, _sizes(call.args)))


def _sizes(nodes: list[ast.expr]) -> Iterator[ast.expr]:
    for node in nodes:
        yield from node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
