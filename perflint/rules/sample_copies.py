"""PPF106 for training loaders: what makes a tensor of each sample, in the process that trains or in workers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from perflint.catalogue import shipped
from perflint.facts.dataset_samples import makes_tensor, wrapped
from perflint.facts.loaders import LoaderReading, loader_calls, training_on
from perflint.facts.sample_calls import calls_of_dataset, calls_of_function
from perflint.flow.sources import ValueSource, asked, is_left_out
from perflint.index.hierarchy import Hierarchy
from perflint.index.project import FileIndex, Place, Project
from perflint.query import query
from perflint.syntax.bindings import bound_by, targets_of
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_of
from perflint.syntax.scopes import COMPREHENSIONS, LOOPS, Class
from perflint.syntax.tree import walk
from perflint.trace.loading import workers_of

RULE = shipped()["PPF106"]
_TO_TENSOR = re.compile(r"paddle\.to_tensor$|paddle\.vision\.transforms\.(?:functional\.)?to_tensor$")
_FILLED = re.compile(r"paddle\.(?:zeros|ones|empty|full)$")


_MOST_OTHERS = 8
"""How many other calls of the same loader a finding names."""


@dataclass(frozen=True)
class SampleCopy:
    """A call that creates a tensor of each sample, an item of a tensor that is taken for each, or the part of a tensor
    that the collating function writes for each.

    ``reader``: where the training draws from the loader, by path and row, ``""`` and 0 if unknown. ``collated``: the
    collating function does it, for one sample after the other. ``in_workers``: worker processes do it, on the CPU.
    ``others``: what else does so for the same loader.
    """

    node: ast.expr
    reader: tuple[str, int]
    collated: bool
    in_workers: bool
    others: tuple[tuple[str, int], ...]


@query
def sample_copies(project: Project) -> Mapping[str, Mapping[ast.expr, SampleCopy]]:
    """These places, by path: the first one for the samples of each loader, and the first one that collates them.

    For a loader with workers it is the first of all.
    """
    found: dict[str, dict[ast.expr, SampleCopy]] = {}
    for call, at in loader_calls(project):
        made = [*_made(call, at)]
        read = _training(call, at) if made else None
        if read is None:
            continue
        in_workers = 0 not in workers_of(call, at)
        parts = [made] if in_workers else [[each for each in made if each[1] is kind] for kind in (False, True)]
        for (first, collated), *rest in filter(None, parts):
            others = dict.fromkeys((each.place.file.path, each.place.file.row(each.node)) for each, _ in rest)
            others.pop((first.place.file.path, first.place.file.row(first.node)), None)
            where = (read.path, read.line)
            here = SampleCopy(first.node, where, collated, in_workers, (*others,)[:_MOST_OTHERS])
            known = found.setdefault(first.place.file.path, {})
            if first.node not in known or known[first.node].in_workers:
                known[first.node] = here
    return found


@query
def read_in_process(project: Project) -> frozenset[Class]:
    """The classes of the datasets that a training reads in its own process."""
    found: set[Class] = set()
    for call, at in loader_calls(project):
        dataset = argument_of(call, "dataset", 0)
        if dataset is not None and 0 in workers_of(call, at) and _training(call, at) is not None:
            for source in asked(dataset, at).sources():
                sets = [each for inner in wrapped(source) for each in inner.sources()] or [source]
                made = [each.object for each in sets]
                lineage = Hierarchy.of(project).lineage
                found.update(owner for one in made if one is not None for _, owner in lineage(one.file, one.owner))
    return frozenset(found)


def _training(call: ast.Call, at: Place) -> LoaderReading | None:
    """What trains on the batches of a loader, on a GPU; None if nothing is known to."""
    read = training_on(call, at)
    return None if read is None or read.on_cpu or read.for_toy else read


def _made(call: ast.Call, at: Place) -> Iterator[tuple[ValueSource, bool]]:
    """What makes a tensor of a sample in the dataset of a loader, and what copies each sample when collating."""
    dataset, collate = argument_of(call, "dataset", 0), argument_of(call, "collate_fn", 8)
    for each in calls_of_dataset(asked(dataset, at)) if dataset is not None else ():
        if _copies(each):
            yield each, False
    yield from ((each, False) for each in _items(asked(dataset, at))) if dataset is not None else ()
    for each in calls_of_function(asked(collate, at)) if collate is not None else ():
        if _copies(each) and _is_for_each(each.node, each.place.file):
            yield each, True
        elif _FILLED.match(each.qualified):
            yield from ((each.part(part), True) for part in _parts_written(each))


def _items(dataset: ValueSource) -> Iterator[ValueSource]:
    """The items of tensors that a dataset takes for a sample: ``self.features[index]``."""
    for source in dataset.sources():
        for inner in wrapped(source):
            yield from _items(inner)
        inside = source.method("__getitem__")
        for statement in inside.place.scope.statements if inside is not None else ():
            if inside is not None and not is_left_out(inside, statement):
                parts = (item for item in statement.nodes if isinstance(item, ast.Subscript))
                kept = (item for item in parts if (dotted(item.value) or "").startswith("self."))
                yield from (here for item in kept if _is_of_tensor(here := inside.at(statement).part(item), item.value))


def _is_of_tensor(source: ValueSource, kept: ast.expr) -> bool:
    held = [*source.part(kept).sources()]
    return bool(held) and all(map(_makes_tensor, held))


def _makes_tensor(source: ValueSource) -> bool:
    return isinstance(source.node, ast.Call) and makes_tensor(source.node, source.qualified)


def _copies(source: ValueSource) -> bool:
    """Whether a call makes a tensor of data of the host."""
    return _TO_TENSOR.match(source.qualified) is not None


def _is_for_each(call: ast.expr, file: FileIndex) -> bool:
    """Whether a collating function makes a call for each sample: in a loop, or in a comprehension."""
    for _, statement, each in file.calls:
        if each is call:
            parts = (part for node in statement.nodes if isinstance(node, COMPREHENSIONS) for part in walk(node))
            is_in_loop = any(isinstance(link.node, LOOPS) and link.branch == "body" for link in statement.around)
            return is_in_loop or any(part is call for part in parts)
    return False


def _parts_written(made: ValueSource) -> Iterator[ast.expr]:
    """The rows of a new tensor that a loop writes: ``out[i, :n] = sample``, ``out[i] += sample``."""
    shape = argument_of(made.node, "shape", 0) if isinstance(made.node, ast.Call) else None
    if made.place.statement is None or not isinstance(shape, ast.List | ast.Tuple) or len(shape.elts) < 2:
        return
    names = bound_by(made.place.statement.node)
    for statement in made.place.scope.statements:
        for target in targets_of(statement.node) if statement.loop is not None else ():
            if isinstance(target, ast.Subscript) and dotted(target.value) in names:
                yield target
