"""Knows which reads fetch the classes that a model predicts, for a metric that is computed on the host.

pred, truth = logits.argmax(axis=1).numpy(), labels.numpy()
"""

from __future__ import annotations

import ast

from perflint.index.project import FileIndex
from perflint.query import query
from perflint.syntax.scopes import Scope, terminal
from perflint.syntax.tree import walk

_CHOOSING = frozenset({"argmax", "argmin", "argsort", "topk"})
"""Functions and methods that turn scores into the indices of classes."""
_ARRAY_READS = frozenset({"numpy", "tolist", "array", "asarray"})
_REDUCING = frozenset({"sum", "mean", "all", "any", "max", "min"})


def reads_predictions(read: ast.expr | None, file: FileIndex, scope: Scope) -> bool:
    """Whether a read is of predicted classes, or of what a helper compares them with, such as the labels.

    They are not summed or averaged on the device as a loss is.

    Args:
        read: the expression that reads a tensor; None if it is not known.
        file: the file that it is in.
        scope: the function that it is in.
    """
    if not isinstance(read, ast.Call) or terminal(read) not in _ARRAY_READS:
        return False
    return _is_of_classes(read) or _decodes(file, scope)


@query
def _decodes(file: FileIndex, scope: Scope) -> bool:
    """Whether a function without a backward pass reads predicted classes."""
    calls = [item for at in scope.statements for item in walk(at.node) if isinstance(item, ast.Call)]
    return not any(terminal(item) == "backward" for item in calls) and any(map(_is_of_classes, calls))


def _is_of_classes(call: ast.Call) -> bool:
    """Whether a call is ``scores.argmax(axis=1).numpy()``, without a sum or a mean of what is chosen."""
    if terminal(call) not in _ARRAY_READS:
        return False
    names = {terminal(item) for item in walk(call) if isinstance(item, ast.Call)}
    return bool(names & _CHOOSING) and not names & _REDUCING
