"""What to do about a host read, in words, depending on what the value is used for."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, repeat

from perflint.catalogue import shipped
from perflint.facts.origin import BATCH, TENSOR, Origin, origin
from perflint.facts.usages import Aim, Usage, usages
from perflint.facts.waits import ends_a_loop_inside
from perflint.findings import Fix, Level
from perflint.flow.evaluate import Evaluator
from perflint.flow.sources import Through, ValueSource, asked
from perflint.flow.uses import uses_in
from perflint.index.kinds import LAYER_TAG
from perflint.index.project import Place
from perflint.lint.context import Context, Shown
from perflint.paddle.tensor_methods import ARRAY_FUNCTIONS, ARRAY_METHODS, COPYING_METHODS
from perflint.query import query
from perflint.syntax.bindings import plain_assignment
from perflint.syntax.names import dotted
from perflint.syntax.parameters import arguments_of
from perflint.syntax.reaching import before
from perflint.syntax.scopes import Scope, terminal
from perflint.syntax.tree import base_of, indices_of, string_of, walk
from perflint.syntax.vocabulary import means_scaler
from perflint.training.steps import Point, of_point, points_of

# Knows which reads fetch the classes that a model predicts, for a metric that is computed on the host.
#
# pred, truth = logits.argmax(axis=1).numpy(), labels.numpy()

_CHOOSING = frozenset({"argmax", "argmin", "argsort", "topk"})
"""Functions and methods that turn scores into the indices of classes."""
_ARRAY_READS = ARRAY_METHODS | ARRAY_FUNCTIONS
_REDUCING = frozenset({"sum", "mean", "all", "any", "max", "min"})


def reads_predictions(read: ast.expr | None, at: Place) -> bool:
    """Whether a read is of predicted classes, or of what a helper compares them with, such as the labels.

    They are not summed or averaged on the device as a loss is.

    Args:
        read: the expression that reads a tensor; None if it is not known.
        file: the file that it is in.
        scope: the function that it is in.
    """
    if not isinstance(read, ast.Call) or terminal(read) not in _ARRAY_READS:
        return False
    return _is_of_classes(read) or _decodes(at)


@query
def _decodes(place: Place) -> bool:
    """Whether a function without a backward pass reads predicted classes."""
    calls = [item for at in place.scope.statements for item in walk(at.node) if isinstance(item, ast.Call)]
    return not any(terminal(item) == "backward" for item in calls) and any(map(_is_of_classes, calls))


def _is_of_classes(call: ast.Call) -> bool:
    """Whether a call is ``scores.argmax(axis=1).numpy()``, without a sum or a mean of what is chosen."""
    if terminal(call) not in _ARRAY_READS:
        return False
    names = {terminal(item) for item in walk(call) if isinstance(item, ast.Call)}
    return bool(names & _CHOOSING) and not names & _REDUCING


# Finds tensors in the memory of a model that steps write to: parameters, buffers, and the values of a state dict.
#
# ``layer.parameters()[0].detach()`` shows what the optimizer has written there last, however early it was stored.

_GIVE = frozenset({"parameters", "named_parameters", "buffers", "named_buffers", "state_dict", "create_parameter"})
_PASS_ON = frozenset({"list", "tuple", "next", "iter", "enumerate", "zip", "reversed", "sorted"})
"""Functions that return the tensors in their arguments."""

_SHARE = frozenset(
    {*COPYING_METHODS, "detach", "cuda", "reshape", "flatten", "squeeze", "unsqueeze", "view", "items", "values", "get"}
)
"""Methods whose result shares the memory of the tensor, or is read from it, and those that return a dict's values."""

_OF_LAYERS = frozenset({"weight", "bias", "_mean", "_variance"})


@of_point
def is_part_of_a_model(point: Point, tensor: ast.expr) -> bool:
    """Whether an expression of a statement is a parameter or a buffer, which later steps change in place."""
    waiting = [(tensor, point.statement)]
    for node, at in waiting:  # grows in the loop
        base = _shared(node)
        if isinstance(base, ast.Name):
            given = ((each.value, each.statement) for each in before(base.id, at, point.scope))
            waiting += [(value, there) for value, there in given if value is not None and (value, there) not in waiting]
        elif isinstance(base, ast.Call) or (isinstance(base, ast.Attribute) and _is_part_of_object(base, point)):
            return True
    return False


def _shared(node: ast.expr) -> ast.expr | None:
    """The name, the attribute or the call of a model whose tensors an expression has; None if it is something else."""
    while not isinstance(node, (ast.Name, ast.Attribute)):
        if isinstance(node, ast.Subscript):
            node = node.value
        elif not isinstance(node, ast.Call):
            return None
        elif terminal(node) in _GIVE:
            return node
        elif isinstance(node.func, ast.Attribute) and node.func.attr in _SHARE:
            node = node.func.value
        elif terminal(node) in _PASS_ON and node.args:
            node = node.args[0]
        else:
            return None
    return node


def _is_part_of_object(node: ast.Attribute, point: Point) -> bool:
    """Whether an attribute is a parameter or a buffer: ``self.linear.weight``, ``self.theta`` that a class creates."""
    if node.attr in _OF_LAYERS and Evaluator(point.file, point.full_env).kind(node.value).tag == LAYER_TAG:
        return True
    owner = point.scope.owner
    if dotted(node.value) != "self" or owner is None:
        return False
    made = (value for value, _ in owner.attributes.get(node.attr, ()))
    if any(isinstance(value, ast.Call) and terminal(value) in _GIVE for value in made):
        return True
    return any(
        terminal(call) == "register_buffer" and bool(call.args) and string_of(call.args[0]) == node.attr
        for method in owner.methods.values()
        for call in method.calls
    )


# What to do about a host read, in words, depending on what the value is used for.

READ, IN_FORWARD = shipped()["PPF201"], shipped()["PPF210"]
_MOST = 2
"""How many purposes of one value a message names."""

_DETACH, _COPY = "`.detach()` of the tensor", "`.detach().clone()` of the tensor"
_SHARED = "the optimizer writes to the memory of a parameter, which `.detach()` alone would share"
_METRIC = frozenset(
    {Usage.SUM, Usage.SIZE, Usage.LIST, Usage.KEPT, Usage.RETURNED, Usage.NUMPY, Usage.METER, Usage.AFTER}
)
"""What happens to predictions for the sake of a metric."""

_OF_ARRAYS = ("scipy.", "sklearn.", "skimage.", "cv2.")
"""Libraries that work on arrays of the host only."""
_TEXT_WAIT = "text wait"
_SAME_VALUES = frozenset(
    {
        *COPYING_METHODS,
        *("numpy", "tolist", "detach", "clone", "astype", "cast"),
        *("reshape", "flatten", "squeeze", "unsqueeze", "expand", "tile"),
    }
)
"""Methods, and functions of Paddle, that only give values another shape, type or place."""
_MADE_OF_NUMBERS = frozenset({"paddle.arange", "paddle.full", "paddle.zeros", "paddle.ones", "paddle.linspace"})


@dataclass(frozen=True)
class Advice:
    """What to do about one read: ``words`` for the message, and the fix that only says it."""

    words: str
    fix: Fix
    shown: Shown = ()
    """The log lines at each step that are the only use of the value."""
    read_for: Shown = ()
    """The log lines without which the value could stay on the device."""
    event: str = ""
    """The event that costs the time, if it is not a wait for the device."""


def advice(call: ast.Call, context: Context) -> Advice:
    """What to do about a read that no edit can remove."""
    is_forward = context.hot is not None and context.hot.forward
    if not is_forward and _asks_a_scaler(call):
        return _advice_of(READ.words("scaler"))
    if _is_asked_for_its_type(call, context):
        return _advice_of(READ.words("type"))
    copied = _copied_before(call, context)
    if copied is not None:
        return _advice_of((IN_FORWARD if is_forward else READ).words("copied before", row=str(copied)))
    if ends_a_loop_inside(context.here):
        return _advice_of(READ.words("ends a loop"))
    looped = _taken_one_by_one(call, context.here)
    if looped is not None:
        return _advice_of((IN_FORWARD if is_forward else READ).words("one by one", row=str(looped)))
    row = context.here.statement.node.lineno
    aims = aims_of(call, context)
    said = _said(aims, row, is_forward, context.settings.log_interval)
    is_passed = not is_forward and {aim.usage for aim in aims} == {Usage.CALL}
    if is_passed and _is_of_the_batch(call, aims[0], context):
        return _advice_of(READ.words("batch", taker=aims[0].taker))
    takers = {context.file.names.resolve(aim.taker) if aim.usage is Usage.CALL else "" for aim in aims}
    if takers and all(taker.startswith(_OF_ARRAYS) for taker in takers):
        return _advice_of(READ.words("arrays", taker=aims[0].taker))
    is_kept = bool(aims) and _METRIC.issuperset(aim.usage for aim in aims)
    if not is_forward and is_kept and reads_predictions(call, context.here.function):
        said = _advice_of(READ.words("predictions", interval=str(context.settings.log_interval)))
    if _DETACH in said.words:
        said = _with_a_copy(said) if _reads_a_parameter(call, context) else said
        said = _with(said, _also_needed(call, context))
    if is_forward:
        return said
    event = _TEXT_WAIT if {aim.usage for aim in aims} == {Usage.TEXT} else ""
    return replace(said, shown=shown_by(aims, context), read_for=_read_for(aims, context), event=event)


def _copied_before(read: ast.Call, context: Context) -> int | None:
    """The row of the same function that copies the values of a read tensor from the host: ``y = paddle.to_tensor(x)``.

    In between they may only get another shape, or the name of another type.
    """
    start = asked(read, context.here.place, through=Through.NAME)
    waiting, rows = [start.part(value) for value in _with_same_values(read)], set[int]()
    for each in waiting:  # grows in the loop
        for source in each.sources():
            inner = _with_same_values(source.node)
            if inner:
                waiting += [source.part(value) for value in inner]
            elif source.place.scope is not context.here.scope or not _copies_to_the_device(source):
                return None
            else:
                rows.add(source.node.lineno)
    return rows.pop() if len(rows) == 1 else None


def _taken_one_by_one(read: ast.Call, at: Point) -> int | None:
    """The row of the inner of two loops that take each item of an array by itself: ``x[i, j]``, for each of both."""
    name, value = plain_assignment(at.statement.node) or ("", None)
    rows: dict[str, int] = at.scope.once(_in_loops, lambda: _in_loops(at.scope)) if value is read else {}
    return rows.get(name)


def _in_loops(scope: Scope) -> dict[str, int]:
    """The names whose items the loops of a function take one by one, each with the row of the inner loop."""
    found: dict[str, int] = {}
    for statement in scope.statements:
        loops = [each.node for each in statement.around if isinstance(each.node, ast.For)]
        counted = {dotted(loop.target) for loop in loops}
        nested = statement.nodes if len(loops) > 1 else ()
        for item in (each for each in nested if isinstance(each, ast.Subscript)):
            indices = indices_of(item.slice)
            if len(indices) > 1 and all(isinstance(each, ast.Name) and each.id in counted for each in indices):
                found.setdefault(dotted(item.value) or "", max(loop.lineno for loop in loops))
    return found


def _with_same_values(node: ast.expr) -> list[ast.expr]:
    """What a call only reshapes, converts or copies; nothing for any other expression."""
    method = node.func if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    if method is None or method.attr not in _SAME_VALUES or not isinstance(node, ast.Call):
        return []
    return node.args[:1] if dotted(method.value) == "paddle" else [method.value]


def _copies_to_the_device(source: ValueSource) -> bool:
    """Whether an expression makes a tensor of values that are on the host."""
    node, place = source.node, source.place
    here = points_of(place.file).get(place.statement.node) if place.statement is not None else None
    if here is None or not isinstance(node, ast.Call) or not node.args:
        return False
    made = place.file.names.resolve(dotted(node.func) or "")
    evaluator = Evaluator(place.file, here.full_env)
    if made == "paddle.to_tensor":
        return evaluator.kind(node.args[0]).is_host
    return made in _MADE_OF_NUMBERS and all(map(_is_a_number, node.args, repeat(evaluator)))


def _is_a_number(node: ast.expr, evaluator: Evaluator) -> bool:
    return isinstance(node, ast.Constant) or evaluator.kind(node).is_host


def _is_asked_for_its_type(read: ast.Call, context: Context) -> bool:
    """Whether only the type of a read is used: ``np.finfo(x.numpy().dtype)``."""
    around = context.here.statement.parents[read]
    return isinstance(around, ast.Attribute) and around.attr == "dtype"


def _is_of_the_batch(read: ast.Call, aim: Aim, context: Context) -> bool:
    """Whether a read, before the backward pass, is of a part of the batch, and the function gets no other tensor."""
    tensor = read.func.value if isinstance(read.func, ast.Attribute) else None
    if tensor is None or origin(tensor, context.here) != Origin(BATCH):
        return False
    calls = [call for each in context.here.scope.statements for call in each.calls]
    if any(call.lineno < read.lineno and terminal(call) == "backward" for call in calls):
        return False
    taking = [call for call in calls if call.lineno == aim.row and dotted(call.func) == aim.taker]
    names = {
        item for call in taking for part in arguments_of(call) for item in walk(part) if isinstance(item, ast.Name)
    }
    return not any(origin(name, context.here).kind == TENSOR for name in names)


def _also_needed(read: ast.Call, context: Context) -> Iterator[Fix]:
    """What has to be changed as well if a tensor takes the place of a read."""
    statement = context.here.statement
    limit = statement.parents[read]
    if isinstance(limit, ast.Call) and dotted(limit.func) in ("min", "max") and len(limit.args) > 1:
        yield READ.words("limited", limit=dotted(limit.func) or "")
    if isinstance(statement.node, ast.AugAssign):
        total = dotted(base_of(statement.node.target)) or ""
        for each in before(total, statement, context.here.scope):
            if each.value is not None and each.statement is not statement and _reads(each.value):
                yield READ.words("begun", row=str(each.statement.node.lineno))
                return


def _reads(node: ast.expr) -> bool:
    return any(isinstance(item, ast.Call) and terminal(item) == "numpy" for item in walk(node))


def _with(said: Advice, also: Iterable[Fix]) -> Advice:
    """Some advice with what else has to change."""
    more = "".join(f"; {fix.message}" for fix in also)
    return replace(said, words=said.words + more, fix=replace(said.fix, message=said.fix.message + more))


def _advice_of(fix: Fix) -> Advice:
    return Advice(fix.message, fix)


def _reads_a_parameter(expression: ast.Call, context: Context) -> bool:
    """Whether a read is of a tensor that the optimizer, or a step, changes in place."""
    tensors = [*expression.args[:1], expression.func.value if isinstance(expression.func, ast.Attribute) else None]
    return any(tensor is not None and is_part_of_a_model(context.here, tensor) for tensor in tensors)


def _with_a_copy(said: Advice) -> Advice:
    """The advice for a tensor that has to be copied to be stored."""
    assert said.fix.reason is not None
    title, reason = said.fix.message.replace(_DETACH, _COPY), f"{said.fix.reason}; {_SHARED}"
    return replace(said, words=said.words.replace(_DETACH, _COPY), fix=Fix(title, (), Level.DISPLAY, reason))


def _asks_a_scaler(expression: ast.Call) -> bool:
    """Whether a read is of the state of a scaler: ``scaler.state_dict()["scale"].item()``."""
    return any(
        isinstance(item, ast.Attribute) and item.attr == "state_dict" and means_scaler(dotted(item.value) or "")
        for item in walk(expression)
    )


def shown_by(aims: Sequence[Aim], context: Context) -> Shown:
    """The log lines at each step that are the only use of a value: path, and start of the statement."""
    return _lines(aims, context) if all(aim.usage is Usage.SHOWN for aim in aims) else ()


def _read_for(aims: Sequence[Aim], context: Context) -> Shown:
    """The log lines without which a value could stay on the device until it is needed."""
    return _lines([aim for aim in aims if aim.is_log], context) if all(aim.can_wait for aim in aims) else ()


def _lines(aims: Sequence[Aim], context: Context) -> Shown:
    files = context.file.project.files
    found = ((files[aim.path] if aim.path else context.file, aim) for aim in aims)
    return tuple((file.path, aim.row, file.source.lines.offset(*aim.start)) for file, aim in found)


def _place(aim: Aim) -> str:
    return f"{aim.path}:{aim.row}" if aim.path else str(aim.row)


def aims_of(expression: ast.expr, context: Context) -> list[Aim]:
    """What the value of an expression of the current statement is used for."""
    point = context.here
    return usages(expression, point, uses_in(point.function))


def _said(aims: Sequence[Aim], row: int, is_forward: bool, interval: int) -> Advice:
    fixes = {**READ.fixes, **IN_FORWARD.fixes} if is_forward else READ.fixes
    first = {aim.usage: aim for aim in reversed(aims)}  # the first place for each purpose
    clauses, titles, reasons = [], [], []
    for aim in islice((aim for aim in aims if first[aim.usage] is aim), _MOST):
        fix = fixes[aim.usage.name.lower()]
        at = "" if aim.row == row and not aim.path else f" (line {_place(aim)})"
        clause = fix.message if "{at}" in fix.message else f"{fix.message}{{at}}"
        clauses.append(clause.format(interval=interval, taker=aim.taker, at=at))
        titles.append(clause.format(interval=interval, taker=aim.taker, at=""))
        reasons.append(fix.reason)
    if not clauses:
        return _advice_of(fixes["unknown use"])
    title, reason = "; ".join(titles), "; ".join(dict.fromkeys(reasons))
    return Advice("; ".join(clauses), Fix(title, (), Level.DISPLAY, reason))
