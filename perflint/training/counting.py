"""Finds what names and expressions count: steps, epochs, time, and the end of a loop."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import MappingProxyType

from perflint.dataflow.settled import Known
from perflint.syntax.names import dotted, names_in
from perflint.syntax.tree import walk
from perflint.syntax.vocabulary import means_accumulation, means_end, means_epoch, means_start, means_step

_CLOCKS = frozenset(
    {"time.time", "time.time_ns", "time.perf_counter", "time.monotonic", "time.process_time"}
    | {"timeit.default_timer", "datetime.datetime.now", "datetime.now"}
    | {"time", "perf_counter", "monotonic", "default_timer"}
)
_FEW_STEPS = 100
_REMAINDERS = frozenset({"mod", "fmod", "remainder", "floor_mod"})

Definitions = Mapping[str, ast.expr]
"""Names that are bound once in a scope, with the expression they are bound to."""

NO_NAMES: frozenset[str] = frozenset()
_NOTHING: Definitions = MappingProxyType({})


def counted_by(loop: ast.stmt | None, definitions: Definitions = _NOTHING) -> frozenset[str]:
    """The counter of a loop's own ``enumerate`` or ``range``, if it has one."""
    count = loop_count(loop, written(definitions)) if isinstance(loop, (ast.For, ast.AsyncFor)) else None
    return frozenset({count.id}) if count is not None else NO_NAMES


def loop_count(loop: ast.For | ast.AsyncFor, definitions: Definitions = _NOTHING) -> ast.Name | None:
    """The target that is the counter of an ``enumerate`` or a ``range``, also inside ``tqdm`` and ``zip``.

    Args:
        definitions: the meaning of the name that the loop iterates over: ``bar`` of ``bar = tqdm(enumerate(loader))``.
    """
    iterated: ast.expr = definitions.get(loop.iter.id, loop.iter) if isinstance(loop.iter, ast.Name) else loop.iter
    target: ast.expr = loop.target
    while isinstance(iterated, ast.Call):
        function = (dotted(iterated.func) or "").rpartition(".")[2]
        if function == "tqdm" and iterated.args:
            iterated = iterated.args[0]
        elif function == "zip" and iterated.args and isinstance(target, ast.Tuple):
            iterated, target = iterated.args[0], target.elts[0]
        elif function == "enumerate" and isinstance(target, ast.Tuple):
            return target.elts[0] if isinstance(target.elts[0], ast.Name) else None
        elif function in ("range", "trange", "count"):
            return target if isinstance(target, ast.Name) and _by_one(iterated) else None
        else:
            return None
    return None


def _by_one(counting: ast.Call) -> bool:
    """Whether a ``range`` or ``count`` has step 1: with another one, a test for each tenth step may never be true."""
    position = 1 if (dotted(counting.func) or "").endswith("count") else 2
    if any(isinstance(argument, ast.Starred) for argument in counting.args):
        return False
    given = [*counting.args[position:], *(item.value for item in counting.keywords if item.arg in ("step", None))]
    return all(isinstance(stride, ast.Constant) and stride.value == 1 for stride in given)


def is_end(node: ast.expr) -> bool:
    """Whether an expression is the number of all steps, or of the last one: ``len(loader) - 1``, ``args.max_steps``."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)) and isinstance(node.right, ast.Constant):
        return is_end(node.left)
    if isinstance(node, ast.Call):
        return dotted(node.func) == "len"
    return means_end((dotted(node) or key_of(node) or "").rpartition(".")[2])


def is_early(node: ast.expr) -> bool:
    """Whether a limit ends the first few steps, such as a warm-up: ``5``, ``args.skip_batches``, ``warmup_steps``."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int) and node.value <= _FEW_STEPS
    return means_start((dotted(node) or key_of(node) or "").rpartition(".")[2])


def written(definitions: Definitions) -> Definitions:
    """The definitions in the function itself, without the arguments of its callers, which take long to find."""
    return definitions.own if isinstance(definitions, Known) else definitions


def remainder_of(node: ast.expr, definitions: Definitions) -> ast.BinOp | None:
    """The ``a % b`` that an expression is, or that a name is bound to."""
    name = dotted(node)
    return as_remainder((written(definitions).get(name) if name else None) or node)


def as_remainder(node: ast.expr) -> ast.BinOp | None:
    """``a % b``, and equivalents of it: ``np.mod(a, b)``, ``divmod(a, b)[1]``; None for anything else."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return None if isinstance(node.left, (ast.Constant, ast.JoinedStr)) else node
    wanted = _REMAINDERS
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == 1:
        node, wanted = node.value, frozenset({"divmod"})
    if not isinstance(node, ast.Call) or len(node.args) != 2 or isinstance(node.args[0], ast.Starred):
        return None
    if (dotted(node.func) or "").rpartition(".")[2] not in wanted:
        return None
    return ast.BinOp(node.args[0], ast.Mod(), node.args[1])


def spaces_steps(modulo: ast.BinOp, definitions: Definitions) -> bool:
    """Whether ``a % b`` is a real interval of steps: not for 1, a count of epochs, or gradient accumulation.

    Accumulation over a known number of at least 2 steps does count; an unknown number is usually 1.
    """
    every: ast.expr = modulo.right
    name = dotted(every)
    if name and name in definitions:
        every = definitions[name]
    if isinstance(every, ast.Constant):
        return every.value != 1 and not _counts_epochs(modulo.left)
    if any(map(means_accumulation, names_in(modulo.right))):
        return False
    return not _counts_epochs(modulo.left)


def _counts_epochs(node: ast.expr) -> bool:
    names = list(names_in(node))
    return bool(names) and all(means_epoch(name) or name == "self" for name in names)


def counts_steps(node: ast.expr, counters: frozenset[str] = NO_NAMES) -> bool:
    """Whether an expression is computed from a step count, judging by its names."""
    if isinstance(node, ast.Call):
        return False
    called = {item.func for item in walk(node) if isinstance(item, ast.Call)}  # ``perf_counter`` counts no steps
    names = (getattr(item, "id", None) or getattr(item, "attr", None) for item in walk(node) if item not in called)
    return any(name is not None and (name in counters or means_step(name)) for name in names)


def asks_the_clock(node: ast.expr, definitions: Definitions, depth: int = 0) -> bool:
    """Whether an expression is computed from the time of day, also through a name."""
    definitions = written(definitions)
    for item in walk(node):
        if isinstance(item, ast.Call) and dotted(item.func) in _CLOCKS:
            return True
        held = definitions.get(item.id) if isinstance(item, ast.Name) and depth < 3 else None
        if held is not None and asks_the_clock(held, definitions, depth + 1):
            return True
    return False


def key_of(node: ast.expr) -> str | None:
    """The key of a lookup in a configuration: ``cfg["debug"]``."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        return node.slice.value
    return None
