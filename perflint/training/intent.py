"""What code is for: whether a loop or a file trains, evaluates or predicts."""

from __future__ import annotations

import ast
import builtins
import re
from enum import Enum

from perflint.flow.calls import CallGraph
from perflint.flow.sources import sources
from perflint.index.imports import Imports
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Place, Project
from perflint.query import query
from perflint.syntax.bindings import bindings_of, bound_by, targets_and_values, targets_of
from perflint.syntax.names import dotted, plain_names
from perflint.syntax.parameters import argument_of, is_none
from perflint.syntax.scopes import LOOPS, Loop, Scope, Statement, once, terminal
from perflint.syntax.tree import walk
from perflint.syntax.vocabulary import is_offline, measures, predicts, speaks_of_training, trains
from perflint.training.every import ends_at_once
from perflint.training.evidence import EVIDENCE, STEP_METHODS, takes_optimizer_step
from perflint.training.training_calls import TrainingCalls

# Finds what a loop does with its batches: trains, evaluates, predicts, or only looks at them.

_INFERS = re.compile(r"\.(infer|inference|sample|synthesi[sz]e)$")
_RUNS_MODELS = EVIDENCE | STEP_METHODS | {"forward", "predict", "evaluate", "generate", "infer", "eval_batch", "test"}
_QUIET_METHODS = frozenset(
    {"info", "debug", "warning", "format", "join", "write", "close", "set_description", "set_postfix", "flush"}
)
_KEEPS = frozenset({"append", "extend", "put", "add", "insert", "appendleft"})
_FIRST_BATCHES = 16


class BatchUse(Enum):
    """What happens to the batches at one place that uses a loader."""

    TRAINS = 1
    EVALUATES = 2
    """A model is run on its batches, or something unknown is done with them."""
    UNKNOWN = 3
    PREDICTS = 4
    """The program predicts, exports, calibrates or measures, and does not train."""
    ONCE = 5
    """One batch, or the first few, are drawn as a trial."""
    LOOKS = 6
    """Batches are printed or plotted, and no model is run."""


def says_predict(*names: str) -> bool:
    """Whether names say that something predicts, and no name says that it trains."""
    said = any(predicts(name) or measures(name) for name in names)
    return said and not any(map(trains, names))


def use_of(at: Place, loop: ast.For | ast.AsyncFor) -> BatchUse:
    """What a loop over a loader does with its batches."""
    inside = at.scope.statements_in(loop)
    calls = [call for statement in inside for call in statement.calls]
    if any(TrainingCalls.of(at.file.project).call_trains(at, call) for call in calls):
        return BatchUse.TRAINS
    if any(isinstance(item, (ast.Yield, ast.YieldFrom)) for item in walk(loop)):
        return BatchUse.UNKNOWN
    if says_predict(at.scope.name) or any(_INFERS.search(dotted(call.func) or "") for call in calls):
        return BatchUse.PREDICTS
    if not runs_on_around(at.scope, loop) and any(map(_breaks_early, loop.body)):
        return BatchUse.ONCE
    looked_at = _looked_at(at, loop, inside)
    if looked_at is not None:
        return looked_at
    return BatchUse.PREDICTS if never_trains(at.file) else BatchUse.EVALUATES


def _looked_at(at: Place, loop: ast.For | ast.AsyncFor, inside: list[Statement]) -> BatchUse | None:
    """``ONCE`` or ``LOOKS`` if the batches of a loop stay in it and no model is run on more than a few of them."""
    if not gives_nothing(at) or any(map(_keeps, inside)):
        return None
    if ends_at_once(loop) or any(map(_stops_early, loop.body)):
        return BatchUse.ONCE
    own = {name for statement in inside for name in bound_by(statement.node)} | plain_names(loop.target)
    calls = (call for statement in inside for call in statement.calls)
    return None if any(_may_run_model(at, call, own) for call in calls) else BatchUse.LOOKS


def gives_nothing(at: Place) -> bool:
    """Whether the batches drawn in a scope stay there: it returns and yields nothing, and is no training step."""
    if at.scope is at.file.scopes.module:
        return True
    if _hands_out(at.scope):
        return False
    return not TrainingCalls.of(at.file.project).trains(at)


@once
def _hands_out(scope: Scope) -> bool:
    """Whether a function returns or yields a value."""
    nodes = (statement.node for statement in scope.statements)
    returned = (node.value for node in nodes if isinstance(node, ast.Return) and node.value is not None)
    return any(not is_none(value) for value in returned) or any(
        isinstance(item, (ast.Yield, ast.YieldFrom)) for item in walk(scope.node)
    )


def never_trains(file: FileIndex) -> bool:
    """Whether a file is a separate program without any name that means training."""
    name = file.parts[-1]
    if "__main__" not in file.source.text or any(map(speaks_of_training, (name, *file.loads, *file.names.targets))):
        return False
    return not any(Imports.of(file.project).importers(file))


def runs_on(statement: Statement) -> bool:
    """Whether a loop around a statement has more than a few iterations (``for _ in range(4)`` has few)."""
    links = statement.around
    return any(link.branch == "body" and isinstance(link.node, LOOPS) and not _is_short(link.node) for link in links)


def _is_short(loop: ast.stmt) -> bool:
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call) or dotted(loop.iter.func) != "range":
        return False
    last = loop.iter.args[-1] if loop.iter.args else None
    return isinstance(last, ast.Constant) and isinstance(last.value, int) and last.value <= _FIRST_BATCHES


def runs_on_around(scope: Scope, loop: ast.stmt) -> bool:
    """Whether a loop is inside another one with more than a few iterations."""
    return any(runs_on(statement) for statement in scope.statements if statement.node is loop)


def _breaks_early(node: ast.stmt) -> bool:
    """Whether a statement is ``break``, or like ``if step >= 2: break``."""
    if isinstance(node, ast.If):
        return any(isinstance(item, ast.Break) for item in node.body) and _stops_early(node)
    return isinstance(node, ast.Break)


def _stops_early(node: ast.stmt) -> bool:
    """Whether a statement is like ``if step >= 2: break``."""
    if not isinstance(node, ast.If) or not ends_at_once(node) or not isinstance(node.test, ast.Compare):
        return False
    last = node.test.comparators[-1]
    return (
        isinstance(node.test.left, (ast.Name, ast.BinOp))
        and isinstance(last, ast.Constant)
        and type(last.value) is int
        and last.value <= _FIRST_BATCHES
        and isinstance(node.test.ops[0], (ast.Eq, ast.Gt, ast.GtE))
    )


def _keeps(statement: Statement) -> bool:
    """Whether a statement stores something, which may be batches for other code."""
    if any(isinstance(call.func, ast.Attribute) and call.func.attr in _KEEPS for call in statement.calls):
        return True
    if isinstance(statement.node, (ast.Assign, ast.AnnAssign)):
        return any(isinstance(item, (ast.Attribute, ast.Subscript)) for item in targets_of(statement.node))
    return False


def _may_run_model(at: Place, call: ast.Call, own: set[str]) -> bool:
    """Whether a call may run a model or train one; an unknown call may."""
    last, name = terminal(call), dotted(call.func)
    if not last or last in _RUNS_MODELS:
        return True
    if name is None:
        return False  # a method of a value that was just computed here
    found = CallGraph.of(at.file.project).called(at, call.func)
    if found is not None:
        return found[1].name in ("forward", "__call__") or _runs_model(found)
    first, qualified = name.partition(".")[0], at.file.names.resolve(name)
    if at.file.names.is_bound(first):
        return ".nn." in qualified or Modules.of(at.file.project).find(qualified, at.file) is not None
    if isinstance(call.func, ast.Name):
        return not hasattr(builtins, name)
    return first not in own and last not in _QUIET_METHODS


@query(cycle=False)
def _runs_model(at: Place) -> bool:
    own = bindings_of(at.scope).keys() - {"self"}
    own |= {
        name
        for statement in at.scope.statements
        if isinstance(statement.node, (ast.With, ast.AsyncWith, *LOOPS))
        for target, _ in targets_and_values(statement.node)
        for name in plain_names(target)
    }
    own -= set(at.scope.parameters)
    return any(_may_run_model(at, call, own) for call in at.scope.calls)


# Whether a place runs repeatedly during a training: an evaluation after each epoch, or every n steps.

_STEPS = frozenset({"backward", "minimize"})


@query(cycle=False)
def runs_while_training(at: Place, statement: Statement) -> bool:
    """Whether a loop that trains runs a statement, directly or through the functions around it.

    Example: ``evaluate(model, dev_loader)`` in a loop over epochs that also calls ``train_epoch(...)``.
    """
    if any(
        isinstance(link.node, LOOPS) and link.branch == "body" and _trains_in(at, link.node)
        for link in statement.around
    ):
        return True
    if at.scope is at.file.scopes.module:
        return False
    return any(
        site.scope is not at.scope and runs_while_training(site.function, site.statement)
        for site in CallGraph.of(at.file.project).callers(at)
    )


def _trains_in(at: Place, loop: ast.stmt) -> bool:
    """Whether a training step, or a function named like one, runs in the body of a loop."""
    return any(_trains(at, call) for statement in at.scope.statements_in(loop) for call in statement.calls)


def _trains(at: Place, call: ast.Call) -> bool:
    last = terminal(call) or ""
    return trains(last) or last in _STEPS or TrainingCalls.of(at.file.project).call_trains(at, call)


# Finds loops that optimize an input: attacks on a picture, style transfer. They stop after some hundred steps.

_GRADIENTS = frozenset({"grad", "gradient"})
_GIVEN = ("parameters", "parameter_list")
_COUNTING = ("range", "trange")


@query
def optimizes_an_input(at: Place, loop: Loop) -> bool:
    """Whether a loop changes single tensors by their gradients, some number of times, and no model.

    Examples: ``paddle.optimizer.Adam(parameters=[picture])``, and ``picture = picture - 0.1 * picture.grad.sign()``
    without an optimizer. A loop over data trains, even if it is weights that it changes in this way.
    """
    if not isinstance(loop, ast.While) and not any(
        isinstance(item, ast.Call) and terminal(item) in _COUNTING for item in walk(loop.iter)
    ):
        return False
    inside = at.scope.statements_in(loop)
    steps = [(statement, call) for statement in inside for call in statement.calls if takes_optimizer_step(call)]
    if steps:
        return all(_steps_tensors(call, at.before(statement)) for statement, call in steps)
    if not any(terminal(call) in ("backward", "grad") for statement in inside for call in statement.calls):
        return False
    nodes = (statement.node for statement in inside if isinstance(statement.node, (ast.Assign, ast.AugAssign)))
    changed = {name for node in nodes for name in bound_by(node)}
    return any(_reads_gradient(item, changed) for statement in inside for item in statement.nodes)


def _steps_tensors(call: ast.Call, at: Place) -> bool:
    """Whether an optimizer that takes a step was created for some tensors by their names."""
    if not isinstance(call.func, ast.Attribute):
        return False
    found = [*sources(call.func.value, at)]
    return bool(found) and all(source.is_known and _is_for_tensors(source.node) for source in found)


def _is_for_tensors(made: ast.expr) -> bool:
    given = (
        next(filter(None, (argument_of(made, name, None) for name in _GIVEN)), None)
        if isinstance(made, ast.Call)
        else None
    )
    return isinstance(given, (ast.List, ast.Tuple)) and all(isinstance(item, ast.Name) for item in given.elts)


def _reads_gradient(item: ast.AST, changed: set[str]) -> bool:
    """Whether a node is the gradient of a tensor that the loop itself changes: ``picture.grad``."""
    if not isinstance(item, ast.Attribute) or item.attr not in _GRADIENTS:
        return False
    return isinstance(item.value, ast.Name) and item.value.id in changed


# Finds files with layers that only predict: predicting programs use them, and nothing near these trains.

_TRAINING = ("optimizer", "Optimizer", "minimize", "fit", "Trainer", "train_batch", "train_step", "training_step")
# (It begins with a character, which is fast to search for.)
_TRAINING_CALLS = re.compile(r"\.(?:backward\(|train\(\)(?<=\w\.train\(\))(?<!\bself\.train\(\)))")

_Directory = tuple[str, ...]


@query
def only_predicts(file: FileIndex) -> bool:
    """Whether the layers of a file belong to code that predicts.

    Some file that imports it, directly or indirectly, predicts; in a project without any training, which may be a
    library of layers, that file has to be a program. None of these trains, or imports something that trains, nor does
    anything in the directory that contains all of them.
    """
    project, imports = file.project, Imports.of(file.project)
    training = _where_it_trains(project)
    place: _Directory = file.parts[:-1]
    if place in training or imports.by_settings(file):
        return False
    found, waiting, predicts = {file}, [file], False
    while waiting:
        one = waiting.pop()
        place = _common(place, one.parts[:-1])
        if place in training or any(_predicting_trains(other) for other in imports.direct(one) if not other.is_package):
            return False
        predicts = predicts or (one is not file and _predicts(one) and (bool(training) or one.has("__main__")))
        new = [other for other in imports.loaders(one) if other not in found and not other.is_quiet]
        found.update(new)
        waiting += new
    return predicts


@query
def _where_it_trains(project: Project) -> frozenset[_Directory]:
    """The directories with a file that trains in them, or below them; empty for a library of layers."""
    return frozenset(
        file.parts[:length]
        for file in project.files.values()
        if not (file.is_quiet or file.is_foreign) and _predicting_trains(file)
        for length in range(len(file.parts))
    )


def _predicting_trains(file: FileIndex) -> bool:
    """Whether a file may train, judging by its text."""
    return file.has_words(*_TRAINING) or (file.has_words("backward", "train") and file.matches(_TRAINING_CALLS))


def _predicts(file: FileIndex) -> bool:
    """Whether a file predicts: it says so, turns gradients off, or puts a model into evaluation."""
    return any(map(is_offline, file.parts)) or file.has_words("no_grad") or file.has(".eval()")


def _common(first: _Directory, second: _Directory) -> _Directory:
    """The innermost directory that contains two others."""
    length = 0
    while length < min(len(first), len(second)) and first[length] == second[length]:
        length += 1
    return first[:length]
