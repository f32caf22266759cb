"""Finds files with layers that only predict: predicting programs use them, and nothing near these trains."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from perflint.index.imports import Imports
from perflint.query import query
from perflint.syntax.vocabulary import is_offline

if TYPE_CHECKING:
    from perflint.index.project import FileIndex, Project

_TRAINING = ("optimizer", "Optimizer", "minimize", "fit", "Trainer", "train_batch", "train_step", "training_step")
_TRAINING_CALLS = re.compile(r"\.backward\(|\w(?<!\bself)\.train\(\)")

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
        if place in training or any(_trains(other) for other in imports.direct(one) if not other.is_package):
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
        if not (file.is_quiet or file.is_foreign) and _trains(file)
        for length in range(len(file.parts))
    )


def _trains(file: FileIndex) -> bool:
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
