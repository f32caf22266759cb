"""Finds the attention that training programs write out: one place for each entry point, with the other places."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from perflint.facts.attention import WrittenAttention, written_attention
from perflint.facts.entry_points import EntryPoint, entry_points
from perflint.facts.entry_programs import speaks_of
from perflint.facts.entry_work import classes_of_model, model_files
from perflint.index.hierarchy import Hierarchy
from perflint.index.in_use import InUse
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Project
from perflint.query import query
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Class, Scope
from perflint.syntax.tree import walk

_FUSED = ("scaled_dot_product_attention", "flash_attention", "memory_efficient_attention", "flash_attn_unpadded")
"""What shows that this was considered."""


class TrainedAttention(NamedTuple):
    """Written-out attention, with the entry point that trains it.

    ``others``: the same elsewhere in the program. ``is_sure``: it is known to be part of the trained model.
    """

    entry: EntryPoint
    file: FileIndex
    found: WrittenAttention
    others: tuple[tuple[FileIndex, WrittenAttention], ...]
    is_sure: bool


@query
def trained_attention(project: Project) -> Sequence[TrainedAttention]:
    """The attention of the training programs of a project: the first place of each one."""
    reported: dict[object, TrainedAttention] = {}
    for entry in entry_points(project):
        places = list(_places(entry))
        if places and not speaks_of(entry, *_FUSED):
            file, found = places[0]
            is_sure = bool(classes_of_model(entry))
            known = reported.get(found.softmax)
            if known is None or (is_sure and not known.is_sure):
                reported[found.softmax] = TrainedAttention(entry, file, found, tuple(places[1:]), is_sure)
    return list(reported.values())


@query
def trained_attention_in(file: FileIndex) -> Sequence[TrainedAttention]:
    """The attention of training programs in one file."""
    if not written_attention(file):
        return ()
    return [each for each in trained_attention(file.project) if each.file is file]


def _places(entry: EntryPoint) -> Iterator[tuple[FileIndex, WrittenAttention]]:
    """The attention in the layers that a program trains, or may train if its model is not known, by file."""
    in_use, models = InUse.of(entry.file.project), classes_of_model(entry)
    parts = parts_of_models(entry.file, models)
    for file in sorted(model_files(entry), key=lambda each: (each is not entry.file, each.path)):
        for found in written_attention(file) if not in_use.is_left_over(file) else ():
            is_part = found.scope.owner in parts if models else in_use.is_used_at(file, found.scope)
            if is_part:
                yield file, found


@query
def parts_of_models(file: FileIndex, models: frozenset[tuple[FileIndex, Class]]) -> frozenset[Class]:
    """The classes that some classes consist of: those that their methods create, directly or not; with their bases."""
    project, found, waiting = file.project, set[object](), list[tuple[FileIndex, Class | Scope]](models)
    while waiting:
        home, one = waiting.pop()
        if one in found:
            continue
        found.add(one)
        waiting += _named_by(home, one)
        if isinstance(one, Class):
            waiting += Hierarchy.of(project).lineage(home, one)
    return frozenset(one for one in found if isinstance(one, Class))


def _named_by(file: FileIndex, one: Class | Scope) -> Iterator[tuple[FileIndex, Class | Scope]]:
    """The classes and functions of the project that a class or a function names."""
    for scope in one.methods.values() if isinstance(one, Class) else (one,):
        for name in {dotted(item) for item in walk(scope.node) if isinstance(item, (ast.Name, ast.Attribute))}:
            found = Modules.of(file.project).find(file.names.resolve(name), file) if name else None
            if found is not None:
                yield found
