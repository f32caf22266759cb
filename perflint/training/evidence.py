"""Finds step loops: which loops train, and which of these run once per step rather than once per epoch."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from perflint.syntax import vocabulary
from perflint.syntax.names import dotted, names_in
from perflint.syntax.scopes import LOOPS, Link, Loop, Scope, Statement, own_parts, terminal
from perflint.syntax.tree import base_of, walk

STEP_METHODS = frozenset(
    {"train_iter", "train_step", "training_step", "train_batch", "train_one_batch", "train_one_step"}
    | {"optimize_parameters", "update_core", "fit_batch", "_fit_impl", "train_on_batch", "learn"}
)
"""Methods whose name alone means that one call is one training step."""

STEP_CALLBACKS = frozenset({"on_train_batch_begin", "on_train_batch_end", "on_batch_begin", "on_batch_end"})
"""Methods of a ``paddle.callbacks.Callback`` that ``Model.fit`` calls at each step."""

LIBRARY_STEPS = frozenset({"compute_loss", "training_step"})
"""Methods that the ``Trainer`` of a library calls at each step; the library itself has the loop and ``backward``."""

EVIDENCE = frozenset(
    {"backward", "minimize", "step", "clear_grad", "clear_gradients", "clear_gradient", "zero_grad", "run"}
)
STEPS = STEP_METHODS | {"backward", "minimize"}
"""Methods one of which alone may show that a statement is the core of a step."""

CLEARS = frozenset({"clear_grad", "clear_gradients", "clear_gradient", "zero_grad"})

Trains = Callable[[ast.Call], bool]
"""Whether a call does a training step, directly or in a function of the project that it reaches."""


@dataclass
class _Evidence:
    """The evidence found directly in one loop, or in a function outside its loops."""

    trains: bool = False
    steps: bool = False
    clears: bool = False

    @property
    def any(self) -> bool:
        return self.trains or (self.steps and self.clears)


GRADIENTS_OFF = re.compile(r"no_?grad|inference_mode", re.IGNORECASE)
"""Names of what switches gradients off."""


def _collect(scope: Scope, trains: Trains) -> dict[Loop | None, _Evidence]:
    found: dict[Loop | None, _Evidence] = {}
    for statement in scope.statements:
        for call in statement.calls:
            name = terminal(call)
            if name is None:
                continue
            evidence = found.setdefault(statement.loop, _Evidence())
            if trains(call):
                evidence.trains = True
            elif name in CLEARS:
                evidence.clears = True
            elif name == "step" and not _is_scheduler(call):
                evidence.steps = True
    return found


def trains_outside_loops(scope: Scope, trains: Trains, counted: bool = False) -> bool:
    """Whether one call of a function does one training step: the evidence is outside its own loops.

    ``counted``: also if it is in ``for _ in range(n)``, as in a function that takes n steps on one batch.
    """
    # A step may contain a small loop (several critics, several optimizers), but not one over a loader or over epochs.
    return any(
        item.any and (loop is None or (_is_inner(loop, counted) and not _outer_loops(scope, loop)))
        for loop, item in _collect(scope, trains).items()
    )


def _is_inner(loop: Loop, counted: bool) -> bool:
    return _is_small(loop) or (counted and _counts(loop) and not counts_epochs(loop))


def _counts(loop: Loop) -> bool:
    return not isinstance(loop, ast.While) and isinstance(loop.iter, ast.Call) and dotted(loop.iter.func) == "range"


def step_loops(scope: Scope, trains: Trains) -> list[Loop]:
    """The loops of a scope whose body is one training step, outermost first if they are nested."""
    evidence = _collect(scope, trains)
    with_backward = {loop for loop, item in evidence.items() if loop is not None and item.trains}
    hot: set[Loop] = set()
    for loop, item in evidence.items():
        if loop is None or not item.any:
            continue
        if not item.trains and any(loop in _outer_loops(scope, inner) for inner in with_backward):
            continue
        hot.add(_outermost_step_loop(scope, loop))
    loops = [statement.node for statement in scope.statements if isinstance(statement.node, LOOPS)]
    return [
        loop
        for loop in loops
        if loop in hot
        and (not counts_epochs(loop) or _is_full_batch(scope, loop))
        and not (steps_environment(scope, loop) or _in_no_grad(scope, loop))
    ]


def _is_full_batch(scope: Scope, loop: Loop) -> bool:
    """Whether each epoch is one step on all data: a function or an object trains for as many epochs as it is told.

    A number of epochs that the code itself writes down belongs to a trial, or to an attack on a single picture.
    """
    if any(vocabulary.means_loader(name) for name in names_in(loop)):
        return False
    over = loop.iter.args if isinstance(loop, ast.For) and _counts(loop) and isinstance(loop.iter, ast.Call) else []
    return len(over) == 1 and (dotted(over[0]) or "").removeprefix("self.") in {*scope.parameters, *_attributes(scope)}


def _attributes(scope: Scope) -> Collection[str]:
    return scope.owner.attributes if scope.owner is not None else ()


def counts_epochs(loop: Loop) -> bool:
    """Whether a loop is over epochs: then one iteration is an epoch even if it contains the whole training step."""
    if isinstance(loop, ast.While):
        return any(vocabulary.means_epoch(name) for name in names_in(loop.test))
    if over_batches(loop):
        return False
    return any(vocabulary.means_epoch(name) for name in [*names_in(loop.target), *names_in(loop.iter)])


def over_batches(loop: Loop) -> bool:
    """Whether a loop iterates over something that is named like a loader."""
    return not isinstance(loop, ast.While) and any(vocabulary.means_loader(name) for name in names_in(loop.iter))


def _outermost_step_loop(scope: Scope, loop: Loop) -> Loop:
    """The loop of a step: a small inner one (critic steps, accumulation, MAML tasks) belongs to the step around it."""
    result = loop
    for outer in _outer_loops(scope, loop):
        holds_the_batches = over_batches(outer) and not over_batches(result)
        if not holds_the_batches and (not _is_small(result) or counts_epochs(outer)):
            break
        result = outer
    return result


def _is_small(loop: Loop) -> bool:
    if isinstance(loop, ast.While) or over_batches(loop) or counts_epochs(loop):
        return False
    if isinstance(loop.iter, ast.Call) and _counts(loop):
        last = loop.iter.args[-1] if loop.iter.args else None
        if isinstance(last, ast.Constant) and isinstance(last.value, int):
            return last.value <= 16
        return any("critic" in name or vocabulary.means_accumulation(name) for name in names_in(loop.iter))
    names = names_in(loop.iter)
    return any(word in name.lower() for name in names for word in ("optim", "param", "model", "loss"))


def steps_environment(scope: Scope, loop: Loop | None = None) -> bool:
    """Whether a function, or one of its loops, steps an environment: reinforcement learning acts on host values."""
    names = (
        (dotted(call.func) or "").rpartition(".")
        for statement in scope.statements
        if loop is None or statement.loop is loop
        for call in statement.calls
    )
    return any(last == "step" and "env" in receiver.lower() for receiver, _, last in names)


def over_episodes(loop: Loop) -> bool:
    """Whether a loop plays episodes of reinforcement learning, whose states and rewards come from the host."""
    header = [loop.test] if isinstance(loop, ast.While) else [loop.target, loop.iter]
    return any("episode" in name.lower() for part in header for name in names_in(part))


def _in_no_grad(scope: Scope, loop: Loop) -> bool:
    withs = (link.node for link in _around(scope, loop) if isinstance(link.node, (ast.With, ast.AsyncWith)))
    return any(turns_gradients_off(item.context_expr) for node in withs for item in node.items)


def turns_gradients_off(node: ast.expr) -> bool:
    """Whether a decorator, or the manager of a ``with``, switches gradients off, as its name says."""
    name = dotted(node.func if isinstance(node, ast.Call) else node) or ""
    return GRADIENTS_OFF.search(name.rpartition(".")[2]) is not None


def _outer_loops(scope: Scope, loop: Loop) -> list[Loop]:
    return [link.node for link in _around(scope, loop) if link.branch == "body" and isinstance(link.node, LOOPS)]


def _around(scope: Scope, loop: Loop) -> Iterator[Link]:
    return next(statement for statement in scope.statements if statement.node is loop).around


def makes_step(call: ast.Call, optimizes: bool, static: bool) -> bool:
    """Whether a call is itself the core of a training step.

    Args:
        optimizes: the file takes optimizer steps somewhere. Without them a backward pass has another purpose, such as a
            saliency map or the importance of weights.
        static: the file builds static graphs, where ``minimize`` adds operators and runs nothing.
    """
    name = terminal(call)
    if name is None:
        return False
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    if name == "backward" and owner is not None:
        to_super = isinstance(owner, ast.Call) and dotted(owner.func) == "super"
        return optimizes and not to_super
    if name == "minimize":
        return owner is not None and not static
    if name in STEP_METHODS:
        return owner is not None
    if name == "step" and owner is not None:
        return vocabulary.means_scaler(dotted(owner) or "") and bool(call.args)
    return scales_loss(call)


def scales_loss(call: ast.Call) -> bool:
    """Whether a call is a helper like ``loss_scaler(loss, optimizer)``: a backward pass and an optimizer step."""
    return vocabulary.means_scaler(terminal(call) or "") and any("loss" in (dotted(arg) or "") for arg in call.args[:1])


def runs_program(call: ast.Call) -> bool:
    """Whether a call looks like ``exe.run(program, feed=..., fetch_list=[...])`` of a static graph."""
    given = {keyword.arg for keyword in call.keywords}
    return terminal(call) == "run" and isinstance(call.func, ast.Attribute) and "fetch_list" in given


def runs_evaluation(call: ast.Call) -> bool:
    """Whether the program or the feed of an ``exe.run`` is named as one for testing."""
    given = [*call.args, *(item.value for item in call.keywords if item.arg in ("program", "feed"))]
    names = [name for node in given for name in names_in(node)]
    return any(vocabulary.is_no_training(name) or "startup" in name or "teacher" in name for name in names)


def over_evaluation_batches(loop: Loop) -> bool:
    """Whether a loop draws from a loader that is named as one for testing."""
    return not isinstance(loop, ast.While) and any(vocabulary.is_no_training(name) for name in names_in(loop.iter))


def takes_optimizer_step(call: ast.Call) -> bool:
    """Whether a call updates parameters (possibly through a loss scaler)."""
    name = terminal(call)
    if name is None:
        return False
    if name == "step":
        return isinstance(call.func, ast.Attribute) and not _is_scheduler(call)
    return isinstance(call.func, ast.Attribute) if name == "minimize" else scales_loss(call)


def updates_weights(scope: Scope) -> bool:
    """Whether a method is the ``step`` of a custom optimizer: ``for p in weights: grad = p.grad``."""
    return scope.name == "step" and any(
        isinstance(item, ast.Attribute) and item.attr == "grad" and isinstance(item.value, ast.Name)
        for statement in scope.statements
        if statement.loop is not None
        for part in own_parts(statement.node)
        for item in walk(part)
    )


def without_gradients(scope: Scope) -> bool:
    """Whether a function is decorated so that no gradient is computed in it: it cannot train."""
    return any(map(turns_gradients_off, scope.decorators))


def _is_scheduler(call: ast.Call) -> bool:
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else call.func
    return vocabulary.means_scheduler(dotted(base_of(receiver)) or "")


def terminal_names(statement: Statement) -> set[str]:
    """The last names of what a statement calls."""
    return {name for name in map(terminal, statement.calls) if name}
