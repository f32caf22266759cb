"""The kind of an expression, given the kinds of the names in it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

from perflint.flow import environment
from perflint.flow.environment import Environment, bind, item_name
from perflint.flow.type_tests import narrowed
from perflint.index import hierarchy
from perflint.index.hierarchy import Hierarchy, Registries
from perflint.index.kinds import (
    CPU_PLACE,
    DATASET_TAG,
    DICT_TAG,
    FUNCTION_TAG,
    GUESS,
    HOST,
    ITERABLE_TAG,
    LAYER_TAG,
    LOADER,
    LOADER_TAG,
    MASK,
    OBJECT_TAG,
    TENSOR,
    TENSOR_TAG,
    TUPLE_TAG,
    UNKNOWN,
    UNKNOWN_TAG,
    Kind,
    element,
    function,
    join,
    loader_of,
    tuple_of,
)
from perflint.index.modules import Modules
from perflint.index.project import FileIndex
from perflint.paddle import call_results, tensor_methods
from perflint.paddle.call_results import COMBINING, LISTING
from perflint.paddle.tensor_methods import READ_METHODS, may_have
from perflint.syntax.names import dotted, name_pattern, names_in
from perflint.syntax.tree import is_literal, string_of
from perflint.syntax.vocabulary import means_layer, means_loader

Env = Mapping[str, Kind]

_HOST_CALLS = frozenset(
    {"float", "int", "bool", "complex", "str", "repr", "len", "range", "type", "isinstance", "hasattr", "id", "ord"}
    | {"hash", "format", "print", "open", "input", "callable"}
)
_SAME_AS_ARGUMENT = LISTING | {"sum", "max", "min", "abs", "reversed", "copy.deepcopy", "copy.copy"}
HOST_MODULES = (
    *("numpy.", "np.", "math.", "time.", "os.", "random.", "sys.", "json.", "datetime."),
    *("cv2.", "PIL.", "sklearn.", "scipy.", "pandas."),
)
_OTHER_FRAMEWORKS = ("torch.", "tensorflow.", "jax.", "mxnet.")
"""The results of these are not tensors of Paddle."""
_PROGRESS = frozenset({"tqdm", "track"})
_WRAPPERS = COMBINING | _PROGRESS | {"iter", "trange", "rich.progress.track"}

_PARAMETERS = frozenset({"parameters", "named_parameters", "buffers", "named_buffers"})
"""Methods of a layer that return its tensors."""

_PLACE_OF_TO_TENSOR = 2
"""The position of ``place`` in ``paddle.to_tensor(data, dtype, place)``."""

_MOST_NESTED = 100
"""How deeply nested expressions are evaluated: in a sum of a thousand terms, deeper ones stay unknown."""


class Evaluator:
    """Evaluates expressions of one scope; ``env`` maps dotted names (``loss``, ``self.loss``) to kinds."""

    def __init__(self, file: FileIndex, env: Env) -> None:
        self._file = file
        self._project = file.project.resolving
        self.env = env
        self._depth = 0

    def kind(self, node: ast.expr) -> Kind:
        """The kind of an expression."""
        handler = _HANDLERS.get(type(node))
        if handler is None or self._depth > _MOST_NESTED:
            return UNKNOWN
        self._depth += 1
        try:
            return handler(self, node)
        except RecursionError:
            return UNKNOWN
        finally:
            self._depth -= 1

    def _name(self, node: ast.Name) -> Kind:
        return self._with_entries(node.id, self._named(node.id))

    def _with_entries(self, name: str, kind: Kind) -> Kind:
        """The kind of a container, including the known kinds of its entries by key."""
        entries = self.env.entries_of(name) if isinstance(self.env, Environment) else None
        if not entries:
            return kind
        return environment.with_entries(kind, {str(ast.literal_eval(at[1:-1])): one for at, one in entries.items()})

    def _named(self, name: str) -> Kind:
        """The kind of a name: what is known, what it says, or the project function that it refers to."""
        known = self.env.get(name)
        if known is not None:
            return known
        if means_loader(name.rpartition(".")[2]):
            return LOADER
        return Modules.of(self._file.project).function_value(self._file, None, name) or UNKNOWN

    def _attribute(self, node: ast.Attribute) -> Kind:
        name = dotted(node)
        known = self._attribute_named(node, name)
        return self._with_entries(name, known) if name is not None else known

    def _attribute_named(self, node: ast.Attribute, name: str | None) -> Kind:
        if name is not None and name in self.env:
            return self.env[name]
        base = self.kind(node.value)
        if base.tag == TENSOR_TAG:
            other = GUESS if base.guess else TENSOR
            return HOST if node.attr in call_results.HOST_ATTRIBUTES else other
        if base.is_host:
            return HOST
        if base.tag in (OBJECT_TAG, LAYER_TAG):
            found = self._project.attribute(base.type, node.attr)
            found = found or Modules.of(self._file.project).method_value(base.type, node.attr)
            if found is not None:
                return found
        return self._named(name) if name is not None else UNKNOWN

    def _lambda(self, node: ast.Lambda) -> Kind:
        """The kind of a ``lambda``; one that only calls a function of the project counts as that function."""
        return self._rewrapped(node.body.func if isinstance(node.body, ast.Call) else None)

    def _rewrapped(self, node: ast.expr | None) -> Kind:
        kind = self.kind(node) if node is not None else UNKNOWN
        return function(kind.type, rewrapped=True) if kind.tag == FUNCTION_TAG else UNKNOWN

    def _subscript(self, node: ast.Subscript) -> Kind:
        item = item_name(node)
        if item is not None and item in self.env:
            return self.env[item]
        base = self._whole(node.value)
        if base.tag == TUPLE_TAG and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int):
            index = node.slice.value
            if -len(base.items) <= index < len(base.items):
                return base.items[index]
        if base.tag == LOADER_TAG:
            return LOADER
        return environment.entry(base, string_of(node.slice)) if base.tag == DICT_TAG else element(base)

    def _whole(self, node: ast.expr) -> Kind:
        """The kind of a container; one of numbers if only some entries are known and these are numbers."""
        kind, name = self.kind(node), dotted(node)
        if name is None or kind.is_tensor or not isinstance(self.env, Environment):
            return kind
        items = self.env.items_of(name)
        return HOST if kind.tag == UNKNOWN_TAG and items and all(item.is_host for item in items) else kind

    def _entry(self, node: ast.Call, func: ast.Attribute) -> Kind | None:
        """The result of ``logs.get("cost")``, if the entry is known."""
        if func.attr not in ("get", "pop") or not node.args:
            return None
        item = item_name(ast.Subscript(func.value, node.args[0]))
        return self.env.get(item) if item is not None else None

    def _binary(self, node: ast.BinOp) -> Kind:
        left, right = self.kind(node.left), self.kind(node.right)
        if isinstance(node.op, ast.BitOr) and DICT_TAG in (left.tag, right.tag):
            return environment.merged(left, right)
        if isinstance(node.op, ast.Mod) and isinstance(node.left, (ast.Constant, ast.JoinedStr)):
            return HOST
        tensors = [kind for kind in (left, right) if kind.is_tensor]
        if tensors:
            return _arithmetic(node.op, (node.left, left), (node.right, right))
        if isinstance(node.op, (ast.Mult, ast.Add)):
            held = next(filter(environment.holds_objects, (left, right)), None)
            if held is not None:
                return held  # ``[Meter()] * 3``
        return HOST if left.is_host and right.is_host else UNKNOWN

    def _compare(self, node: ast.Compare) -> Kind:
        if any(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in node.ops):
            return HOST
        if any(string_of(part) is not None or is_literal(part, None) for part in (node.left, *node.comparators)):
            return HOST  # no tensor is compared with a text, and the result of a comparison with None is a ``bool``
        kinds = [self.kind(node.left), *map(self.kind, node.comparators)]
        if any(kind.is_tensor for kind in kinds):
            return Kind(TENSOR_TAG, guess=all(kind.guess for kind in kinds if kind.is_tensor), truth=True)
        return HOST if all(kind.is_host for kind in kinds) else UNKNOWN

    def _unary(self, node: ast.UnaryOp) -> Kind:
        return HOST if isinstance(node.op, ast.Not) else self.kind(node.operand)

    def _conditional(self, node: ast.IfExp) -> Kind:
        """A conditional, using in each branch what the test says: ``x.item() if isinstance(x, Tensor) else x``."""
        branches = ((node.body, True), (node.orelse, False))
        return reduce(join, (self._where(node.test, value).kind(branch) for branch, value in branches))

    def _where(self, test: ast.expr, value: bool) -> Evaluator:
        """An evaluator for the case that a test is ``value``."""
        told = narrowed(test, value, self.env, self._file)
        if not told:
            return self
        env = Environment(self.env)
        env.update(told)
        return self._within(env)

    def _within(self, env: Env) -> Evaluator:
        inner = Evaluator(self._file, env)
        inner._depth = self._depth
        return inner

    def _display(self, node: ast.Tuple | ast.List | ast.Set) -> Kind:
        if len(node.elts) > 32:
            return UNKNOWN
        return tuple_of(map(self.kind, node.elts))

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Kind:
        value = node.value if isinstance(node, ast.DictComp) else node.elt
        kind = self.inside(node.generators).kind(value)
        if kind.is_tensor:
            return Kind(TENSOR_TAG, guess=kind.guess, truth=kind.truth)
        if kind.type:
            return tuple_of([kind])
        return HOST if kind.is_host else UNKNOWN

    def inside(self, generators: list[ast.comprehension]) -> Evaluator:
        """An evaluator that also knows the targets of a comprehension."""
        env = Environment(self.env)
        inner = self._within(env)
        for generator in generators:
            bind(generator.target, inner.iterated(generator.iter), env)
            for test in generator.ifs:
                env.update(narrowed(test, True, env, self._file))
        return inner

    def iterated(self, node: ast.expr) -> Kind:
        """The kind of a ``for`` target that iterates over an expression."""
        if isinstance(node, ast.Call):
            name = dotted(node.func) or ""
            last = name.rpartition(".")[2]
            if last == "enumerate" and node.args:
                return tuple_of([HOST, self.iterated(node.args[0])])
            if last == "zip":
                return tuple_of(map(self.iterated, node.args))
            if last == "range":
                return HOST
            if name in _WRAPPERS or last in _PROGRESS:
                return self.iterated(node.args[0]) if node.args else UNKNOWN
            if self._gives_parameters(node):
                return tuple_of([HOST, TENSOR]) if last.startswith("named") else TENSOR
            if isinstance(node.func, ast.Attribute) and last in ("items", "values", "keys"):
                base = self._whole(node.func.value)
                if last == "keys":
                    return HOST
                value = element(base)
                return tuple_of([HOST, value]) if last == "items" else value
            if not node.args and not node.keywords and (kind := self.kind(node)).guess:
                # not a layer, but a generator of samples
                return UNKNOWN if kind.tag == TENSOR_TAG else self._drawn(kind)
        return self._drawn(self.kind(node))

    def _gives_parameters(self, call: ast.Call) -> bool:
        """Whether a call returns the parameters of a layer, or of an object of unknown kind with such a method."""
        function = call.func
        if not isinstance(function, ast.Attribute) or function.attr not in _PARAMETERS:
            return False
        return self.kind(function.value).tag in (LAYER_TAG, UNKNOWN_TAG)

    def _drawn(self, kind: Kind) -> Kind:
        """The kind that iterating over a value gives; for an object of the project, according to its methods."""
        if kind.tag == DICT_TAG:
            return HOST  # its keys
        if kind.tag != OBJECT_TAG:
            return element(kind)
        given = self._project.call_method(kind.type, "__iter__", [], {})
        if given is None or given.tag == OBJECT_TAG:  # it returns itself, or another object that counts on
            return self._project.call_method((given or kind).type, "__next__", [], {}) or UNKNOWN
        return element(given)

    def _call(self, node: ast.Call) -> Kind:
        kind = self._known_call(node)
        if kind.tag != "unknown":
            return kind
        wanted = hierarchy.requested(node)
        made = Registries.of(self._file.project).registered(wanted, hierarchy.asked(node)) if wanted else None
        if made is None and hierarchy.looks_up(node):
            made = self._project.call_looked_up(self._file, node, *self.arguments(node))
        return made or kind

    def _known_call(self, node: ast.Call) -> Kind:
        name = dotted(node.func)
        if name is not None:
            known = self._call_by_name(node, name)
            if known is not None:
                return known
        if isinstance(node.func, ast.Attribute):
            return self._call_method(node, node.func, name)
        return self._call_value(self.kind(node.func), node) or UNKNOWN

    def _call_by_name(self, node: ast.Call, name: str) -> Kind | None:
        local = self.env.get(name)
        if local is not None and local.tag != "unknown":
            return self._call_value(local, node)
        qualified = self._file.names.resolve(name)
        if qualified.startswith("paddle."):
            return self._call_of_paddle(node, qualified)
        if qualified in _HOST_CALLS or qualified.startswith(HOST_MODULES):
            return HOST
        if qualified.startswith(_OTHER_FRAMEWORKS) and self._file.names.is_bound(name.partition(".")[0]):
            return HOST  # if nothing imports it, the call was left over when the file was ported
        known = self._call_of_python(qualified, node) or environment.of_call(node, qualified, self)
        if known is not None:
            return known
        project = self._call_project(qualified, node)
        is_known = project is not None and project.tag != "unknown"
        return GUESS if not is_known and "." not in name and means_layer(name) else project

    def _call_of_paddle(self, node: ast.Call, qualified: str) -> Kind | None:
        if qualified in call_results.PARALLEL and node.args:
            wrapped = self.kind(node.args[0])
            if wrapped.tag == LAYER_TAG:
                return wrapped  # it calls the layer that it wraps
        if qualified.endswith(".LayerList") and len(node.args) == 1:
            layers = self.kind(node.args[0])
            return layers if environment.holds_objects(layers) else call_results.call_result(qualified, node)
        if qualified.endswith(".CPUPlace"):
            return CPU_PLACE
        if self._is_on_cpu(node):
            return HOST
        result = call_results.call_result(qualified, node)
        if result is TENSOR and self._is_truth(node, node.args[0] if node.args else None):
            return MASK
        return result if result is not UNKNOWN else self._call_project(qualified, node)

    def _is_truth(self, call: ast.Call, first: ast.expr | None) -> bool:
        """Whether a tensor function gives truth values, by its name or because its first argument has them."""
        if tensor_methods.compares(call, self._file.names):
            return True
        return first is not None and tensor_methods.keeps_items(call) and element(self.kind(first)).truth

    def _is_on_cpu(self, node: ast.Call) -> bool:
        """Whether a call says that its result is in host memory: ``to_tensor(x, place=paddle.CPUPlace())``."""
        places = [keyword.value for keyword in node.keywords if keyword.arg == "place"]
        if (dotted(node.func) or "").rpartition(".")[2] == "to_tensor":
            places += node.args[_PLACE_OF_TO_TENSOR : _PLACE_OF_TO_TENSOR + 1]
        return any(string_of(place) == "cpu" or self.kind(place) is CPU_PLACE for place in places)

    def _call_of_python(self, qualified: str, call: ast.Call) -> Kind | None:
        """The result of a function of Python, or of one that returns its first argument; None for other functions."""
        first = call.args[0] if call.args else None
        if qualified in ("functools.partial", "partial"):
            return self._rewrapped(first)
        if qualified == "getattr":
            return self._looked_up(call)
        is_wrapper = qualified in _WRAPPERS or qualified.rpartition(".")[2] == "tqdm"
        if not is_wrapper and qualified not in _SAME_AS_ARGUMENT and qualified != "next":
            return None
        kind = self.kind(first) if first is not None else UNKNOWN
        if kind.tag == DICT_TAG:
            return kind if qualified.startswith("copy.") else HOST  # otherwise something about its keys
        if qualified == "sum" and kind.is_tensor:
            return Kind(TENSOR_TAG, guess=kind.guess)
        if qualified == "sum" and kind.items:
            return HOST if kind.is_host else UNKNOWN
        if qualified in COMBINING and kind.tag == LOADER_TAG:
            return loader_of(self.iterated(call))
        return self._drawn(kind) if qualified == "next" and first is not None else kind

    def _looked_up(self, call: ast.Call) -> Kind:
        """The methods that ``getattr(self, "loss_" + name)`` may return, or the functions of a module."""
        pattern = name_pattern(call.args[1]) if len(call.args) > 1 and not call.keywords else None
        if pattern is None:
            return UNKNOWN
        modules, holder = Modules.of(self._file.project), self.kind(call.args[0])
        if holder.type:
            named = names_in(call.args[1])
            variable = named[0] if len(named) == 1 or named[1:] == ["self"] else ""
            return Hierarchy.of(self._file.project).methods_like(holder.type, *pattern, variable) or UNKNOWN
        name = dotted(call.args[0])
        if name is None or not self._file.names.is_bound(name.partition(".")[0]):
            return UNKNOWN
        return modules.functions_like(self._file.names.resolve(name), self._file, *pattern) or UNKNOWN

    def _call_value(self, local: Kind, node: ast.Call) -> Kind | None:
        if local.tag == LAYER_TAG:
            return self._layer_result(local, node)
        if local.tag == LOADER_TAG:
            return LOADER
        if local.tag == FUNCTION_TAG:
            arguments, keywords = ([], {}) if local.guess else self.arguments(node)
            return self._project.call_function(local.type, arguments, keywords) or UNKNOWN
        if local.tag == OBJECT_TAG:
            arguments, keywords = self.arguments(node)
            return self._project.call_method(local.type, "__call__", arguments, keywords) or UNKNOWN
        return HOST if local.is_host else None  # a reader

    def _call_project(self, qualified: str, node: ast.Call) -> Kind | None:
        arguments, keywords = self.arguments(node)
        return self._project.call_project(self._file, qualified, arguments, keywords)

    def arguments(self, node: ast.Call) -> tuple[list[Kind], dict[str, Kind]]:
        """The kinds of a call's arguments, by position and by keyword."""
        arguments = [self.kind(arg) for arg in node.args if not isinstance(arg, ast.Starred)]
        keywords = {keyword.arg: self.kind(keyword.value) for keyword in node.keywords if keyword.arg}
        return arguments, keywords

    def _call_method(self, node: ast.Call, func: ast.Attribute, name: str | None) -> Kind:
        entry = self._entry(node, func)
        if entry is not None:
            return entry
        base = self.kind(func.value)
        method = func.attr
        if base.tag == DICT_TAG:
            given = environment.entry_of_dict(base, method, string_of(node.args[0]) if node.args else None)
            if given is not None:
                return given
        if base.tag == TENSOR_TAG:
            return self._tensor_method(base, method, node)
        if base.is_host:
            return HOST
        if base.tag in (LOADER_TAG, DATASET_TAG, ITERABLE_TAG):
            return TENSOR if method == "next" else UNKNOWN
        if base.tag == OBJECT_TAG:
            return self._object_method(base, method, node)
        if base.tag == LAYER_TAG:
            return self._layer_method(base, method, node)
        if environment.holds_objects(base):
            return environment.method_result(base, method)
        if method in READ_METHODS:
            return HOST
        if method == "run" and any(keyword.arg == "fetch_list" for keyword in node.keywords):
            return HOST  # what an executor fetches are NumPy arrays
        if means_layer(method):
            return GUESS
        if name is not None and means_loader(method):
            return LOADER
        return UNKNOWN

    def _tensor_method(self, base: Kind, method: str, node: ast.Call) -> Kind:
        if method in call_results.HOST_METHODS:
            return HOST
        if method == "items":
            return TENSOR
        if call_results.is_reduction(method):
            result = call_results.reduction(method, call_results.has_axis(node, 0))
            return Kind(TENSOR_TAG, result.scalar, base.floating or result.floating, base.guess)
        if method in ("detach", "clone", "abs", "sqrt", "exp", "log", "cuda", "scale", "clip"):
            return base
        is_truth = tensor_methods.compares(node, self._file.names)
        if method in ("astype", "cast"):
            return Kind(TENSOR_TAG, scalar=base.scalar, guess=base.guess, truth=is_truth)
        if not may_have(method):
            return UNKNOWN
        return Kind(TENSOR_TAG, guess=base.guess, truth=is_truth or (base.truth and tensor_methods.keeps_items(node)))

    def _object_method(self, base: Kind, method: str, node: ast.Call) -> Kind:
        if base.type == "paddle.amp.GradScaler":
            return self.kind(node.args[0]) if method == "scale" and node.args else UNKNOWN
        if base.type.startswith("paddle.optimizer."):
            if method == "step" and node.args:
                closure = self.kind(node.args[0])
                return self._project.call_function(closure.type, [], {}) or UNKNOWN
            return HOST if method in ("get_lr", "state_dict", "step") else UNKNOWN
        if base.type.startswith("paddle.static."):
            return HOST
        return self._project_method(base, method, node) or UNKNOWN

    def _project_method(self, base: Kind, method: str, node: ast.Call) -> Kind | None:
        """The result of a method of a project class, or of a layer or loader in one of its attributes."""
        attribute = self._project.attribute(base.type, method)
        if attribute is not None and attribute.tag == LOADER_TAG:
            return LOADER  # `self.loader()` returns an iterator of it
        if attribute is not None and attribute.tag == LAYER_TAG:
            return self._layer_result(attribute, node)
        arguments, keywords = self.arguments(node)
        if attribute is not None and attribute.tag == FUNCTION_TAG:
            return self._project.call_function(attribute.type, arguments, keywords)
        found = self._project.call_method(base.type, method, arguments, keywords)
        if found is not None and found.tag != "unknown":
            return found
        return GUESS if means_layer(method) else None

    def _layer_result(self, base: Kind, node: ast.Call) -> Kind:
        """The result of calling a layer: tensors, and numbers that its ``forward`` returns with them."""
        if base.type and not base.type.startswith("paddle."):
            parts = self._project.forward_parts(base.type, *self.arguments(node))
            if parts is not None:
                return parts
        return call_results.layer_result(base.type)

    def _layer_method(self, base: Kind, method: str, node: ast.Call) -> Kind:
        if method == "forward":
            return self._layer_result(base, node)
        if method in ("train", "eval", "to"):
            return base
        return self._project_method(base, method, node) or UNKNOWN


def _arithmetic(operator: ast.operator, *sides: tuple[ast.expr, Kind]) -> Kind:
    tensors = [kind for _, kind in sides if kind.is_tensor]
    # Only a literal number is certain not to broadcast a 0-D tensor: a host name may be an array.
    scalar = all(kind.scalar or isinstance(node, ast.Constant) for node, kind in sides)
    floating = any(kind.floating for kind in tensors)
    truths = [kind.truth for kind in tensors]
    is_and = isinstance(operator, ast.Mult) and len(truths) > 1 and all(truths)  # of two masks: `a * b`
    truth = is_and or (isinstance(operator, tensor_methods.BITWISE) and any(truths))
    guess = all(kind.guess for kind in tensors)
    return Kind(TENSOR_TAG, scalar=scalar, floating=floating, guess=guess, truth=truth)


_HANDLERS: Mapping[type, Callable[[Evaluator, Any], Kind]] = {
    ast.Constant: lambda evaluator, node: HOST,
    ast.JoinedStr: lambda evaluator, node: HOST,
    ast.Name: Evaluator._name,
    ast.Attribute: Evaluator._attribute,
    ast.Subscript: Evaluator._subscript,
    ast.BinOp: Evaluator._binary,
    ast.Compare: Evaluator._compare,
    ast.Call: Evaluator._call,
    ast.BoolOp: lambda evaluator, node: reduce(join, map(evaluator.kind, node.values)),
    ast.UnaryOp: Evaluator._unary,
    ast.IfExp: Evaluator._conditional,
    ast.Tuple: Evaluator._display,
    ast.List: Evaluator._display,
    ast.Set: Evaluator._display,
    ast.Dict: lambda evaluator, node: environment.of_dict(node, evaluator),
    ast.ListComp: Evaluator._comprehension,
    ast.SetComp: Evaluator._comprehension,
    ast.GeneratorExp: Evaluator._comprehension,
    ast.DictComp: Evaluator._comprehension,
    ast.NamedExpr: lambda evaluator, node: evaluator.kind(node.value),
    ast.Starred: lambda evaluator, node: evaluator.kind(node.value),
    ast.Lambda: Evaluator._lambda,
    ast.Await: lambda evaluator, node: evaluator.kind(node.value),
}
"""The method for each type of expression; the kind of any other is unknown."""
