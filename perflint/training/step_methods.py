"""Where steps begin without a loop: methods that do one step by their name, optimizers' steps, and forward passes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from perflint.index.hierarchy import Hierarchy
from perflint.index.kinds import LAYER_TAG
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Place, Project
from perflint.query import query
from perflint.syntax.scopes import Class, Scope
from perflint.syntax.vocabulary import picks
from perflint.training import evidence
from perflint.training.clues import Clues, is_worth_a_look
from perflint.training.training_calls import TrainingCalls

_STEP_NAMES = sorted(evidence.STEP_METHODS | evidence.STEP_CALLBACKS | evidence.LIBRARY_STEPS)
_OPTIMIZER_STEP = re.compile(r"\bdef[\s\\]+step\b")
_STEP_METHOD = re.compile(rf"\bdef[\s\\]+(?:{'|'.join(_STEP_NAMES)})\b")


def step_functions(project: Project) -> Iterator[Place]:
    """The methods that do one training step by their name: ``training_step``, ``learn``; a loop may lead to them."""
    for file in project.mentions.of(*_STEP_NAMES):
        if not file.is_quiet and file.matches(_STEP_METHOD) and not file.is_foreign:
            yield from (Place(file, scope) for scope in _step_methods(file))


@query
def _step_methods(file: FileIndex) -> list[Scope]:
    """Methods that are a training step by name and contents, or that a library's trainer calls at each step."""
    project, found = file.project, list[Scope]()
    for owner in file.scopes.classes.values():
        named = [owner.methods[name] for name in sorted(evidence.STEP_METHODS & owner.methods.keys())]
        found += [scope for scope in named if TrainingCalls.of(project).trains(Place(file, scope))]
        bases = Hierarchy.of(project).base_names(file, owner)
        if any(base.startswith("paddle.callbacks.") for base in bases):
            found += [owner.methods[name] for name in sorted(evidence.STEP_CALLBACKS & owner.methods.keys())]
        if any(base.endswith("Trainer") for base in Hierarchy.of(project).unseen(file, owner)):
            others = evidence.LIBRARY_STEPS & owner.methods.keys()
            found += [owner.methods[name] for name in sorted(others) if owner.methods[name] not in found]
    return found


def optimizer_steps(project: Project) -> Iterator[Place]:
    """The ``step`` methods of the project's own optimizers, which any training with them calls at each step."""
    for file in project.mentions.of("grad"):
        if not (file.is_quiet or file.is_foreign) and file.matches(_OPTIMIZER_STEP):
            yield from (Place(file, scope) for scope in _steps_of_optimizers(file))


def forward_passes(project: Project, clues: Clues) -> Iterator[Place]:
    """The forward passes of the project's own layers that are worth checking: each step that trains them runs them."""
    for file in project.mentions.of("forward") if clues.names else ():
        if not (file.is_quiet or file.is_offline or file.is_foreign):
            yield from (Place(file, scope) for scope in _worth_a_look(file, clues))


@query
def _steps_of_optimizers(file: FileIndex) -> list[Scope]:
    owners = file.scopes.classes.values()
    steps = (owner.methods["step"] for owner in owners if "step" in owner.methods)
    return [scope for scope in steps if evidence.updates_weights(scope)]


@query
def _worth_a_look(file: FileIndex, clues: Clues) -> list[Scope]:
    owners = [owner for owner in file.scopes.classes.values() if "forward" in owner.methods]
    return [
        owner.methods["forward"]
        for owner in owners
        if _may_train(owner, clues)
        and is_worth_a_look(Place(file, owner.methods["forward"]), clues)
        and Modules.of(file.project).kind_of_instance(file, owner).tag == LAYER_TAG
    ]


def _may_train(owner: Class, clues: Clues) -> bool:
    """Whether a forward pass may be part of a step; one without gradients only if it selects inputs of the loss."""
    return not evidence.without_gradients(owner.methods["forward"]) or (picks(owner.name) and not clues.sure)
