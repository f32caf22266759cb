"""Follows a width from layer to layer, to find all the numbers that have to change with it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from perflint.flow.calls import CallGraph
from perflint.flow.constants import Constants
from perflint.flow.known_values import Size, default_holds, size_of
from perflint.index.hierarchy import Hierarchy
from perflint.index.project import FunctionRun, Located, Place
from perflint.query import gathered, query
from perflint.syntax.names import Names, dotted, names_in, stored_names
from perflint.syntax.parameters import all_parameters, argument_of, arguments_of, is_spread
from perflint.syntax.scopes import FUNCTIONS, Class, Scope
from perflint.syntax.tree import children, indices_of, is_literal, sized_by_shape, walk

if TYPE_CHECKING:
    from perflint.index.project import FileIndex


# Finds the sizes of the Linear and Conv layers of a file, also of those that classes or functions create for it.

KINDS = {
    "paddle.nn.Linear": ("in_features", "out_features"),
    "paddle.nn.Conv1D": ("in_channels", "out_channels"),
    "paddle.nn.Conv2D": ("in_channels", "out_channels"),
    "paddle.nn.Conv3D": ("in_channels", "out_channels"),
}
MULTIPLE = 8
SMALLEST = 64
"""Below this width a layer is too small for alignment to matter."""

_GROUPS = 6
"""The position of ``groups`` among the arguments of a convolution."""

MAX_DEPTH = 3
"""Through how many classes and functions a width is followed."""


@dataclass(frozen=True, eq=False)
class LayerSize:
    """One layer, with its sizes (None if they are not known).

    ``call`` is the call in the examined file, in ``statement``. ``inside`` is the path and line of the layer itself, if
    that call reaches it through a class or function of the project.
    """

    call: ast.Call
    statement: ast.stmt
    group: str
    inputs: Size | None
    outputs: Size | None
    inside: tuple[str, int] | None = None


@dataclass(frozen=True)
class Misaligned:
    """A width that Tensor Cores cannot fill: ``hidden``: it is between two layers, not an input width.

    ``assumed``: it is the default of a parameter, which every call in the project leaves unchanged.
    """

    layer: LayerSize
    width: int
    side: str
    hidden: bool
    assumed: bool


@query
def misaligned(file: FileIndex) -> list[Misaligned]:
    """Misaligned layers of a file, one for each call.

    An output width counts only if another layer of the class takes it: the last width of a model is its number of
    classes, which cannot be chosen. Grouped convolutions are not reported.
    """
    places = (Place(file, scope) for scope in file.scopes.scopes)
    groups = gathered((layer.group, layer) for at in places for layer in layers_in(at))
    found: dict[ast.Call, Misaligned] = {}
    for layers in groups.values():
        for item in layers:
            wrong = _wrong(item, layers) if item.call not in found else None
            if wrong is not None:
                found[item.call] = wrong
    return list(found.values())


def aligned(width: int) -> int:
    """The next width that is a multiple of 8."""
    return -(-width // MULTIPLE) * MULTIPLE


def _wrong(item: LayerSize, layers: list[LayerSize]) -> Misaligned | None:
    """The width of a layer that is not a multiple of 8 but could be; None if there is none."""
    others = [other for other in layers if other is not item]
    taken = {other.inputs.width for other in others if other.inputs is not None}
    made = {other.outputs.width for other in others if other.outputs is not None}
    for size, side, met in ((item.outputs, "output", taken), (item.inputs, "input", made)):
        if size is None or not is_off(size) or (item.inside and not size.given):
            continue
        hidden = size.width in met
        # a literal where the layer is created, not the default of a parameter or an attribute
        is_written = item.inside is None and not size.assumed and not size.attribute
        is_free = hidden or (side == "input" and is_written)
        if is_free and all(map(default_holds, size.assumed)):
            return Misaligned(item, size.width or 0, side, hidden, bool(size.assumed))
    return None


def is_off(size: Size | None, least: int = SMALLEST) -> bool:
    """Whether a number is known, is not a multiple of 8, and is not below ``least``."""
    return size is not None and size.width is not None and size.width >= least and size.width % MULTIPLE != 0


@query
def layers_in(at: Place) -> list[LayerSize]:
    """The layers that a function of a file creates."""
    group = at.scope.owner.qualname if at.scope.owner else at.scope.qualname
    return list(_layers_of(Place(at.file, at.scope), group))


def _layers_of(inside: Place, group: str) -> Iterator[LayerSize]:
    """The layers that the statements of a function create; the first call that led there stands for them outside."""
    calls = [run.call for run in inside.runs if run.call is not None]
    for statement in inside.scope.statements:
        place = inside.at(inside.scope, statement)
        for call in statement.calls:
            kind = place.file.names.qualified(call.func)
            if kind in KINDS:
                if not _is_grouped(call, place):
                    yield _layer(call, kind, group, place, calls[-1] if calls else None)
            elif len(calls) < MAX_DEPTH and not kind.startswith("paddle.") and not _is_alias(call, place.file):
                yield from _layers_through(call, place, group)


def _layers_through(call: ast.Call, place: Place, group: str) -> Iterator[LayerSize]:
    """The layers of a project class or function, created with the numbers that a call passes."""
    project = place.file.project
    reached = CallGraph.of(project).reached(place.function, call) if _hands_odd_number(call, place) else ()
    for function in reached:
        is_new = is_followed(function.scope) and place.run_of(function.scope) is None
        inside = Constants.of(project).entered(call, place, function) if is_new else None
        if inside is not None:
            yield from _layers_of(inside, group)


def _is_alias(call: ast.Call, file: FileIndex) -> bool:
    """Whether a call uses a variable with a function, so that ``open_widths`` would not find it."""
    return isinstance(call.func, ast.Name) and not file.names.is_bound(call.func.id) and not file.names.stars


def _hands_odd_number(call: ast.Call, place: Place) -> bool:
    """Whether an argument is a number that may lead to a misaligned width: others are aligned, or too small."""
    return any(
        is_off(size_of(argument, place), MULTIPLE)
        for argument in arguments_of(call)
        if not isinstance(argument, ast.Constant) or isinstance(argument.value, int)
    )


def is_followed(scope: Scope) -> bool:
    """Whether a width is followed into a function: one of the module, or the ``__init__`` of a class."""
    if scope.owner is not None:
        return scope.name == "__init__"
    return scope.parent is not None and scope.parent.parent is None


def _layer(call: ast.Call, kind: str, group: str, place: Place, site: Located | None) -> LayerSize:
    inputs, outputs = (size_of(argument, place) for argument in width_arguments(call, kind))
    inside = (place.file.path, place.file.row(call)) if site is not None else None
    outer = site or Located(call, place)
    assert outer.place.statement is not None
    return LayerSize(outer.call, outer.place.statement.node, group, inputs, outputs, inside)


def width_arguments(call: ast.Call, kind: str) -> tuple[ast.expr | None, ast.expr | None]:
    """The expressions that a call passes to a layer as its input and output width."""
    first, second = (argument_of(call, name, index) for index, name in enumerate(KINDS[kind]))
    return first, second


def _is_grouped(call: ast.Call, place: Place) -> bool:
    """Whether a convolution has groups, or may have: then it is not one matrix product."""
    run = place.run_of(place.scope)
    if any(keyword.arg is None for keyword in call.keywords) and (run is None or _is_passed_on("groups", run)):
        return True
    groups = argument_of(call, "groups", _GROUPS)
    if groups is None:
        return False
    size = size_of(groups, place)
    return size is None or size.value != 1 or bool(size.assumed)


def _is_passed_on(name: str, run: FunctionRun) -> bool:
    """Whether the call that runs a function passes it a keyword for which the function has no parameter."""
    is_given = run.call is not None and argument_of(run.call.call, name, None) is not None
    return is_given and name not in all_parameters(run.scope)


# Knows what the layers of Paddle do to one width: which of them take it, produce it, or pass it on.
#
# ``nn.Linear(512, 250)`` produces a width of 250, ``nn.BatchNorm1D(250)`` takes and produces it, ``nn.ReLU()``
# accepts any.

SEQUENTIAL = "paddle.nn.Sequential"

_PASSING = frozenset(
    f"paddle.nn.{name}"
    for name in (
        *("ReLU", "ReLU6", "GELU", "Sigmoid", "Tanh", "Softmax", "LogSoftmax", "LeakyReLU", "ELU", "SELU", "CELU"),
        *("Silu", "Swish", "Mish", "Hardswish", "Hardsigmoid", "Hardtanh", "Softplus", "Softsign", "Identity"),
        *("Dropout", "Dropout2D", "Dropout3D", "AlphaDropout", "Flatten", "Upsample"),
        *(f"{kind}Pool{size}D" for kind in ("Max", "Avg", "AdaptiveMax", "AdaptiveAvg") for size in (1, 2, 3)),
    )
)
_NORMS = frozenset(
    f"paddle.nn.{name}"
    for name in (
        *("BatchNorm", "BatchNorm1D", "BatchNorm2D", "BatchNorm3D", "SyncBatchNorm", "LayerNorm"),
        *("InstanceNorm1D", "InstanceNorm2D", "InstanceNorm3D"),
    )
)
_NORM_WIDTHS = ("num_features", "num_channels", "normalized_shape")
_PRETRAINED = frozenset({"Assign", "NumpyArrayInitializer"})


@dataclass(frozen=True)
class WidthPart:
    """The role of one layer for one width.

    ``takes``: its input has to have the width. ``gives``: its output has it. ``passes``: its output has the width if
    its input has it. ``slots``: the numbers in its call that are the width.
    """

    takes: bool = False
    gives: bool = False
    passes: bool = False
    slots: tuple[ast.Constant, ...] = ()


Chain = tuple["WidthPart | None", ...]
"""Consecutive layers; None: an unknown one."""


@dataclass(frozen=True)
class Parts:
    """Reads the calls that create layers, with the names of a file.

    ``width``: the followed width; ``wanted``: its new value.
    """

    width: int
    wanted: int
    names: Names

    def chain(self, node: ast.expr) -> Chain:
        """The layers that an expression creates: those of a ``Sequential`` in order, or one."""
        if not isinstance(node, ast.Call):
            return (None,)
        if self.names.qualified(node.func) != SEQUENTIAL:
            return (self._part(node),)
        if node.keywords or is_spread(node):
            return (None,)
        return tuple(part for item in node.args for part in self.chain(layer_in(item)))

    def _part(self, call: ast.Call) -> WidthPart | None:
        kind = self.names.qualified(call.func)
        if is_spread(call):
            return None
        if kind in _PASSING:
            return None if argument_of(call, "return_mask", 9) is not None else WidthPart(passes=True)
        if not _PRETRAINED.isdisjoint(names_in(call)):
            return None  # it gets its weights, which have a shape
        if kind in KINDS:
            return self._layer(call, kind)
        if kind in _NORMS:
            given = (argument_of(call, name, 0) for name in _NORM_WIDTHS)
            return self._taken_and_given(next(filter(None, given), None))
        return self._other(call, kind.rpartition(".")[2]) if kind.startswith("paddle.nn.") else None

    def _layer(self, call: ast.Call, kind: str) -> WidthPart | None:
        groups = argument_of(call, "groups", _GROUPS) if kind != "paddle.nn.Linear" else None
        if groups is not None and not is_literal(groups, 1):
            return None
        first, second = (self._slot(node) for node in width_arguments(call, kind))
        return WidthPart(first is not None, second is not None, slots=tuple(filter(None, (first, second))))

    def _other(self, call: ast.Call, name: str) -> WidthPart | None:
        if name == "Embedding":
            given = self._slot(argument_of(call, "embedding_dim", 1))
            if given is not None and argument_of(call, "weight_attr", 9) is not None:
                return None
            return WidthPart(gives=given is not None, slots=(given,) if given is not None else ())
        if name == "PReLU":
            number = argument_of(call, "num_parameters", 0)
            is_one = number is None or is_literal(number, 1)
            return WidthPart(passes=True) if is_one else self._taken_and_given(number)
        if name == "GroupNorm":
            groups = argument_of(call, "num_groups", 0)
            number_of_groups = groups.value if isinstance(groups, ast.Constant) else None
            if not isinstance(number_of_groups, int) or not number_of_groups or self.wanted % number_of_groups:
                return None
            return self._taken_and_given(argument_of(call, "num_channels", 1))
        return None

    def _taken_and_given(self, node: ast.expr | None) -> WidthPart | None:
        """A layer whose output is as wide as its input; one of another width is not involved."""
        if isinstance(node, ast.List | ast.Tuple) and len(node.elts) == 1:
            node = node.elts[0]
        if not isinstance(node, ast.Constant):
            return None
        slot = self._slot(node)
        return WidthPart(True, True, slots=(slot,)) if slot is not None else WidthPart()

    def _slot(self, node: ast.expr | None) -> ast.Constant | None:
        return node if isinstance(node, ast.Constant) and is_literal(node, self.width) else None


def slots_of(chain: Chain) -> Iterator[ast.Constant]:
    """The numbers in the calls of some layers that are the width."""
    return (slot for part in chain if part is not None for slot in part.slots)


def layer_in(node: ast.expr) -> ast.expr:
    """The layer in ``("fc", nn.Linear(...))``, which ``Sequential`` accepts, too."""
    return node.elts[1] if isinstance(node, ast.Tuple) and len(node.elts) == 2 else node


# Follows a width between layers, to find all the numbers that have to change together with it.
#
# ``self.hidden = nn.Linear(512, 250)`` and ``self.head = nn.Linear(250, 10)``: 250 may become 256 if both are
# changed, provided that ``forward`` passes the result of ``self.hidden`` to ``self.head`` and to nothing else that
# depends on the width. The methods of the class are followed statement by statement; each value either has the width
# or is independent of it. Anything that is not understood ends the search: then the user has to make the change.

_UNARY = frozenset(
    {"relu", "relu6", "gelu", "sigmoid", "tanh", "silu", "swish", "mish", "leaky_relu", "elu", "selu", "celu", "exp"}
    | {"hardswish", "hardsigmoid", "hardtanh", "softplus", "softsign", "softmax", "log_softmax", "abs", "sqrt"}
    | {"dropout", "dropout2d", "dropout3d", "alpha_dropout", "square", "clip", "scale", "cast", "astype", "detach"}
    | {"clone", "contiguous", "flatten", "squeeze", "unsqueeze", "transpose", "mean", "sum", "max", "interpolate"}
    | {f"{kind}_pool{size}d" for kind in ("max", "avg", "adaptive_max", "adaptive_avg") for size in (1, 2, 3)}
)
"""Functions and methods of Paddle whose result is as wide as their argument.

Some can also remove the width (a mean over that axis). Then no layer that needs the width can follow, or the program
would already fail; a value that has lost it is followed as if it had it, which at worst ends the search.
"""

_BINARY = frozenset({"add", "subtract", "multiply", "maximum", "minimum"})
_HOMES = ("paddle.", "paddle.nn.functional.", "paddle.tensor.")
_MOST_ROUNDS = 4


class _Value(Enum):
    FREE = "has nothing to do with the width"
    WIDE = "has the width"
    MIXED = "has the width on one of the ways that lead here"


_Env = dict[str, _Value]


class _LostError(Exception):
    """The width cannot be followed any further."""


def together(file: FileIndex, group: str, call: ast.Call, width: int, wanted: int) -> list[ast.Constant] | None:
    """The numbers in a file that have to become ``wanted`` together for a width to do so; None if that is not known.

    Args:
        group: the qualified name of the class or function that creates the layers.
        call: one of the layers with that width.
        width: the width.
        wanted: the new width.
    """
    parts = Parts(width, wanted, file.names)
    alone = _in_sequential(file, call, parts)
    if alone is not None:
        return alone
    owner = next((item for item in file.scopes.classes.values() if item.qualname == group), None)
    return _in_class(file, owner, parts, call) if owner is not None else None


# -- one Sequential --------------------------------------------------------------------------------------------


def _in_sequential(file: FileIndex, call: ast.Call, parts: Parts) -> list[ast.Constant] | None:
    """The numbers, if the width begins and ends within one ``Sequential`` around the layer."""
    for scope, _, outer in file.calls:
        is_around = outer is not call and call in walk(outer)
        if not is_around or file.names.qualified(outer.func) != SEQUENTIAL:
            continue
        chain = parts.chain(outer)
        try:
            after = _through(chain, _Value.FREE)
        except _LostError:
            continue
        slots = list(slots_of(chain))
        if after is _Value.FREE and _holds(call, slots) and not _is_reached_into(Place(file, scope), outer):
            return slots
    return None


def _is_reached_into(at: Place, made: ast.Call) -> bool:
    """Whether single layers of a ``Sequential`` of a class are used separately: ``self.head[0].weight``."""
    owner = at.scope.owner
    attributes = owner.attributes if owner is not None else {}
    names = [name for name, values in attributes.items() if any(value is made for value, _ in values)]
    return any(
        isinstance(item, ast.Subscript) and isinstance(item.value, ast.Attribute) and item.value.attr in names
        for item in walk(at.file.tree)
    )


def _through(chain: Chain, value: _Value) -> _Value:
    for part in chain:
        value = _after(part, value)
    return value


def _after(part: WidthPart | None, value: _Value) -> _Value:
    """The result of a layer for a value."""
    if part is not None and part.passes:
        return value
    if (part is not None and part.takes) is not (value is _Value.WIDE):
        raise _LostError
    return _Value.WIDE if part is not None and part.gives else _Value.FREE


def _holds(call: ast.Call, slots: Iterable[ast.Constant]) -> bool:
    """Whether a number of the layer itself is among those that change."""
    return not set(slots).isdisjoint(arguments_of(call))


# -- a class ---------------------------------------------------------------------------------------------------


def _in_class(file: FileIndex, owner: Class, parts: Parts, call: ast.Call) -> list[ast.Constant] | None:
    """The numbers, if the width begins and ends within the methods of one class."""
    if not owner.bases or not all(base.startswith("paddle.") and base.endswith("Layer") for base in owner.bases):
        return None
    if Hierarchy.of(file.project).descendants(owner):
        return None
    layers = {name: [parts.chain(value) for value, _ in values] for name, values in owner.attributes.items()}
    slots = list(dict.fromkeys(slot for chains in layers.values() for chain in chains for slot in slots_of(chain)))
    if not _holds(call, slots):
        return None
    with_width = {name for name, chains in layers.items() if any(any(slots_of(chain)) for chain in chains)}
    if any(_is_used_elsewhere(file, owner, name) for name in with_width):
        return None
    try:
        for method in owner.methods.values():
            _Method(layers, with_width, file).follow(method)
    except _LostError:
        return None
    return slots


def _is_used_elsewhere(file: FileIndex, owner: Class, name: str) -> bool:
    """Whether code outside a class accesses one of its layers: ``net.head.weight``, ``net.head = ...``."""
    own = set(walk(owner.node))
    if any(
        isinstance(item, ast.Attribute) and item.attr == name and item not in own and dotted(item.value) != "self"
        for item in walk(file.tree)
    ):
        return True
    reaches = re.compile(rf"(?<!\bself)\.{name}\s*(?:\.|\[|=(?!=))")
    return any(other is not file and other.matches(reaches) for other in file.project.mentions.of(name))


class _Method:
    """Follows the values of one method.

    Args:
        layers: the layers that each attribute of the class may be.
        with_width: the attributes whose layers have the width.
        file: the file of the class.
    """

    def __init__(self, layers: Mapping[str, list[Chain]], with_width: set[str], file: FileIndex) -> None:
        self._layers = layers
        self._with_width = with_width
        self._names = file.names
        self._self = ""
        self._left: list[_Env] = []

    def follow(self, method: Scope) -> None:
        """Follow a method to its end.

        Raises:
            _LostError: a value with the width is used where another width may not work.
        """
        assert isinstance(method.node, FUNCTIONS)
        arguments = [*method.node.args.posonlyargs, *method.node.args.args]
        self._self = arguments[0].arg if arguments else ""
        self._run(method.node.body, {})

    # -- statements --------------------------------------------------------------------------------------------

    def _run(self, block: list[ast.stmt], env: _Env) -> _Env | None:
        """The values of names after some statements; None if nothing follows them."""
        for statement in block:
            after = self._statement(statement, env)
            if after is None:
                return None
            env = after
        return env

    def _statement(self, node: ast.stmt, env: _Env) -> _Env | None:
        if isinstance(node, ast.Assign):
            return self._assigned(node.targets, self._value(node.value, env), env)
        if isinstance(node, ast.AnnAssign):
            return self._assigned([node.target], self._value(node.value, env), env) if node.value else env
        if isinstance(node, ast.AugAssign):
            return self._assigned([node.target], self._combined([node.target, node.value], env), env)
        if isinstance(node, ast.Return | ast.Raise):
            for part in ast.iter_child_nodes(node):
                self._free(part, env)
            return None
        if isinstance(node, ast.Break | ast.Continue):
            self._left.append(env)
            return None
        if isinstance(node, ast.Expr):
            self._value(node.value, env)
            return env
        return self._compound(node, env)

    def _compound(self, node: ast.stmt, env: _Env) -> _Env | None:
        if isinstance(node, ast.If):
            self._free(node.test, env)
            return _joined([self._run(node.body, env), self._run(node.orelse, env)])
        if isinstance(node, ast.For | ast.While):
            self._free(node.iter if isinstance(node, ast.For) else node.test, env)
            return self._loop(node, env)
        if isinstance(node, ast.With):
            self._all_free((item.context_expr for item in node.items), env)
            return self._run(node.body, env)
        if isinstance(
            node, ast.Pass | ast.Assert | ast.Global | ast.Nonlocal | ast.Delete | ast.Import | ast.ImportFrom
        ):
            for part in ast.iter_child_nodes(node):
                self._free(part, env)
            return env
        self._free(node, env)  # a nested function, a `try`, a `match`: fine if the width does not occur in it
        return env

    def _loop(self, node: ast.For | ast.While, env: _Env) -> _Env | None:
        left, self._left = self._left, []
        for _ in range(_MOST_ROUNDS):
            before = env
            env = _joined([env, self._run(node.body, env), *self._left]) or env
            if env == before:
                break
        else:
            raise _LostError
        self._left = left
        return self._run(node.orelse, env)

    def _assigned(self, targets: list[ast.expr], value: _Value, env: _Env) -> _Env:
        env = dict(env)
        for target in targets:
            if isinstance(target, ast.Name):
                env[target.id] = value
                continue
            if value is not _Value.FREE:
                raise _LostError
            for item in walk(target):
                if isinstance(item, ast.Attribute | ast.Subscript):  # `self.head.weight = ...` reads `self.head`
                    self._free(item.value, env)
            env.update(dict.fromkeys(stored_names(target), _Value.FREE))
        return env

    # -- expressions -------------------------------------------------------------------------------------------

    def _value(self, node: ast.expr, env: _Env) -> _Value:
        if isinstance(node, ast.Name):
            found = env.get(node.id, _Value.FREE)
            if found is _Value.MIXED:
                raise _LostError
            return found
        if isinstance(node, ast.Attribute) and self._attribute(node) is not None:
            if node.attr in self._with_width and isinstance(node.ctx, ast.Load):
                raise _LostError  # the layer itself, or its weights, for an unknown purpose
            return _Value.FREE
        if isinstance(node, ast.Call):
            return self._called(node, env)
        if isinstance(node, ast.BinOp):
            return self._combined([node.left, node.right], env)
        if isinstance(node, ast.IfExp):
            self._free(node.test, env)
            first, second = self._value(node.body, env), self._value(node.orelse, env)
            if first is not second:
                raise _LostError
            return first
        if isinstance(node, ast.Subscript):
            return self._item(node, env)
        if isinstance(node, ast.NamedExpr):
            value = self._value(node.value, env)
            env[node.target.id] = value
            return value
        self._free_parts(node, env)
        return _Value.FREE

    def _attribute(self, node: ast.AST) -> str | None:
        """The name of an attribute of the layer itself."""
        return node.attr if isinstance(node, ast.Attribute) and dotted(node.value) == self._self else None

    def _called(self, call: ast.Call, env: _Env) -> _Value:
        function = call.func
        layers = self._layers.get(self._attribute(function) or "")
        others = [*call.args[1:], *(keyword.value for keyword in call.keywords)]
        is_plain = bool(call.args) and not isinstance(call.args[0], ast.Starred)
        if layers is not None and not is_plain and self._attribute(function) in self._with_width:
            raise _LostError  # `self.hidden(input=x)`
        if layers is not None and is_plain:
            self._all_free(others, env)
            return self._through_each(layers, self._value(call.args[0], env))
        name = self._names.qualified(function)
        home, _, last = name.rpartition(".")
        if call.args and f"{home}." in _HOMES:
            if last in _UNARY:
                self._all_free(others, env)
                return self._value(call.args[0], env)
            if last in _BINARY and len(call.args) == 2:
                return self._combined(call.args, env)
        if isinstance(function, ast.Attribute) and self._attribute(function) is None:
            return self._method_of(self._value(function.value, env), function, call, env)
        self._free(function, env) if self._attribute(function) is None else None
        self._all_free([*call.args, *others], env)
        return _Value.FREE

    def _through_each(self, chains: list[Chain], value: _Value) -> _Value:
        results = {_through(chain, value) for chain in chains}
        if len(results) != 1:
            raise _LostError
        return results.pop()

    def _method_of(self, value: _Value, function: ast.Attribute, call: ast.Call, env: _Env) -> _Value:
        arguments = arguments_of(call)
        if value is _Value.FREE:
            self._all_free(arguments, env)
            return _Value.FREE
        if function.attr in _BINARY and len(arguments) == 1:
            return self._combined([function.value, *arguments], env)
        if function.attr == "reshape" and all(map(_leaves_the_width, _sizes(call))):
            return value
        if function.attr not in _UNARY:
            raise _LostError
        self._all_free(arguments, env)
        return value

    def _combined(self, sides: list[ast.expr], env: _Env) -> _Value:
        """The sum, the product and so on of two values: both have the width, or one is a number."""
        values = [self._value(_loaded(side), env) for side in sides]
        if values[0] is values[1]:
            return values[0]
        other = sides[0] if values[0] is _Value.FREE else sides[1]
        if isinstance(other, ast.UnaryOp):
            other = other.operand
        if isinstance(other, ast.Constant) and isinstance(other.value, int | float):
            return _Value.WIDE
        raise _LostError

    def _item(self, node: ast.Subscript, env: _Env) -> _Value:
        sized = sized_by_shape(node)
        if sized is not None:
            self._value(sized, env)  # the number of samples in the batch
            return _Value.FREE
        value = self._value(node.value, env)
        if value is _Value.WIDE and not all(map(_takes_all, indices_of(node.slice))):
            raise _LostError
        self._free(node.slice, env)
        return value

    def _free(self, node: ast.AST, env: _Env) -> None:
        """Check that nothing in a node has the width."""
        if isinstance(node, ast.expr):
            if self._value(node, env) is not _Value.FREE:
                raise _LostError
        else:
            self._free_parts(node, env)

    def _free_parts(self, node: ast.AST, env: _Env) -> None:
        if isinstance(node, ast.stmt | ast.Lambda | ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp):
            # Names may have another meaning in there, so none may have the width anywhere.
            for item in walk(node):
                is_free = not isinstance(item, ast.Name) or env.get(item.id, _Value.FREE) is _Value.FREE
                if not is_free or self._attribute(item) in self._with_width:
                    raise _LostError
            return
        for child in children(node):
            self._free(child, env)

    def _all_free(self, nodes: Iterable[ast.expr], env: _Env) -> None:
        for node in nodes:
            self._free(node, env)


def _joined(envs: Iterable[_Env | None]) -> _Env | None:
    """The values of names where several paths meet; a name that only some of them bind has their value."""
    ways = [env for env in envs if env is not None]
    if not ways:
        return None
    found: _Env = {}
    for name in dict.fromkeys(name for env in ways for name in env):
        # A name without a binding is a parameter or a global, which is independent of the width.
        values = {env.get(name, _Value.FREE) for env in ways}
        found[name] = values.pop() if len(values) == 1 else _Value.MIXED
    return found


def _loaded(node: ast.expr) -> ast.expr:
    """The target of ``x += y`` as an expression to read."""
    return ast.Name(node.id, ast.Load()) if isinstance(node, ast.Name) else node


def _sizes(call: ast.Call) -> Iterator[ast.expr]:
    """The sizes that ``x.reshape([a, b])`` or ``x.reshape(a, b)`` requests."""
    for node in arguments_of(call):
        yield from node.elts if isinstance(node, ast.List | ast.Tuple) else [node]


def _leaves_the_width(size: ast.expr) -> bool:
    """Whether a size in ``reshape`` is independent of the width: 0, -1, ``x.shape[0]``."""
    return _is_minus_one(size) or sized_by_shape(size) is not None or is_literal(size, 0)


def _takes_all(index: ast.expr) -> bool:
    """Whether an index takes a whole axis, adds one, or drops one: ``:``, ``None``, ``...``, 0, -1."""
    if isinstance(index, ast.Slice):
        return index.lower is None and index.upper is None and index.step is None
    return _is_minus_one(index) or is_literal(index, None, ..., 0)


def _is_minus_one(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and is_literal(node.operand, 1)
