"""What counts the steps of a loop: its own counter, or a name that each iteration increments, here or in a helper."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from perflint.flow.calls import CallGraph
from perflint.flow.known_values import Known
from perflint.index.project import FileIndex, Place, Project
from perflint.syntax.bindings import bindings_of, targets_and_values
from perflint.syntax.names import dotted, names_in
from perflint.syntax.parameters import argument_for
from perflint.syntax.reaching import before
from perflint.syntax.scopes import LOOPS, Loop, Scope, statements_calling, terminal
from perflint.syntax.tree import string_of, walk
from perflint.syntax.vocabulary import means_accumulation, means_end, means_epoch, means_start, means_step
from perflint.training.evidence import over_batches

if TYPE_CHECKING:
    from perflint.training.steps import Point

Definitions = Mapping[str, ast.expr] | Known
"""Names that are bound once in a scope, with the expression they are bound to."""

NO_NAMES: frozenset[str] = frozenset()
NOTHING_KNOWN: Mapping[str, ast.expr] = MappingProxyType({})

# Finds what expressions count: steps, epochs, time, and the end of a loop.

_CLOCKS = frozenset(
    {"time.time", "time.time_ns", "time.perf_counter", "time.monotonic", "time.process_time"}
    | {"timeit.default_timer", "datetime.datetime.now", "datetime.now"}
    | {"time", "perf_counter", "monotonic", "default_timer"}
)
_FEW_STEPS = 100
_REMAINDERS = frozenset({"mod", "fmod", "remainder", "floor_mod"})


def written(definitions: Definitions) -> Mapping[str, ast.expr]:
    """The definitions in the function itself, without the arguments of its callers, which take long to find."""
    return definitions.own if isinstance(definitions, Known) else definitions


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


def key_of(node: ast.expr) -> str | None:
    """The key of a lookup in a configuration: ``cfg["debug"]``."""
    return string_of(node.slice) if isinstance(node, ast.Subscript) else None


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


def spaces_steps(modulo: ast.BinOp, definitions: Definitions, counters: frozenset[str]) -> bool:
    """Whether ``a % b`` is a real interval of steps: not for 1, a count of epochs, or gradient accumulation.

    Accumulation over a known number of at least 2 steps does count; an unknown number is usually 1. For a loop over
    epochs, whose counter is among ``counters``, a count of epochs is what counts.
    """
    if _counts_epochs(modulo.left) and counters.isdisjoint(names_in(modulo.left)):
        return False
    name = dotted(modulo.right)
    every = (definitions.get(name) if name else None) or modulo.right
    if isinstance(every, ast.Constant):
        return every.value != 1
    return not any(map(means_accumulation, names_in(modulo.right)))


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


def asks_the_clock(node: ast.expr, definitions: Definitions, names: int = 3) -> bool:
    """Whether an expression is computed from the time of day, also through some names."""
    definitions = written(definitions)
    for item in walk(node):
        if isinstance(item, ast.Call) and dotted(item.func) in _CLOCKS:
            return True
        held = definitions.get(item.id) if isinstance(item, ast.Name) and names else None
        if held is not None and asks_the_clock(held, definitions, names - 1):
            return True
    return False


# Finds the counter of a loop.


def counted_by(loop: ast.stmt | None, definitions: Definitions = NOTHING_KNOWN) -> frozenset[str]:
    """The counter of a loop's own ``enumerate`` or ``range``, if it has one."""
    count = loop_count(loop, written(definitions)) if isinstance(loop, (ast.For, ast.AsyncFor)) else None
    return frozenset({count.id}) if count is not None else NO_NAMES


def loop_count(loop: ast.For | ast.AsyncFor, definitions: Mapping[str, ast.expr] = NOTHING_KNOWN) -> ast.Name | None:
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


_NEW_NAMES = ("step", "step_id", "batch_step", "train_step_id")


@dataclass(frozen=True)
class StepIndex:
    """``name`` holds the number of the step.

    ``enumerate`` says that the loop must first get a counter; ``unnamed`` is the ``_`` that ignores the count of an
    ``enumerate`` and has to be renamed.
    """

    name: str
    enumerate: bool = False
    unnamed: ast.Name | None = None


def step_index(scope: Scope, loop: Loop, used: frozenset[str], named: frozenset[str] = frozenset()) -> StepIndex | None:
    """The counter of a step loop: an existing one, or a new one from ``enumerate`` if possible.

    Args:
        used: the names of the file, which a new name must differ from.
        named: the names in the guarded lines; of several counters, one that they show is preferred.
    """
    counters = sorted(counters_of(scope, loop), key=lambda name: name not in named)
    if counters:
        return StepIndex(counters[0])
    if isinstance(loop, (ast.While, ast.AsyncFor)) or not _can_enumerate(loop):
        return None
    new = next((name for name in _NEW_NAMES if name not in used), None)
    if new is None:
        return None
    unnamed = loop_count(loop, _goes_over(scope, loop))
    if unnamed is not None:
        return StepIndex(new, unnamed=unnamed) if unnamed.id == "_" and not _reads(scope, "_") else None
    return StepIndex(new, enumerate=True)


def counters_of(scope: Scope, loop: Loop) -> list[str]:
    """The names that already count the iterations of a loop: its ``enumerate`` or ``range`` target, what it increments.

    Names of step counters come before others (``seen += 1``).
    """
    count = None if isinstance(loop, ast.While) else loop_count(loop, _goes_over(scope, loop))
    found = [count.id] if count is not None and count.id != "_" and not _assignments(loop, count.id) else []
    incremented = [name for name in _incremented(loop.body) if _counts_alone(scope, loop, name)]
    return found + sorted(dict.fromkeys(incremented), key=lambda name: not means_step(name.rpartition(".")[2]))


def _goes_over(scope: Scope, loop: ast.For | ast.AsyncFor) -> dict[str, ast.expr]:
    """The value of the name that a loop iterates over: ``bar`` of ``bar = tqdm(enumerate(loader))``."""
    statement = next((item for item in scope.statements if item.node is loop), None)
    if statement is None or not isinstance(loop.iter, ast.Name):
        return {}
    found = before(loop.iter.id, statement, scope)
    value = found[0].value if len(found) == 1 and not isinstance(found[0].statement.node, LOOPS) else None
    return {loop.iter.id: value} if value is not None else {}


def _incremented(body: list[ast.stmt]) -> Iterator[str]:
    """What each iteration increments by one: ``n += 1``, ``n = n + 1``, also in a ``with`` of the loop's own body."""
    for node in body:
        if isinstance(node, (ast.With, ast.AsyncWith)):
            yield from _incremented(node.body)
        name, added = _addition(node)
        if name and isinstance(added, ast.Constant) and added.value == 1:
            yield name


def _addition(node: ast.AST) -> tuple[str | None, ast.expr | None]:
    """The name that a statement adds something to, and what."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        return dotted(node.target), node.value
    if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.value, ast.BinOp):
        return None, None
    name, value = dotted(node.targets[0]), node.value
    if name is None or not isinstance(value.op, ast.Add):
        return None, None
    if dotted(value.left) == name:
        return name, value.right
    return (name, value.left) if dotted(value.right) == name else (None, None)


def _counts_alone(scope: Scope, loop: Loop, name: str) -> bool:
    """Whether a name grows only by that addition: a second one, here or in a method, could skip every tenth value."""
    if _assignments(loop, name) != 1:
        return False
    _, _, attribute = name.rpartition(".")
    if attribute == name:
        return True
    top = scope
    while top.parent is not None:
        top = top.parent
    own = set(walk(loop))
    others = (_addition(item)[0] for item in walk(top.node) if item not in own)
    return not any(target is not None and target.endswith(f".{attribute}") for target in others)


def _reads(scope: Scope, name: str) -> bool:
    return any(
        isinstance(item, ast.Name) and item.id == name and isinstance(item.ctx, ast.Load) for item in walk(scope.node)
    )


def _assignments(loop: Loop, name: str) -> int:
    """How often the body of a loop binds a name."""
    inside = [item for node in loop.body for item in walk(node)]
    targets = [target for item in inside if isinstance(item, ast.stmt) for target, _ in targets_and_values(item)]
    targets += [item.target for item in inside if isinstance(item, ast.NamedExpr)]
    parts = (part for target in targets for part in walk(target))
    return sum(name == dotted(part) for part in parts if isinstance(getattr(part, "ctx", None), ast.Store))


def _can_enumerate(loop: ast.For) -> bool:
    """Whether a loop can get an ``enumerate``: over batches, a plain name or a call, without star unpacking."""
    starred = any(isinstance(item, ast.Starred) for item in walk(loop.target))
    if isinstance(loop.iter, ast.Tuple):  # without its parentheses it would become several arguments
        return False
    return not starred and (over_batches(loop) or isinstance(loop.iter, (ast.Name, ast.Attribute, ast.Call)))


# Finds the counter of a step loop in a helper: a parameter, or an attribute of one object.


def handed_counter(project: Project, point: Point) -> str | None:
    """The name that counts the steps in a function that a step loop calls, None if none is certain.

    ``def log(self, loss, step)`` called as ``self.log(loss, step)`` in ``for step, x in enumerate(loader)``: ``step``.
    A parameter counts if the only call of the function passes the counter; ``self.iteration`` counts if each call on
    the path is one on ``self``.
    """
    step = point.step
    if step is None or not step.line or not step.via:
        return None
    found = _loop_at(project.files[step.path], step.line)
    if found is None:
        return None
    known = set(counters_of(*found))
    calling = (
        (project.files[path], next(statements_calling(project.files[path].scopes, row), None))
        for path, row in step.via[1:]
    )
    places = [(file, at[0] if at is not None else None) for file, at in calling]
    for (path, line), (file, called) in zip(step.via, [*places, (point.file, point.scope)], strict=True):
        if called is None or not known:
            return None
        call = _call_at(project.files[path], line, called)
        known = _handed(known, call, Place(file, called)) if call is not None else set()
    return min(known, default=None)


def _loop_at(file: FileIndex, line: int) -> tuple[Scope, Loop] | None:
    loops = ((scope, each.node) for scope in file.scopes.scopes for each in scope.statements)
    return next(((scope, node) for scope, node in loops if isinstance(node, LOOPS) and node.lineno == line), None)


def _call_at(file: FileIndex, line: int, called: Scope) -> ast.Call | None:
    """The only call at a row that can reach a function."""
    name = called.owner.name if called.owner is not None and called.name == "__init__" else called.name
    calls = (call for _, statement in statements_calling(file.scopes, line) for call in statement.calls)
    found = [call for call in calls if call.lineno == line and terminal(call) == name]
    return found[0] if len(found) == 1 else None


def _handed(known: set[str], call: ast.Call, called: Place) -> set[str]:
    bound = bindings_of(called.scope).keys()
    handed: set[str] = set()
    if len(CallGraph.of(called.file.project).callers(called)) == 1:
        for parameter in called.scope.parameters:
            argument = argument_for(called.scope, call, parameter)
            if argument is not None and _counts(argument, known):
                handed.add(parameter)
    if dotted(call.func) == f"self.{called.scope.name}":
        handed |= {name for name in known if name.startswith("self.")}
    return handed - bound


def _counts(node: ast.expr, known: set[str]) -> bool:
    """Whether an expression is a counter, or a counter plus a whole number."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        added = node.right
        return isinstance(added, ast.Constant) and isinstance(added.value, int) and _counts(node.left, known)
    return dotted(node) in known
