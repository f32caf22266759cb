"""Checkpoints that a training writes: how often, where to, and what uses them afterwards."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from perflint.facts.periodic import Periodic, periodic
from perflint.flow.known_values import Known
from perflint.flow.values import Values
from perflint.index.project import FileIndex, Place
from perflint.paddle.inside import SAVES
from perflint.query import query
from perflint.syntax.names import dotted, names_in
from perflint.syntax.parameters import arguments_of
from perflint.syntax.scopes import LOOPS, Loop, Scope, Statement, terminal
from perflint.syntax.vocabulary import evaluates, exports, is_no_training, means_model
from perflint.training.every import HowOften, Interval
from perflint.training.steps import Step

# Finds calls that may load, move or upload a checkpoint, which would fail if the save is not finished.

_LOADS = frozenset({"load", "load_dygraph", "load_state_dict", "load_inference_model", "create_predictor"})
_FILE_CALLS = re.compile(
    r"os\.(rename|replace|remove|unlink|link|symlink|system|popen|spawn\w+|exec\w+)"
    r"|shutil\.(copy\w*|move|rmtree|make_archive)|subprocess\.\w+"
)
_TELLING = re.compile(r"(?:load|read|restore)_?(?:model|checkpoint|ckpt|weights?|params|pretrained?|state)\w*", re.I)
_UPLOADS = re.compile(
    r"from_pretrained|set_state_dict_from|upload\w*|put_object|push_to_hub|log_artifact|save_artifact"
)


def uses_a_checkpoint(file: FileIndex, call: ast.Call) -> bool:
    """Whether a call may read, move or upload a checkpoint: ``paddle.load``, ``self.model.load``, ``shutil.copy``."""
    written, last = dotted(call.func) or "", terminal(call) or ""
    if _TELLING.fullmatch(last) or _UPLOADS.fullmatch(last):
        return True
    name = file.names.resolve(written)
    if _FILE_CALLS.fullmatch(name) is not None:
        return True
    if not file.names.is_bound(written.partition(".")[0]):
        return last == "load" and isinstance(call.func, ast.Attribute)  # a method of some object
    return last in _LOADS and name.startswith(("paddle.", "torch."))


# Finds what a save writes to: a file on the disk, or memory of its own process.

PATH_POSITION = 1
"""The position of the path among the arguments of all calls that save."""
_KEYWORDS = frozenset({"path", "model_path"})


def targets_of(call: ast.Call) -> list[ast.expr]:
    """The arguments of a save that say where to: ``path`` in ``paddle.save(model.state_dict(), path)``."""
    named = (item.value for item in call.keywords if item.arg in _KEYWORDS)
    return [*call.args[PATH_POSITION : PATH_POSITION + 1], *named]


def writes_memory(call: ast.Call, at: Place) -> bool:
    """Whether a save writes to memory: ``paddle.save(weights, buffer)`` after ``buffer = io.BytesIO()``."""
    return any(_is_memory(target, at) for target in targets_of(call))


def _is_memory(target: ast.expr, at: Place) -> bool:
    name = dotted(target)
    if name is None:
        return _makes_buffer(target, at.file)
    made = [Values.of(at.file.project).definitions(at).get(name)]
    opened = (item for each in at.scope.statements if isinstance(each.node, ast.With) for item in each.node.items)
    made += [item.context_expr for item in opened if item.optional_vars and dotted(item.optional_vars) == name]
    return any(_makes_buffer(each, at.file) for each in made)


def _makes_buffer(made: ast.expr | None, file: FileIndex) -> bool:
    return isinstance(made, ast.Call) and file.names.resolve(dotted(made.func) or "") == "io.BytesIO"


# Finds checkpoints that training writes, and waits for, every n steps.
#
# ``if step % args.save_steps == 0: paddle.save(...)`` in a step loop counts; so does a save in a helper that the loop
# calls under such a test, and one at the end of an epoch that is known to have few steps.  A save that happens once,
# at the end, or only when the model is better than before, does not count.

_PARTS_OF_PROGRAMS = frozenset(
    f"paddle.{module}.{name}"
    for module in ("fluid.io", "static.io", "static")
    for name in ("save_persistables", "save_params", "save_vars")
)
_PRETRAINED = "save_pretrained"

WORDS = (*sorted({name.rpartition(".")[2] for name in SAVES | _PARTS_OF_PROGRAMS}), "save_dygraph", _PRETRAINED)
"""The last names of all calls that save."""


class PeriodicSave(NamedTuple):
    """A save that training waits for every n steps.

    ``more``: how many other saves are next to it. ``with_optimizer``: they also save the state of an optimizer.
    ``is_beside_evaluation``: the model is evaluated equally often, which takes longer than any save.
    """

    reached: Periodic
    statement: Statement
    more: int
    with_optimizer: bool
    is_beside_evaluation: bool

    @property
    def loop(self) -> Loop | None:
        """The step loop, or the loop over epochs, if it is in the same function."""
        step = self.reached.step
        return step.loop if not step.calls and isinstance(step.loop, LOOPS) else None


@query
def periodic_saves(file: FileIndex) -> Mapping[ast.Call, PeriodicSave]:
    """The saves of a file that training waits for every n steps; the first one of each block."""
    if file.is_quiet or file.is_foreign or file.is_offline or not file.has_words(*WORDS):
        return {}
    found: dict[ast.Call, PeriodicSave] = {}
    for scope in file.scopes_where(_saves):
        if not is_no_training(scope.name) and not exports(scope.name):
            found.update(_saves_of(Place(file, scope)))
    return found


def _saves_of(at: Place) -> Iterator[tuple[ast.Call, PeriodicSave]]:
    """The saves of a function: one for each group of adjacent ones."""
    together: dict[tuple[Step, Interval, bool], list[tuple[Statement, ast.Call]]] = {}
    known: dict[tuple[int, str], Periodic | None] = {}
    ways: dict[tuple[Step, Interval, bool], Periodic] = {}
    for statement, call in _saves_in(at):
        place = statement.place
        block = (id(place.node), place.branch) if place else (0, "")
        if block not in known:
            known[block] = periodic(at, statement)
        reached = known[block]
        if reached is not None:
            key = reached.step, reached.interval, _evaluates(reached)
            together.setdefault(key, []).append((statement, call))
            ways.setdefault(key, reached)
    for key, saves in together.items():
        statement, first = saves[0]
        optimizer = any(_saves_optimizer(call) for _, call in saves)
        yield first, PeriodicSave(ways[key], statement, len(saves) - 1, optimizer, key[2])


def _saves(at: Place) -> bool:
    return next(_saves_in(at), None) is not None


def _saves_in(at: Place) -> Iterator[tuple[Statement, ast.Call]]:
    """The calls of a function that write a checkpoint."""
    for statement in at.scope.statements:
        for call in statement.calls:
            if _is_save(at.file, call) and not writes_memory(call, at):
                yield statement, call


def _is_save(file: FileIndex, call: ast.Call) -> bool:
    last = terminal(call)
    if last not in WORDS:
        return False
    if last == _PRETRAINED:
        owner = dotted(call.func.value) if isinstance(call.func, ast.Attribute) else None
        return owner is not None and means_model(owner.rpartition(".")[2].removesuffix("_to_save"))
    return file.names.resolve(dotted(call.func) or "") in SAVES | _PARTS_OF_PROGRAMS


def _saves_optimizer(call: ast.Call) -> bool:
    return any("optim" in name.lower() for argument in arguments_of(call) for name in names_in(argument))


def _evaluates(save: Periodic) -> bool:
    """Whether a step loop evaluates the model at least as often as it runs something else."""
    at, own = save.place, set(map(ast.unparse, save.runs.numbers))
    places = HowOften(Known(at), at.scope)
    asked = (places.every(each.place, save.loop) for each in _evaluations(at.file, at.scope, save.loop))
    return any(not own.isdisjoint(map(ast.unparse, each.numbers)) for each in asked)


@query
def _evaluations(_: FileIndex, scope: Scope, loop: Loop) -> Sequence[Statement]:
    """The statements of a loop that evaluate the model."""
    statements = scope.statements_in(loop)
    return [each for each in statements if any(evaluates(terminal(call) or "") for call in each.calls)]
