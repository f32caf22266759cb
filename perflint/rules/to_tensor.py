"""PPF205: a tensor created from host data at each step, or from constants."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from perflint.facts import origin as origins
from perflint.facts.origin import Origin
from perflint.facts.programs import is_for_paddle_1
from perflint.facts.usages import calls_for
from perflint.findings import Confidence
from perflint.flow.evaluate import Evaluator
from perflint.flow.sources import Through, ValueSource, asked
from perflint.flow.values import Values
from perflint.index.project import FileIndex, Place
from perflint.lint.context import Context, shorten
from perflint.lint.registry import At, rule
from perflint.query import query
from perflint.rules import to_tensor_fix
from perflint.rules.excuses import is_trained, is_untrained
from perflint.rules.tensor_reads import Evidence
from perflint.rules.to_tensor_fix import RULE
from perflint.syntax.bindings import targets_and_values
from perflint.syntax.names import dotted, plain_names
from perflint.syntax.parameters import annotation_of, argument_for, argument_of, default_of
from perflint.syntax.reaching import mutated_in
from perflint.syntax.scopes import FUNCTIONS, Class, Scope, required, terminal
from perflint.syntax.tree import is_literal, walk
from perflint.syntax.vocabulary import speaks_of_metrics
from perflint.training.evidence import over_episodes, steps_environment
from perflint.training.steps import Point, Step

# Finds expressions that are one Python number, judging by the code around them.


def is_one_number(node: ast.expr, at: Place) -> bool:
    """Whether an expression of a function is one number: ``1 - drop_prob``, where ``drop_prob=0.1`` is a parameter.

    A parameter, or an attribute of ``self``, is one if its default or its annotation says so, or if the code compares
    it with one: the test ``if self.rate > 0.0`` does not work with an array. A list of one number counts too.
    """
    return _is_one(asked(node, Place(at.file, at.scope), through=Through.NAME))


def _is_one(value: ValueSource) -> bool:
    node, file, scope = value.node, value.place.file, value.place.scope
    if isinstance(node, (ast.List, ast.Tuple)):
        return len(node.elts) == 1 and _is_one(value.part(node.elts[0]))
    if isinstance(node, ast.BinOp):
        return _is_one(value.part(node.left)) and _is_one(value.part(node.right))
    if isinstance(node, ast.UnaryOp):
        return _is_one(value.part(node.operand))
    name = dotted(node)
    if name is None:
        return _is_literal(node)
    first, _, rest = name.partition(".")
    if first == "self" and scope.owner is not None:
        return rest in _numbers_of(file, scope.owner)
    if name in scope.parameters:
        return _is_said_to_be_one(name, scope) or name in _compared(Place(file, scope))
    found = list(value.sources())
    return bool(found) and all(each.is_known and each.node is not node and _is_one(each) for each in found)


def _is_said_to_be_one(parameter: str, scope: Scope) -> bool:
    """Whether the default of a parameter, or its annotation, is that of a number."""
    said = annotation_of(scope, parameter)
    is_annotated = said is not None and dotted(said) in ("int", "float")
    return is_annotated or _is_literal(default_of(scope, parameter))


@query
def _numbers_of(file: FileIndex, owner: Class) -> frozenset[str]:
    """The attributes of a class that start as a number, or that its methods compare with one."""
    made = {
        name
        for name, values in owner.attributes.items()
        if any(_is_literal(value) or _is_parameter_for_one(value, scope) for value, scope in values)
    }
    compared = frozenset[str]().union(*(_compared(Place(file, method)) for method in owner.methods.values()))
    return frozenset(made | {name.removeprefix("self.") for name in compared if name.startswith("self.")})


def _is_parameter_for_one(value: ast.expr, scope: Scope) -> bool:
    return isinstance(value, ast.Name) and _is_said_to_be_one(value.id, scope)


@query
def _compared(at: Place) -> frozenset[str]:
    """The names that the tests of a function compare with a number."""
    tests = (item.node.test for item in at.scope.statements if isinstance(item.node, (ast.If, ast.While)))
    compared = (item for test in tests for item in walk(test) if isinstance(item, ast.Compare))
    sides = ([item.left, *item.comparators] for item in compared)
    return frozenset(
        name for both in sides if any(map(_is_literal, both)) for side in both if (name := dotted(side)) is not None
    )


def _is_literal(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


# PPF205: a tensor created from host data at each step, or from constants in each forward pass.

_PLAIN = "plain"
NAMES = frozenset({"paddle.to_tensor", "paddle.Tensor", "paddle.to_variable"}) | {
    f"paddle.{home}.dygraph{place}.to_variable" for home in ("fluid", "base") for place in ("", ".base")
}
CALLS = frozenset({"to_tensor", "to_variable", "Tensor"})


_IN_FORWARD = frozenset({origins.LITERAL, origins.INVARIANT, origins.MADE})
_WHERE_A_STEP_LEADS = _IN_FORWARD | {origins.NUMBER}
"""The same if a training step certainly runs the forward pass: a number of the batch is copied again each time."""
_HIGH = frozenset({origins.LITERAL, origins.INVARIANT, origins.MADE, origins.READ})
_MEDIUM = frozenset({origins.RANDOM, origins.NUMBER, origins.BATCH, origins.SLICE, "copy", "cast"})
_DRAWN = frozenset({"copy", "cast", origins.BATCH, origins.SLICE})
_FILLERS = {
    "zeros": "zeros",
    "ones": "ones",
    "zeros_like": "zeros_like",
    "ones_like": "ones_like",
    "full": "fill_constant",
    "arange": "range",
    "eye": "eye",
    "linspace": "linspace",
}
"""NumPy functions that fill an array: those of Paddle with the same name, and those in fluid's layers."""
_OPERATIONS = {
    "add": "x + number",
    "add_": "x.scale_(1.0, bias=number)",
    "divide": "x / number",
    "divide_": "x.scale_(1 / number)",
    "multiply": "x * number",
    "multiply_": "x.scale_(number)",
    "subtract": "x - number",
    "subtract_": "x.scale_(1.0, bias=-number)",
}
"""Operations that do with a number what a method of a tensor ``x`` only does with a tensor."""
_ON_DEVICE = "copy on the device"
"""The event if a loader has created a tensor already (``events.yaml``)."""
_EMPTY = frozenset({"len", "any", "numel", "size", "sum"})


def makes_tensor(call: ast.Call, context: Context) -> bool:
    """Whether a call creates a tensor from host data."""
    return terminal(call) in CALLS and context.callee(call) in NAMES


def data_of(call: ast.Call) -> ast.expr | None:
    """The argument that such a call creates a tensor from."""
    return argument_of(call, "data", 0) or argument_of(call, "value", 0)


@rule(RULE.code, at=At.HOT, calls=CALLS, is_close=True, claims=False, heeds_claims=False)
def to_tensor(call: ast.Call, context: Context) -> None:
    """Report a call that moves host data to the device at each step."""
    step, point = context.running, context.here
    node = data_of(call) if makes_tensor(call, context) else None
    if node is None or (isinstance(node, (ast.List, ast.Tuple)) and not node.elts):
        return
    found = _origin(call, node, context)
    if found is None or _costs_nothing(found, step, point) or (found.kind == origins.READ and context.runs_on_cpu):
        return
    _report(call, node, found, step, context)


def _report(call: ast.Call, node: ast.expr, found: Origin, step: Step, context: Context) -> None:
    """Report a call.

    Args:
        call: the call that creates the tensor.
        node: the argument with the data.
        found: where the data come from.
        step: the step that the call belongs to.
        context: the context at the call.
    """
    dtype = argument_of(call, "dtype", 1)
    said = _advice(found, call, node, context)
    made_of = said if said in to_tensor_fix.ADVISED else found.kind
    is_fluid = context.text(call.func).endswith("to_variable") or is_for_paddle_1([context.file])
    # The read inside a round trip is a separate finding: both are reported.
    is_part = found.kind in (origins.READ, origins.HOST)
    context.report(
        to_tensor_fix.fix(call, node, made_of, context),
        call.func if is_part else call,
        confidence=_confidence(found, call, node, context),
        event=_ON_DEVICE if found.kind in ("copy", "cast") else "",
        message=RULE.texts[said],
        once=_once(step, context.here),
        what=context.text(call.func) + "(...)" if is_part else shorten(context.text(call)),
        dtype=context.text(dtype) if dtype is not None else "",
        full="fluid.layers.fill_constant" if is_fluid else "paddle.full",
        arange="fluid.layers.range" if is_fluid else "paddle.arange",
        filler=_filler(node, is_fluid, context),
        loader="fluid.io.DataLoader" if is_fluid else "DataLoader",
        operation=_operation(call, context),
    )


def _once(step: Step, point: Point) -> str:
    """Where to create a tensor that stays the same; a function that is not a method gets it from its caller."""
    where = "the caller" if point.scope.owner is None else "the layer"
    return RULE.texts[f"once in {where}" if step.forward else "once in the loop"]


def _costs_nothing(found: Origin, step: Step, point: Point) -> bool:
    """Whether a call in a forward pass moves nothing new, or is not part of a training step."""
    if not step.forward:
        return False
    known = _WHERE_A_STEP_LEADS if is_trained(point) else _IN_FORWARD
    return found.kind not in known or _is_measure(point) or is_untrained(point, step.function)


def _origin(call: ast.Call, node: ast.expr, context: Context) -> Origin | None:
    """Where the data of a call comes from; None if it is a tensor that the call returns unchanged."""
    found, kind = origins.origin(node, context.here), context.kind(node)
    if found.kind != origins.BATCH or not kind.is_tensor or kind.guess:
        return found  # (a name that ends in "loader" may be a reader that yields arrays)
    if context.text(call.func).endswith("to_variable"):
        return None
    return Origin("copy" if argument_of(call, "dtype", 1) is None else "cast", found.sure)


def _confidence(found: Origin, call: ast.Call, node: ast.expr, context: Context) -> Confidence:
    point = context.here
    if found.kind == origins.LITERAL and (_is_fallback(node, point) or context.is_within(ast.IfExp)):
        return Confidence.LOW
    if point.step is not None and point.step.forward and _waits_for_an_argument(point):
        return Confidence.LOW
    if found.kind in _HIGH:
        return Confidence.HIGH if found.sure else Confidence.MEDIUM
    if steps_environment(point.scope) or _comes_from_dali(point):
        return Confidence.LOW
    if found.kind not in _MEDIUM:
        return Confidence.MEDIUM if _is_copied(found, call, node, point) else Confidence.LOW
    # A place or a gradient is a reason to create another tensor.
    return Confidence.LOW if _is_set_up(call) and found.kind in _DRAWN else Confidence.MEDIUM


def _is_set_up(call: ast.Call) -> bool:
    return any(argument_of(call, name, None) is not None for name in ("place", "stop_gradient"))


def _is_copied(found: Origin, call: ast.Call, node: ast.expr, point: Point) -> bool:
    """Whether data of unknown origin are in the step loop itself, and nothing shows that they must be created there.

    Data that the step has read from the device do not count: there, the read has to be removed.
    """
    if found.kind not in (origins.HOST, origins.UNKNOWN):
        return False
    if _is_set_up(call):
        return False
    here, made_of = (point, node) if point.loop is not None else _given_to_wrapper(node, point)
    if here is None or made_of is None or here.loop is None or over_episodes(here.loop):
        return False
    return not origins.is_read_back(made_of, here)


def _given_to_wrapper(node: ast.expr, point: Point) -> tuple[Point | None, ast.expr | None]:
    """What the step loop passes to a function that only makes a tensor of it: ``return paddle.to_tensor(x)``.

    None if it may be a tensor already, or comes from a loader.
    """
    scope = point.scope
    if not isinstance(node, ast.Name) or not isinstance(point.statement.node, ast.Return) or len(scope.statements) > 2:
        return None, None
    for here, call in calls_for(point):
        given = argument_for(scope, call, node.id)
        if given is None or steps_environment(here.scope) or Evaluator(here.file, here.full_env).kind(given).is_tensor:
            return None, None
        is_host = origins.origin(given, here).kind in (origins.HOST, origins.UNKNOWN)
        return (here, given) if is_host else (None, None)
    return None, None


def _is_fallback(node: ast.expr, point: Point) -> bool:
    """Whether zeros are in a branch: the loss for a batch without targets, for example."""
    values = [item.value for item in walk(node) if isinstance(item, ast.Constant)]
    links = point.statement.around
    branch = next((link.node for link in links if isinstance(link.node, ast.If) and link.branch != "after"), None)
    return branch is not None and not any(values) and _asks_for_emptiness(branch.test)


def _asks_for_emptiness(test: ast.expr) -> bool:
    for item in walk(test):
        sides = [item.left, *item.comparators] if isinstance(item, ast.Compare) else []
        if any(is_literal(side, 0, 1, None) for side in sides):
            return True
        if isinstance(item, ast.Call) and terminal(item) in _EMPTY:
            return True
    return isinstance(test, ast.UnaryOp)


def _comes_from_dali(point: Point) -> bool:
    """Whether NVIDIA's loader created the batch: it fills device memory itself, and its result has to be wrapped."""
    if "nvidia" in point.file.names.packages:
        return True
    return any("dali" in ast.unparse(test).lower() for test, _ in point.statement.conditions)


def _waits_for_an_argument(point: Point) -> bool:
    """Whether a statement of a forward pass runs only with an optional argument."""
    evidence = Evidence(point)
    return any(evidence.is_handed_over(part) for test in point.statement.tests for part in required(test))


def _is_measure(point: Point) -> bool:
    """Whether a forward pass belongs to a metric, which evaluation runs."""
    owner = point.scope.owner
    names = [*point.file.parts, owner.name if owner is not None else ""]
    return any(map(speaks_of_metrics, names)) or not isinstance(point.scope.node, FUNCTIONS)


def _advice(found: Origin, call: ast.Call, node: ast.expr, context: Context) -> str:
    """Which advice a call gets for the origin of its data; the advice has to work at that place."""
    is_same = found.kind == origins.INVARIANT
    if found.kind == origins.LITERAL and _differs(node, context.here):
        if _counts_up(node):
            return to_tensor_fix.RANGE
        is_same = True
    if is_same and _is_changed(call, context.here):
        return to_tensor_fix.CHANGED
    if is_same:
        return to_tensor_fix.SAME_NUMBER if is_one_number(node, context.here.function) else origins.INVARIANT
    if found.kind == origins.NUMBER:
        if _may_be_number(call, context):
            return origins.NUMBER
        return to_tensor_fix.OPERAND if _operation(call, context) else to_tensor_fix.FILLED
    is_number = found.kind == origins.LITERAL and not isinstance(node, (ast.List, ast.Tuple))
    return _PLAIN if is_number and _may_be_number(call, context) else found.kind


def _filler(node: ast.expr, is_fluid: bool, context: Context) -> str:
    """The function that fills on the device like NumPy: ``paddle.zeros`` for ``np.zeros``, or that of fluid."""
    name = dotted(node)
    values = [node] if name is None else list(_bound_to(name, context.here))
    for item in (item for value in values for item in walk(value)):
        called = dotted(item.func) if isinstance(item, ast.Call) else None
        module, _, last = context.file.names.resolve(called or "").rpartition(".")
        if module == "numpy" and last in _FILLERS:
            return f"fluid.layers.{_FILLERS[last]}" if is_fluid else f"paddle.{last}"
    return "fluid.layers.fill_constant" if is_fluid else "paddle.full"


def _may_be_number(call: ast.Call, context: Context) -> bool:
    """Whether a number works as well as a tensor: in ``x * paddle.to_tensor(0.5)`` with a tensor ``x``."""
    for parent, inner in context.around(call):
        if isinstance(parent, ast.BinOp):
            other = parent.right if inner is parent.left else parent.left
            return context.kind(other).is_tensor
        if not isinstance(parent, ast.UnaryOp):
            return False
    return False


def _operation(call: ast.Call, context: Context) -> str:
    """The operation on a number that replaces a tensor's method with a tensor argument; ``""`` if there is none."""
    for parent, inner in context.around(call):
        if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and parent.func is not inner:
            is_tensor = context.kind(parent.func.value).is_tensor
            return _OPERATIONS.get(parent.func.attr, "") if is_tensor else ""
        if not isinstance(parent, ast.keyword):
            break
    return ""


def _is_changed(made: ast.expr | None, point: Point) -> bool:
    """Whether the function changes in place the tensor that a statement creates, which then cannot be reused."""
    bound = targets_and_values(point.statement.node)
    return any(value is made and dotted(target) in mutated_in(point.scope) for target, value in bound)


def _counts_up(node: ast.expr) -> bool:
    """Whether the literal values in an expression are consecutive whole numbers from 0 on: ``[[0, 1, 2]]``."""
    values = list(_leaves(node))
    rows = [item.elts for item in walk(node) if isinstance(item, (ast.List, ast.Tuple))]
    is_one_row = any(list(map(ast.unparse, row)) == values for row in rows)
    is_worked_out = any(isinstance(item, ast.BinOp) for item in walk(node))
    return bool(values) and is_one_row and not is_worked_out and values == list(map(str, range(len(values))))


def _differs(node: ast.expr, point: Point) -> bool:
    """Whether a constant is a list of different values, which neither a number nor ``paddle.full`` can replace."""
    name = dotted(node)
    literals = [node] if name is None else [value for value in _bound_to(name, point) if name not in plain_names(value)]
    return any(len(set(_leaves(value))) > 1 for value in literals)


def _bound_to(name: str, point: Point) -> Iterator[ast.expr]:
    """The values that a name is bound to in the function, or else in the module."""
    nodes = [item.node for item in point.scope.statements]
    here = [node.value for node in nodes if isinstance(node, ast.Assign) and name in map(dotted, node.targets)]
    definition = Values.of(point.file.project).definitions(point.function).get(name)
    yield from here or ([definition] if definition is not None else [])


def _leaves(node: ast.expr) -> Iterator[str]:
    """The values in a list, also if NumPy makes an array of it, or if it is repeated."""
    if isinstance(node, ast.Call):  # ``np.array([0, 1])``, ``np.array([0, 1]).astype("int64")``
        is_method = isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call)
        inner = node.func.value if is_method and isinstance(node.func, ast.Attribute) else None
        yield from (leaf for part in ([inner] if inner is not None else node.args[:1]) for leaf in _leaves(part))
    elif isinstance(node, ast.BinOp):
        yield from (*_leaves(node.left), *_leaves(node.right))
    for part in node.elts if isinstance(node, (ast.List, ast.Tuple)) else ():
        yield from _leaves(part) if isinstance(part, (ast.List, ast.Tuple)) else (ast.unparse(part),)
