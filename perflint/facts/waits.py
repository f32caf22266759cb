"""Where the host waits for the device anyway, or needs a value to continue, so that a read there costs nothing more."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from perflint.facts.paddle_calls import is_exchange
from perflint.facts.unknown_size import dense_form, dynamic_op, mask_of
from perflint.facts.usages import FORMS, GIVE_A_NUMBER, sizes_in
from perflint.flow.evaluate import Evaluator
from perflint.flow.sources import EVERYTHING, Through, ValueSource, asked, sources
from perflint.index.kinds import FUNCTION_TAG, Kind
from perflint.paddle.call_results import HOST_ATTRIBUTES, MAKERS
from perflint.syntax.bindings import loads_of, targets_and_values
from perflint.syntax.names import dotted, dotted_names, plain_names, stored_names
from perflint.syntax.parameters import arguments_of
from perflint.syntax.reaching import before, is_mutated, sole_value
from perflint.syntax.scopes import LOOPS, Scope, Statement, leaf, operands, own_parts, terminal
from perflint.syntax.tree import base_of, children, walk
from perflint.training.step_loops import is_of_tensors, reads_tensor
from perflint.training.steps import Point, of_point, points_of

# Finds tensors that are shapes and counts, whose values Paddle keeps on the host: ``paddle.shape(x)``.


def is_in_host_memory(node: ast.expr, point: Point) -> bool:
    """Whether a tensor is computed from ``paddle.shape(x)`` and the like, which never leave the host."""
    sources, names = [node], plain_names(node)
    known: set[str] = set()
    bound = point.scope.once(_bound, lambda: _bound(point.scope))
    while names - known:  # back to the definitions of the names: ``h = paddle.shape(x)[2]``, ``pad = -h % size``
        new, known = names - known, names
        made = [value for name in new for value in bound.get(name, ())]
        sources += made
        names = names.union(*map(_names_of_numbers, made))
    return any(_asks_for_a_shape(item, point) for source in sources for item in walk(source))


def _bound(scope: Scope) -> dict[str, list[ast.expr]]:
    """The values that each name of a function is bound to."""
    found: dict[str, list[ast.expr]] = {}
    for statement in scope.statements:
        if isinstance(statement.node, (ast.Assign, ast.For, ast.AsyncFor)):
            pairs = targets_and_values(statement.node)
            for name, value in ((name, value) for target, value in pairs for name in stored_names(target)):
                if value is not None:
                    found.setdefault(name, []).append(value)
    return found


def _names_of_numbers(value: ast.expr) -> set[str]:
    """The names in an arithmetic value; arguments of functions do not count."""
    if any(isinstance(item, ast.Call) for item in walk(value)):
        return set()
    return plain_names(value)


def _asks_for_a_shape(node: ast.AST, point: Point) -> bool:
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("numel", "rank") and not node.args:
        return True
    name = point.file.names.resolve(dotted(node.func) or "")
    return name in ("paddle.shape", "paddle.rank", "paddle.numel", "paddle.fluid.layers.shape")


# Finds values that the host needs anyway: it cannot continue without them, so the read cannot simply be removed.
#
# ``if loss.item() > limit: raise`` stops the run, and ``paddle.zeros([n.item(), 4])`` or ``x[: n.item()]`` needs a
# shape.

GO_ON = "that the host needs to go on"
_TELLS = "for a message"
_PICKED = "for the size of what the code goes on with"
_STRUCTURE = "that chooses what the model does next"

_ON_HOST = frozenset({"pickle", "struct", "queue", "multiprocessing", "random"})
"""Modules that send a value elsewhere, or use it for random numbers."""
_DRAWS = "numpy.random."

_TELLING = frozenset({"print", "warn", "warning", "info", "error", "debug"})
_LEAVES_STEP = (ast.Raise, ast.Break, ast.Return, ast.Continue)
_LEAVES_MODEL = (ast.Raise, ast.Break)
"""`return` is often a choice."""

_LARGE = 4
"""A branch of a forward pass with more statements is a part of the model, not a choice of two values."""


def needed_for(point: Point, node: ast.expr, forward: bool) -> str:
    """What the host needs the value of an expression for, in words; ``""`` if it does not need it.

    ``forward``: the statement belongs to a forward pass, where ``if paddle.all(mask): return x`` may be a choice that
    the device can make as well.
    """
    if dynamic_op(point, node) is not None:
        return "" if dense_form(point, node) is not None else _PICKED
    return _needed_by_itself(point, node, forward)


def test_for(point: Point, node: ast.expr) -> ast.expr | None:
    """The test around an operation that selects by a mask, if it tests the same mask on the device.

    ``if mask.any(): loss = x[mask].mean()`` needs neither if the mean is computed over all values.
    """
    mask = plain_names(mask_of(node))
    tests = [
        choice.test for choice in _choices(point) if node not in set(walk(choice.test)) and node in set(walk(choice))
    ]
    links = (link.node for link in point.statement.around if isinstance(link.node, ast.If) and link.branch == "body")
    for branch in islice(links, 1):
        here = points_of(point.file).get(branch)
        if here is not None and _is_of_tensor(here, branch.test) and plain_names(branch.test) & mask:
            return branch.test
    return next((test for test in tests if _is_of_tensor(point, test) and plain_names(test) & mask), None)


def _is_of_tensor(point: Point, test: ast.expr) -> bool:
    evaluator = Evaluator(point.file, point.full_env)
    return any(evaluator.kind(leaf(item)).is_tensor for item in operands(test))


@of_point
def _choices(point: Point) -> list[ast.IfExp]:
    """The conditional expressions of a statement."""
    parts = (item for part in own_parts(point.statement.node) for item in walk(part))
    return [item for item in parts if isinstance(item, ast.IfExp)]


@of_point
def _that_choose_a_size(point: Point) -> frozenset[ast.AST]:
    """The parts of tests that choose between two expressions, one of which waits anyway."""
    return frozenset(item for choice in _choices(point) if _picks(point, choice) for item in walk(choice.test))


def _picks(point: Point, choice: ast.IfExp) -> bool:
    """Whether an arm needs a size that only the device knows: ``x[mask].sum() if mask.any() else 0``."""
    items = (item for arm in (choice.body, choice.orelse) for item in walk(arm))
    return any(isinstance(item, ast.expr) and dynamic_op(point, item) is not None for item in items)


def picks_in_a_branch(point: Point, node: ast.expr) -> bool:
    """Whether a branch of the test that an expression belongs to needs a size that only the device knows."""
    statement = point.statement.node
    if isinstance(statement, ast.If) and any(item is node for item in walk(statement.test)):
        return any(_asks_for_a_size(point, arm) for arm in (statement.body, statement.orelse))
    return node in _that_choose_a_size(point)


def _needed_by_itself(point: Point, node: ast.expr, forward: bool) -> str:
    """What the host needs the value of an expression for."""
    statement = point.statement.node
    if isinstance(statement, ast.If) and node not in _sizes(point):
        return _needed_to_branch(point, statement, forward)
    is_test = isinstance(statement, ast.While) and not (forward or ends_a_loop_inside(point))
    is_test = is_test or isinstance(statement, ast.Assert)
    return GO_ON if is_test or node in _sizes(point) or _becomes_a_size(point, node) else ""


@of_point
def _needs_a_size(point: Point) -> bool:
    """Whether an expression of a statement is an operation whose result has a size that only the device knows."""
    return any(
        dynamic_op(point, item) is not None
        for part in own_parts(point.statement.node)
        for item in walk(part)
        if isinstance(item, ast.expr) and isinstance(getattr(item, "ctx", ast.Load()), ast.Load)
    )


def goes_into_a_collective(point: Point, node: ast.expr) -> bool:
    """Whether a statement computes a value for ``all_reduce`` or the like, which waits for other processes anyway."""
    names = point.file.names
    if any(is_exchange(call, names) for call in point.statement.calls):
        return True
    statement = point.statement.node
    if not isinstance(statement, ast.Assign) or statement.value is not node or len(statement.targets) != 1:
        return False
    name = dotted(statement.targets[0])
    readers = _loads_after(point, name) if name is not None else iter(())
    return any(
        is_exchange(call, names) and name in map(dotted, arguments_of(call))
        for reader in readers
        for call in reader.calls
    )


def _needed_to_branch(point: Point, statement: ast.If, forward: bool) -> str:
    """Why the host has to know the test of an ``if``."""
    leaves = _LEAVES_MODEL if forward else _LEAVES_STEP
    arms = [arm for arm in (statement.body, statement.orelse) if arm]
    if ends_a_loop_inside(point) or asks_an_item(point, statement.test):
        return ""
    if any(isinstance(arm[-1], leaves) for arm in arms) or _trains(statement):
        return GO_ON
    if forward and all(_only_tells(arm) for arm in arms):
        return _TELLS
    returns = any(isinstance(item, ast.Return) for item in walk(statement))
    is_part = forward and not returns and any(_is_large(arm) for arm in arms)
    return _STRUCTURE if is_part else ""


def ends_a_loop_inside(point: Point) -> bool:
    """Whether a test ends a loop inside the step, in which it waits in each pass: ``if error < limit: break``.

    The loop may end some passes late, so the test need not come in each of them. So with ``while mask.any():``; but one
    pass more changes what ``while angle > limit: angle -= turn`` computes.
    """
    statement, loop = point.statement.node, point.statement.loop
    if isinstance(statement, ast.While):
        tested = set(dotted_names(statement.test))
        is_exact = any(name in tested for node in statement.body for name in _moved_by(node))
        return statement is not point.loop and not is_exact and not _trains(statement)
    if not isinstance(statement, ast.If) or loop is None or loop is point.loop or statement.orelse:
        return False
    if asks_an_item(point, statement.test):
        return False
    return isinstance(statement.body[-1], ast.Break) and _only_tells(statement.body[:-1])


def asks_an_item(point: Point, test: ast.expr) -> bool:
    """Whether a test asks for an item of a tensor that a loop iterates over: the loop can have a list of numbers.

    Also ``k in [0, 1]`` after ``k = labels[i]``.
    """
    if isinstance(test, ast.Compare) and looked_up_in_a_list(test, point) is not None:
        found = sources(test.left, point.place, through=Through.NAME)
        return any(isinstance(each.node, ast.Subscript) for each in found)
    names = (item for item in walk(test) if isinstance(item, ast.Name))
    drawn = (_drawn_from(asked(name, point.place, through=_VALUES), name.id) for name in names)
    if any(_is_tensor_of(point, held) for held in drawn if held is not None):
        return True
    return any(is_counted_to(point, item) for item in walk(test) if isinstance(item, (ast.Name, ast.Subscript)))


def is_counted_to(point: Point, node: ast.expr) -> bool:
    """Whether an expression is an item that a loop inside the step counts to, ``x[i][j]``, of a tensor that stays."""
    made = sole_value(node, point.statement, point.scope)
    item = made[1] if made is not None else node
    tensor, indices = (
        base_of(item),
        {name for part in walk(item) if isinstance(part, ast.Subscript) for name in plain_names(part.slice)},
    )
    for link in point.statement.around if isinstance(item, ast.Subscript) else ():
        loop, here = link.node, points_of(point.file).get(link.node)
        if not isinstance(loop, ast.For) or loop is point.loop or here is None or link.branch != "body":
            continue
        kind, name = Evaluator(point.file, here.full_env).kind(tensor), dotted(tensor) or ""
        stays = name not in stored_names(loop) and not is_mutated(name, loop)
        if not indices.isdisjoint(plain_names(loop.target)) and kind.is_tensor and not (kind.guess or kind.items):
            return bool(name) and stays
    return False


def _is_tensor_of(point: Point, held: ValueSource) -> bool:
    loop = held.place.statement
    here = points_of(point.file).get(loop.node) if loop is not None else None
    kind = Evaluator(point.file, here.full_env).kind(held.node) if here is not None else None
    return kind is not None and kind.is_tensor and not (kind.guess or kind.items)


def _moved_by(node: ast.stmt) -> Iterator[str]:
    """The names that a statement, or one in it, computes from themselves, so that each pass of a loop changes them.

    What narrows a mask, ``mask = mask & ~accepted``, changes nothing once the mask is empty.
    """
    for item in walk(node):
        value = item.value if isinstance(item, (ast.Assign, ast.AugAssign)) else None
        narrows = isinstance(getattr(item if isinstance(item, ast.AugAssign) else value, "op", None), ast.BitAnd)
        if isinstance(item, ast.AugAssign) and not narrows:
            yield dotted(item.target) or ""
        elif isinstance(item, ast.Assign) and not narrows:
            yield from set(map(dotted, item.targets)) & set(dotted_names(item.value))  # type: ignore[misc]  # no None


def _trains(statement: ast.If | ast.While) -> bool:
    """Whether a branch, or a loop, contains the ``backward`` of the step."""
    return any(isinstance(item, ast.Attribute) and item.attr == "backward" for item in walk(statement))


def _only_tells(arm: list[ast.stmt]) -> bool:
    """Whether a branch does nothing but warn or print: ``if x.max() > 15: warnings.warn(...)``."""
    calls = (node.value if isinstance(node, ast.Expr) else None for node in arm)
    return all(isinstance(call, ast.Call) and terminal(call) in _TELLING for call in calls)


def _is_large(arm: list[ast.stmt]) -> bool:
    """Whether a branch is more than a choice of values that the device could make: many statements, or a loop."""
    inside = [item for node in arm for item in walk(node) if isinstance(item, ast.stmt)]
    return len(inside) >= _LARGE or any(isinstance(item, LOOPS) for item in inside)


def _asks_for_a_size(point: Point, arm: list[ast.stmt]) -> bool:
    """Whether a branch selects by a mask, or does anything else whose result has a size that the host has to read."""
    known = points_of(point.file)
    inside = (known.get(item) for node in arm for item in walk(node) if isinstance(item, ast.stmt))
    return any(here is not None and _needs_a_size(here) for here in inside)


@of_point
def _sizes(point: Point, items: bool = True) -> frozenset[ast.AST]:
    """The expressions of a statement that have to be numbers on the host.

    They are part of a shape or a count, bound a slice, are drawn by or sent to another process, or (``items``) choose
    an item of a list, a dict or an array.
    """
    found: set[ast.AST] = set()
    waiting: list[tuple[ast.AST, bool]] = [(part, False) for part in own_parts(point.statement.node)]
    while waiting:
        node, is_size = waiting.pop()
        if is_size:
            found.add(node)
        wanted = _wanted(node, point, items)
        is_size = is_size and not _asks_for_its_form(node)
        waiting += [(child, is_size or child in wanted) for child in children(node)]
    return frozenset(found)


def _asks_for_its_form(node: ast.AST) -> bool:
    """Whether an expression needs no value of what it is about: ``x.shape``, which the host knows, and ``len(x)``."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "len"
    return isinstance(node, ast.Attribute) and node.attr in FORMS


def _wanted(node: ast.AST, point: Point, items: bool) -> list[ast.AST]:
    """The parts of an expression that have to be on the host."""
    if isinstance(node, ast.Call) and _leaves_the_program(node, point):
        return [child for child in children(node) if child is not node.func]
    if items and isinstance(node, ast.Subscript) and _is_on_the_host(node.value, point):
        return [] if is_read_of_tensor(node.value, point) else [node.slice]
    return sizes_in(node, point.file.names)


def _leaves_the_program(call: ast.Call, point: Point) -> bool:
    """Whether a call sends its argument to another process or to a file, or uses it for random numbers."""
    resolved = point.file.names.resolve(dotted(call.func) or "")
    return resolved.partition(".")[0] in _ON_HOST or resolved.startswith(_DRAWS)


def _is_on_the_host(node: ast.expr, point: Point) -> bool:
    """Whether an item of a list, a dict or an array is taken: only a tensor takes a tensor as an index."""
    return isinstance(node, (ast.List, ast.Tuple, ast.Dict)) or Evaluator(point.file, point.full_env).kind(node).is_host


def is_read_of_tensor(node: ast.expr, point: Point) -> bool:
    """Whether an array is read from the device just here: ``x.numpy()[i.numpy()]`` is ``x[i]``, which needs no read."""
    if not isinstance(node, ast.Call):
        return False
    return is_of_tensors(node) or reads_tensor(node, Evaluator(point.file, point.full_env), point.file)


def _becomes_a_size(point: Point, node: ast.expr) -> bool:
    """Whether a statement only names a value that a later one uses as a size: ``n = x.max().item()``."""
    statement = point.statement.node
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    if not isinstance(target, ast.Name) or not _is_part_of_number(statement.value, node):
        return False
    later = (Point(reader, point.scope, None, {}, None, point.file) for reader in _loads_after(point, target.id))
    return any(_is_a_size_in(reader, target.id) for reader in later)


def _loads_after(point: Point, name: str) -> Iterator[Statement]:
    """The statements that may read the name bound by the current one."""
    start, scope = point.statement.start, point.scope
    for statement, _ in loads_of(scope).get(name, ()):
        if statement.start > start and any(
            found.statement is point.statement for found in before(name, statement, scope)
        ):
            yield statement


def _is_a_size_in(point: Point, name: str) -> bool:
    return any(isinstance(item, ast.Name) and item.id == name for item in _sizes(point, items=False))


def _is_part_of_number(value: ast.AST, node: ast.expr) -> bool:
    """Whether a value is an expression, or arithmetic with it."""
    if value is node:
        return True
    if isinstance(value, ast.Call):
        name = terminal(value)
        if isinstance(value.func, ast.Attribute):
            return name in ("item", "astype", "tolist", "detach", "cpu") and _is_part_of_number(value.func.value, node)
        return name in GIVE_A_NUMBER and any(_is_part_of_number(item, node) for item in value.args)
    return isinstance(value, (ast.BinOp, ast.UnaryOp)) and any(
        _is_part_of_number(item, node) for item in children(value)
    )


# Finds where the host needs a tensor to go on: to decide, or for the size of another.


def is_asked(node: ast.expr, kind: Kind) -> bool:
    """Whether a tensor decides; an argument of a forward pass is usually a tensor, but alone in a test it is a flag."""
    return kind.is_tensor and not (kind.guess and isinstance(node, (ast.Name, ast.Attribute)))


def looked_up_in_a_list(node: ast.expr, point: Point) -> Kind | None:
    """The kind of the tensor that ``k in [0, 1]`` compares with one item after the other; None for all else.

    A dict or a set uses the hash instead, and nothing is compared with an empty list.
    """
    if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], (ast.In, ast.NotIn)):
        return None
    kind = Evaluator(point.file, point.full_env).kind(node.left)
    if not kind.is_tensor or kind.guess or kind.items or is_in_host_memory(node.left, point):
        return None
    if isinstance(node.left, ast.Name) and _may_be_a_key(node.left.id, point):
        return None
    lists = [each.node if each.is_known else None for each in sources(node.comparators[0], point.place)]
    is_list = all(isinstance(each, (ast.List, ast.Tuple, ast.ListComp)) for each in lists)
    return kind if is_list and any(getattr(each, "elts", [each]) for each in lists) else None


def _may_be_a_key(name: str, point: Point) -> bool:
    """Whether a name is the target of a loop or comprehension over what may be a dict of tensors, which gives keys."""
    loops = [link.node for link in point.statement.around if isinstance(link.node, ast.For)]
    inside = [each for part in own_parts(point.statement.node) for each in walk(part)]
    over = [(each.target, each.iter) for each in (*loops, *inside) if isinstance(each, ast.For | ast.comprehension)]
    return any(not is_a_result(iterated, point) for target, iterated in over if name in plain_names(target))


def sizes_on_the_device(node: ast.AST, point: Point, evaluator: Evaluator) -> bool:
    """Whether a size in an expression is a tensor of the device, which the host has to read first.

    A function of the project with a name of one of Paddle takes no sizes: ``self.expand(encodings, durations)``.
    """
    if isinstance(node, ast.Call) and evaluator.kind(node.func).tag == FUNCTION_TAG:
        return False
    sizes = (part for size in sizes_in(node, point.file.names) for part in _parts(size))
    return any(_is_on_the_device(part, point, evaluator) for part in sizes)


def sized_by_a_result(node: ast.AST, point: Point) -> bool:
    """Whether a size in an expression is certainly a result of the device: ``x[:, :n]`` after ``n = lengths.max()``.

    Numbers that look alike come from ``x.shape``, from a caller, or from a helper: each place that the value may come
    from has to compute it from tensors, as far as it is known, and at least one has to be known.
    """
    evaluator = Evaluator(point.file, point.full_env)
    if isinstance(node, ast.Call) and not point.file.names.qualified(node.func).startswith("paddle."):
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if owner is None or not evaluator.kind(owner).is_tensor:
            return False  # a function of the project, with a name that Paddle has as well
    return any(_is_a_result(value) is True for value in _tensors_in_sizes(node, point))


def is_put_there(node: ast.AST, point: Point) -> bool:
    """Whether each size in an expression that is a tensor is a number that ``paddle.to_tensor`` put on the device."""
    waiting = _tensors_in_sizes(node, point)
    for value in waiting:  # grows in the loop
        if isinstance(value.node, ast.Subscript):
            waiting.append(value.part(value.node.value))
        elif not isinstance(value.node, ast.Call):
            inner = [each for each in value.sources() if each.node is not value.node]
            if not inner or len(waiting) > _MOST_VALUES:
                return False
            waiting += inner
        elif not value.qualified.startswith("paddle.") or terminal(value.node) != "to_tensor":
            return False
    return bool(waiting)


def _tensors_in_sizes(node: ast.AST, point: Point) -> list[ValueSource]:
    evaluator = Evaluator(point.file, point.full_env)
    sizes = (part for size in sizes_in(node, point.file.names) for part in _parts(size))
    tensors = (part for part in sizes if evaluator.kind(part).is_tensor and not is_in_host_memory(part, point))
    return [asked(part, point.place, through=_VALUES) for part in tensors]


_VALUES = EVERYTHING & ~Through.ITEM
_MOST_VALUES = 20
_SEVERAL = (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_COUNTS = frozenset({"shape", "rank", "numel", "is_empty", "get_world_size", "get_rank", "item", "len"})
_RESULTS = frozenset(
    {"sum", "max", "min", "mean", "prod", "argmax", "argmin", "cumsum", "amax", "amin", "count_nonzero"}
    | {"rand", "randn", "randint", "randperm", "uniform", "multinomial", "argsort", "matmul", "addmm", "bmm", "softmax"}
)
"""Functions and methods whose result is on the device, unless they get what is on the host."""
_MAKES = MAKERS | {"to_tensor", "arange"}
"""Functions that put a tensor on the device, whatever they get."""
_SAME = frozenset(
    {"astype", "cast", "clip", "floor", "ceil", "round", "abs", "squeeze", "reshape", "flatten", "detach", "stack"}
    | {"concat", "minimum", "maximum", "where", "sqrt", "sort", "exp", "log"}
)
"""Those whose result is where their arguments are."""


def is_a_result(node: ast.expr, point: Point) -> bool:
    """Whether an expression is certainly computed on the device, not only put there by ``paddle.to_tensor``."""
    value = asked(node, point.place, through=_VALUES)
    names = (value.part(item) for item in walk(node) if isinstance(item, ast.Name))
    is_put = any(
        isinstance(each.node, ast.Call) and terminal(each.node) == "to_tensor"
        for name in names
        for each in name.sources()
    )
    return not is_put and _is_a_result(value) is True and not is_in_host_memory(node, point)


def _is_a_result(value: ValueSource) -> bool | None:
    """Whether an expression computes a tensor on the device; False if it is something else, None if that is unknown."""
    node = value.node
    if isinstance(node, ast.BinOp):
        return _any_of(value, [node.left, node.right])
    if isinstance(node, (ast.List, ast.Tuple)):
        return _any_of(value, node.elts)
    if isinstance(node, (ast.UnaryOp, ast.Subscript)):
        return _is_a_result(value.part(node.operand if isinstance(node, ast.UnaryOp) else node.value))
    if isinstance(node, ast.Attribute) and node.attr in HOST_ATTRIBUTES:
        return False
    if isinstance(node, ast.Name) and (held := _drawn_from(value, node.id)) is not None:
        return _is_a_result(held)
    if isinstance(node, (ast.Name, ast.Attribute, ast.IfExp)):
        return _of_sources([*value.sources()], node)
    if isinstance(node, ast.Call):
        return _is_called_for_one(node, value)
    return False if isinstance(node, ast.Constant) else None


def _drawn_from(value: ValueSource, name: str) -> ValueSource | None:
    """The tensor that a name is an item of: ``xs`` in ``for x in xs``, and in ``for at, (a, b) in enumerate(xs)``.

    None if the statement before it gives the name anything else, or if what is iterated over may be a list.
    """
    at, scope = value.place.statement, value.place.scope
    found = [binding.statement for binding in before(name, at, scope)] if at is not None else []
    node = found[0].node if len(found) == 1 else None
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Name):
        return _drawn_from(value.at(found[0]), node.value.id)  # ``start, end = pair``
    if not isinstance(node, (ast.For, ast.AsyncFor)):
        return None
    over: ast.expr | None = node.iter
    called = dotted(over.func) if isinstance(over, ast.Call) else None
    if isinstance(over, ast.Call) and called in ("zip", "enumerate"):
        parts = node.target.elts if isinstance(node.target, ast.Tuple) else []
        pairs = zip(parts, over.args if called == "zip" else [None, *over.args], strict=False)
        over = next((given for target, given in pairs if name in stored_names(target)), None)
    held = replace(value.at(found[0]), node=over) if over is not None else None
    may_be_list = held is None or any(isinstance(each.node, _SEVERAL) for each in [held, *held.sources()])
    return None if may_be_list else held


def _of_sources(found: list[ValueSource], node: ast.expr) -> bool | None:
    """The same for a value that may come from several places; only calls may leave open what others pass."""
    known = [None if not each.is_known or each.node is node else _is_a_result(each) for each in found]
    if False in known or None not in known:
        return _all_of(known)
    passed = (is_one for each, is_one in zip(found, known, strict=True) if _is_passed(each))
    return True if True in passed else None


def _is_passed(source: ValueSource) -> bool:
    return any(step.kind is Through.ARGUMENT for step in source.steps)


def _is_called_for_one(call: ast.Call, value: ValueSource) -> bool | None:
    """The same for a call."""
    last, method = terminal(call) or "", call.func if isinstance(call.func, ast.Attribute) else None
    if last in _COUNTS or (method is None and last in GIVE_A_NUMBER):
        return False
    is_function = value.qualified.startswith("paddle.")
    if is_function and last in _MAKES:
        return True
    if last not in _RESULTS | _SAME or not (is_function or method is not None):
        called = [each for each in value.sources() if each.node is not call]
        return _of_sources(called, call) if called and not is_function else None
    given = call.args if is_function or method is None else [method.value]
    if not given:
        return True
    return _any_of(value, given) is not False if last in _RESULTS else _any_of(value, given)


def _any_of(value: ValueSource, parts: list[ast.expr]) -> bool | None:
    """The same for what is computed from some expressions: on the device if one of them is."""
    found = [_is_a_result(value.part(part)) for part in parts if not isinstance(part, ast.Constant)]
    return True if True in found else None if None in found or not found else False


def _all_of(found: list[bool | None]) -> bool | None:
    """What holds for each of some values, as far as it is known."""
    return False if False in found else True if True in found else None


def _parts(size: ast.AST) -> list[ast.expr]:
    if isinstance(size, (ast.List, ast.Tuple)):
        return size.elts
    return [size] if isinstance(size, ast.expr) else []


def _is_on_the_device(size: ast.expr, point: Point, evaluator: Evaluator) -> bool:
    kind = evaluator.kind(size)
    return kind.is_tensor and not kind.guess and not is_in_host_memory(size, point)
