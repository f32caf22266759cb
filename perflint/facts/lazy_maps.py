"""Which datasets of PaddleNLP convert a sample each time that it is read, because their ``map`` is lazy, and how.

``train_ds.map(convert)`` only notes the function, which ``train_ds[i]`` then calls; ``lazy=False`` calls it for all
samples at once and keeps the results. What the function does says whether that would be the same, and worth it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from perflint.facts.dataset_samples import Work, mapped_in_place, work_after_map
from perflint.facts.sample_calls import Conversion, conversion
from perflint.flow.sources import ValueSource, asked
from perflint.index.hierarchy import Hierarchy
from perflint.index.project import FileIndex, Located, Place
from perflint.syntax.parameters import argument_of

_MADE = re.compile(r"paddlenlp\.datasets\.(?:dataset\.)?(?:load_dataset|MapDataset)$")
_BUILDER = re.compile(r"paddlenlp\.datasets\.(?:dataset\.)?DatasetBuilder$")
_READS_OF_BUILDERS = ("read", "read_datasets")
SELF_GIVING = ("filter", "shard")
"""Methods of such datasets that change them and give them back, as ``map`` does."""
_OTHERS = ("datasets", "tensorflow", "torch", "mindspore", "webdataset")
"""Packages whose datasets also have a ``map``."""


@dataclass(frozen=True, eq=False)
class LazyMap:
    """A call of ``map`` that leaves the work to each read of a sample.

    ``dataset``: what the loader or the trainer gets; ``converts``: the function, at the place of the call.
    """

    call: ast.Call
    place: Place
    converts: ValueSource


def lazy_maps(dataset: ast.expr | None, at: Place) -> Iterator[LazyMap]:
    """The calls of ``map`` behind a dataset, each of which converts a sample again in each epoch.

    They do so by default; with ``lazy=False`` all samples are converted at once, and the results stay in memory.
    """
    for source in asked(dataset, at).sources() if dataset is not None else ():
        named = (step for step in source.steps if isinstance(step.node, ast.Name))
        in_place = ((source, Located(call, step.place)) for step in named if (call := mapped_in_place(step)))
        maps = [*in_place][:1] or [(each, Located(call, source.place)) for each, call in _receivers(source)]
        for receiver, (call, place) in maps:
            converts = argument_of(call, "fn", 0)
            if converts is None or not _is_lazy(call, place.file):
                continue
            function = source.part(converts) if source.node is call else asked(converts, place)
            if _is_map_dataset(receiver) or _can_only_be_one(receiver, function):
                yield LazyMap(call, place, function)


def _receivers(source: ValueSource) -> Iterator[tuple[ValueSource, ast.Call]]:
    """What creates the dataset of a call of its ``map``, each with that call; other methods of it give itself."""
    call = source.node
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        if call.func.attr == "map":
            yield from ((each, call) for each in source.part(call.func.value).sources())
        elif call.func.attr in SELF_GIVING:
            for each in source.part(call.func.value).sources():
                yield from _receivers(each)


def _is_lazy(call: ast.Call, file: FileIndex) -> bool:
    lazy = argument_of(call, "lazy", 1)
    is_said = lazy is None or (isinstance(lazy, ast.Constant) and lazy.value is True)
    return is_said and work_after_map(call, file) is Work.UNKNOWN


def _is_map_dataset(source: ValueSource) -> bool:
    """Whether PaddleNLP creates the dataset, and one whose ``map`` may convert all samples at once."""
    node = source.node
    if isinstance(node, ast.Subscript):  # ``load_dataset(...)[0]``, one of several splits
        return any(map(_is_map_dataset, source.part(node.value).sources()))
    if not isinstance(node, ast.Call):
        return False
    if _MADE.match(source.qualified):
        return _is_for_memory(source, node)
    return isinstance(node.func, ast.Attribute) and node.func.attr in _READS_OF_BUILDERS and _is_read(source, node.func)


def _is_read(source: ValueSource, method: ast.Attribute) -> bool:
    """Whether a method of a class of the project that inherits from PaddleNLP's ``DatasetBuilder`` reads the data."""
    for builder in source.part(method.value).sources():
        made = builder.object
        if made is None or method.attr in made.owner.methods or not isinstance(builder.node, ast.Call):
            continue
        if any(map(_BUILDER.match, Hierarchy.of(made.file.project).unseen(made.file, made.owner))):
            return _is_for_memory(builder, builder.node)
    return False


def _is_for_memory(source: ValueSource, call: ast.Call) -> bool:
    """Whether ``lazy``, the parameter that asks for a stream, is left out, or certainly false."""
    lazy = argument_of(call, "lazy", None)
    nodes = [each.node for each in source.part(lazy).sources()] if lazy is not None else []
    return all(isinstance(node, ast.Constant) and not node.value for node in nodes)


def _can_only_be_one(source: ValueSource, converts: ValueSource) -> bool:
    """Whether a dataset of unknown origin has to be PaddleNLP's, judging by the file and by what the function gives.

    ``dataset.map(convert)`` in a helper that no call reaches: Hugging Face's ``map`` accepts dicts alone.
    """
    file = source.place.file
    if source.is_known and not isinstance(source.node, ast.Name):
        return False
    modules = {target.partition(".")[0] for target in file.names.targets}
    return "paddlenlp" in modules and modules.isdisjoint(_OTHERS) and Conversion.GIVES_A_TUPLE in conversion(converts)
