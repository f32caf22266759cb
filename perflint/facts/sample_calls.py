"""The calls that run for each sample: in a dataset, in a function that converts samples, or in one that collates them.

In ``partial(convert, tokenizer=tokenizer)`` these are the calls of ``convert`` and of all functions of the project that
it calls; what creates its arguments runs once, and is not among them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Flag, auto

from perflint.facts.dataset_samples import Work, mapped_in_place, work_after_map, wrapped
from perflint.flow.sources import Through, ValueSource, asked, function_of, is_left_out
from perflint.index.hierarchy import Hierarchy
from perflint.index.project import FileIndex, Located, Place
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_of
from perflint.syntax.scopes import Scope, terminal
from perflint.syntax.tree import walk

COMPOSE = re.compile(r"(?:^|\.)Compose\w*$")
_PASSES = re.compile(rf"^functools\.partial$|{COMPOSE.pattern}")
"""What calls its first argument, or the items of it."""
_MOST_BODIES = 100
"""How many functions are examined for one question."""


def calls_of_function(function: ValueSource) -> Iterator[ValueSource]:
    """The calls that a function makes, given as a name, a lambda, an object or with ``functools.partial``.

    Each function of the project that it calls is examined once.
    """
    return _Calls().of(function)


def calls_of_dataset(dataset: ValueSource) -> Iterator[ValueSource]:
    """The calls that a dataset makes for a sample, with those of the datasets that it takes its samples from."""
    calls = _Calls()
    for source in dataset.sources():
        for inner in wrapped(source):
            yield from calls_of_dataset(inner)
        inside = source.method("__getitem__")
        if inside is not None:
            yield from calls.inside(inside)


def calls_in_loops(function: ValueSource) -> Iterator[ValueSource]:
    """The calls that a generator repeats: those in its loops, and those of the functions that these call."""
    calls = _Calls()
    for statement in function.place.scope.statements:
        if statement.loop is not None and not is_left_out(function, statement):
            here = function.at(statement)
            for call in statement.calls:
                yield from calls.called(here.part(call), call)


class _Calls:
    def __init__(self) -> None:
        self._seen: set[Scope] = set()

    def of(self, function: ValueSource) -> Iterator[ValueSource]:
        """The calls of a function, wherever it comes from."""
        for source in function.sources():
            node = source.node
            if isinstance(node, ast.Lambda):
                for item in walk(node.body):
                    if isinstance(item, ast.Call):
                        yield from self.called(source.part(item), item)
            elif isinstance(node, ast.Call) and node.args and _PASSES.search(source.qualified):
                yield from self.of(source.part(node.args[0]))
            elif isinstance(node, ast.List | ast.Tuple):
                for part in (*node.elts, *_added(source)):
                    yield from self.of(source.part(part))
            else:
                called = function_of(source, node)
                found = source.entered(called) if called is not None else source.method("__call__", "_apply_image")
                yield from self.inside(found) if found is not None else ()

    def inside(self, function: ValueSource) -> Iterator[ValueSource]:
        """The calls in a function that training does not leave out."""
        scope = function.place.scope
        if scope in self._seen or len(self._seen) > _MOST_BODIES:
            return
        self._seen.add(scope)
        for statement in scope.statements:
            if not is_left_out(function, statement):
                here = function.at(statement)
                for call in statement.calls:
                    yield from self.called(here.part(call), call)

    def called(self, source: ValueSource, call: ast.Call) -> Iterator[ValueSource]:
        """A call, and those that a function of the project makes which it calls."""
        yield source
        called = function_of(source, call.func)
        if called is not None:
            yield from self.inside(source.entered(called))
        elif (dotted(call.func) or "").startswith("self."):  # ``self.transform(image)``
            yield from self.of(source.part(call.func))
        elif (items := looped_over(source, call.func)) is not None:
            yield from self.of(source.part(items))


def looped_over(source: ValueSource, func: ast.expr) -> ast.expr | None:
    """The iterable of a loop around a statement that binds the called name: ``for op in self.ops``."""
    if source.place.statement is None or not isinstance(func, ast.Name):
        return None
    loops = (link.node for link in source.place.statement.around if isinstance(link.node, ast.For))
    return next((loop.iter for loop in loops if dotted(loop.target) == func.id), None)


def _added(source: ValueSource) -> Iterator[ast.expr]:
    """What is appended to a list while it has a name: ``steps.append(Resize(224))``, ``steps.extend([...])``."""
    step = source.steps[-1] if source.steps else None
    name = dotted(step.node) if step is not None and step.kind is Through.NAME else None
    for call in source.place.scope.calls if name is not None else ():
        if dotted(call.func) == f"{name}.append":
            yield from call.args
        elif dotted(call.func) == f"{name}.extend":
            yield from (part for given in call.args if isinstance(given, ast.List | ast.Tuple) for part in given.elts)


# What the function of a map does for each sample, also through functions of the project that it calls.

_TOKENIZES = re.compile(
    r"(?i)\w*tokenizer$|tokeni[sz]e\w*$|(?:batch_)?encode(?:_plus|_batch)?$|convert_tokens_to_ids$|l?cut(?:_for_search)?$"
)
_RANDOM = re.compile(
    r"(?:paddle|numpy)\.(?:\w+\.)*(?:rand\w*|normal|uniform|bernoulli|multinomial|dropout)$|(?:numpy\.)?random\."
)
_DRAWS = re.compile(
    r"(?i)(?:^|_)(?:rand\w*|shuffled?|choices?|uniform|permutation|beta|noise\w*|noisy|aug(?:ment\w*)?|dropout|corrupt\w*"
    r"|perturb\w*|mask_tokens)(?:_|$)|^sample$"
)
_READS = re.compile(r"(?i)(?:open|im(?:read|decode)|load\w*|memmap|fromfile|read\w*|decode_image)$")


class Conversion(Flag):
    """What the function of a map does, as far as it is known."""

    NOTHING_KNOWN = 0
    TOKENIZES = auto()
    """It tokenizes a text."""
    DRAWS = auto()
    """It may give something else each time: it draws random numbers, or its names say so."""
    READS_FILES = auto()
    """It reads a file, or decodes an image: the results may take much memory."""
    GIVES_A_TUPLE = auto()
    """It returns a tuple, so not a dict."""


def conversion(function: ValueSource) -> Conversion:
    """What a function does for each sample that it converts."""
    found = Conversion.GIVES_A_TUPLE if any(map(_gives_a_tuple, function.sources())) else Conversion.NOTHING_KNOWN
    for source in calls_of_function(function):
        found |= of_call(source)
    return found


def of_call(source: ValueSource) -> Conversion:
    """What one call does."""
    call, found = source.node, Conversion.NOTHING_KNOWN
    last = terminal(call) or "" if isinstance(call, ast.Call) else ""
    if _RANDOM.match(source.qualified) or _DRAWS.search(last):
        found |= Conversion.DRAWS
    if _TOKENIZES.match(last):
        found |= Conversion.TOKENIZES
    elif _READS.match(last) and isinstance(call, ast.Call) and function_of(source, call.func) is None:
        found |= Conversion.READS_FILES
    return found


def _gives_a_tuple(source: ValueSource) -> bool:
    """Whether a function, given as a name, as a lambda or with ``functools.partial``, returns a tuple."""
    node = source.node
    if isinstance(node, ast.Lambda):
        return isinstance(node.body, ast.Tuple)
    if isinstance(node, ast.Call):
        is_partial = source.qualified == "functools.partial" and bool(node.args)
        return is_partial and any(map(_gives_a_tuple, source.part(node.args[0]).sources()))
    called = function_of(source, node)
    nodes = [statement.node for statement in called.scope.statements] if called is not None else []
    return any(isinstance(each, ast.Return) and isinstance(each.value, ast.Tuple) for each in nodes)


# Which datasets of PaddleNLP convert a sample each time that it is read, because their ``map`` is lazy, and how.
#
# ``train_ds.map(convert)`` only notes the function, which ``train_ds[i]`` then calls; ``lazy=False`` calls it for all
# samples at once and keeps the results. What the function does says whether that would be the same, and worth it.

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
