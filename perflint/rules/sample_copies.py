"""PPF106 for training loaders without workers: what copies each sample to the device by itself."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from perflint.catalogue import shipped
from perflint.facts.loaders import LOADER, Worth, reading
from perflint.facts.sample_calls import calls_of_dataset, calls_of_function
from perflint.flow.sources import ValueSource, asked
from perflint.index.project import FileIndex, Place, Project
from perflint.query import query
from perflint.syntax.parameters import argument_of
from perflint.syntax.scopes import COMPREHENSIONS, LOOPS
from perflint.syntax.tree import walk
from perflint.trace.loading import workers_of

RULE = shipped()["PPF106"]
_TO_TENSOR = re.compile(r"paddle\.to_tensor$|paddle\.vision\.transforms\.(?:functional\.)?to_tensor$")


@dataclass(frozen=True)
class SampleCopy:
    """A call that creates a tensor of each sample in the process that trains.

    ``reader``: where the training draws from the loader, by path and row, ``""`` and 0 if unknown. ``collated``: the
    collating function does it, for one sample after the other.
    """

    call: ast.Call
    reader: tuple[str, int]
    collated: bool


@query
def sample_copies(project: Project) -> Mapping[str, Mapping[ast.Call, SampleCopy]]:
    """These calls, by path: the first one for the samples of each loader, and the first one that collates them."""
    found: dict[str, dict[ast.Call, SampleCopy]] = {}
    for file in project.mentions.of("DataLoader"):
        if file.is_quiet or file.is_foreign or file.is_offline:
            continue
        for scope, statement, call in file.calls_named("DataLoader"):
            at = Place(file, scope)
            if file.names.qualified(call.func) != LOADER or 0 not in workers_of(call, at.before(statement)):
                continue
            made = list(_made(call, at.before(statement)))
            read = reading(at, statement, call) if made else None
            if read is None or read.worth is not Worth.TRAINS or read.on_cpu or read.for_toy:
                continue
            for source, collated in made:
                assert isinstance(source.node, ast.Call)
                here = SampleCopy(source.node, (read.path, read.line), collated)
                found.setdefault(source.place.file.path, {}).setdefault(source.node, here)
    return found


def _made(call: ast.Call, at: Place) -> Iterator[tuple[ValueSource, bool]]:
    """The first call that makes a tensor of a sample in the dataset of a loader, and the first one when collating."""
    dataset, collate = argument_of(call, "dataset", 0), argument_of(call, "collate_fn", 8)
    inside = calls_of_dataset(asked(dataset, at)) if dataset is not None else ()
    first = next((each for each in inside if _copies(each)), None)
    if first is not None:
        yield first, False
    calls = calls_of_function(asked(collate, at)) if collate is not None else ()
    first = next((each for each in calls if _copies(each) and _is_for_each(each.node, each.place.file)), None)
    if first is not None:
        yield first, True


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
