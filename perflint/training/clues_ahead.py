"""Whether a function of a forward pass leads to a call that a rule may speak of, itself or through what it calls."""

from __future__ import annotations

from perflint.dataflow.dispatch import Dispatch
from perflint.index.kinds import LAYER_TAG
from perflint.index.modules import Modules
from perflint.index.project import FileIndex
from perflint.query import query
from perflint.syntax.scopes import Scope
from perflint.syntax.vocabulary import is_no_training, is_trial
from perflint.training.clues import Clues


@query
def clues_ahead(file: FileIndex, scope: Scope, clues: Clues, calls: int) -> bool:
    """Whether a function holds a clue, or reaches one through at most so many ``calls``.

    It asks no kinds of values, so it is cheap: the look at the function, which is not, says which calls really run.
    """
    if clues.are_in(scope.statements):
        return True
    return calls > 0 and any(clues_ahead(*target, clues, calls - 1) for target in _called(file, scope))


@query
def _called(file: FileIndex, scope: Scope) -> tuple[tuple[FileIndex, Scope], ...]:
    """The functions of the project that a function may call."""
    dispatch = Dispatch.of(file.project)
    found = (target for call in scope.calls for target in dispatch.targets_by_names(file, scope, call))
    followed = ((target.file, target.scope) for target in found if is_followed(target.file, target.scope))
    return tuple(dict.fromkeys(place for place in followed if place[1] is not scope))


def is_followed(file: FileIndex, target: Scope) -> bool:
    """Whether the calls of a function are followed: not into evaluation, nor into a layer, whose steps are its own."""
    if file.is_quiet or file.is_foreign or target.name == "forward" or is_no_training(target.name):
        return False
    if is_trial(target.name) or "epoch" in target.name:
        return False
    if target.owner is not None and target.name in ("__call__", "__init__"):
        return Modules.of(file.project).kind_of_instance(file, target.owner).tag != LAYER_TAG
    return True
