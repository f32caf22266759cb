"""What the samples of a dataset consist of, and how much work it takes to create one."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from itertools import islice
from typing import TYPE_CHECKING, TypeGuard

from perflint.flow.calls import CallGraph
from perflint.flow.objects import class_body
from perflint.flow.sources import (
    EVERYTHING,
    SourceStep,
    Through,
    ValueSource,
    asked,
    function_of,
    is_left_out,
    scope_binding,
    sources,
)
from perflint.index.hierarchy import Hierarchy
from perflint.index.kinds import LAYER_TAG
from perflint.index.modules import Modules
from perflint.index.project import Place
from perflint.paddle.tensor_methods import READ_METHODS
from perflint.syntax.bindings import bindings_of, targets_and_values
from perflint.syntax.names import dotted, stored_names, super_method
from perflint.syntax.parameters import all_parameters, argument_of, is_none, is_zero
from perflint.syntax.scopes import Class, Scope
from perflint.syntax.tree import children, string_of, walk

if TYPE_CHECKING:
    from perflint.index.project import FileIndex


# Finds what the samples of a loader consist of: worker processes cannot pass on everything that a dataset may return.
#
# On Paddle 3.3.1 workers crash on samples that are Paddle tensors, as ``transform=ToTensor()`` and
# ``paddle.to_tensor`` in ``__getitem__`` create them, and shared memory rejects arrays of size zero (``np.zeros((0,
# 4))`` for no boxes). So everything that may create a sample is followed: the dataset, its transforms, the collating
# function.

_TENSORS = re.compile(
    r"paddle\.(?:(?:tensor|linalg|fft|signal|sparse|geometric|incubate)\.)*[a-z]\w*$|paddle\.Tensor$"
    r"|paddle\.(?:fluid|base)\.dygraph\.(?:base\.)?to_variable$"
    r"|paddle\.nn\.(?:functional\.\w+|[A-Z]\w*)$|paddle\.audio\.(?:features|functional)\.\w+$"
    r"|paddle\.vision\.(?:transforms\.)*(?:transforms\.|functional\.)*(?:ToTensor|to_tensor)$"
)
_NO_TENSORS = re.compile(
    r"paddle\.(?:no_grad|enable_grad|(?:is|in|set|get|enable|disable)_\w+|seed|save|summary|flops|batch|broadcast_shape"
    r"|iinfo|finfo|jit|grad)$"
)
_COLLATORS = re.compile(
    r"paddlenlp\.data\.(?:data_collator\.)?(?:DataCollator\w+|DefaultDataCollator|default_data_collator)$"
)
"""PaddleNLP's collators: they create Paddle tensors, unless ``return_tensors="np"`` requests arrays."""
_EMPTY = frozenset(f"numpy.{name}" for name in ("zeros", "ones", "empty", "full"))
_MAKERS = ("__getitem__", "__iter__", "__call__")
"""The methods of a dataset, a transform or a collating object that run in a worker."""

_NAMED = EVERYTHING & ~(Through.RETURN | Through.ITEM)
"""Names and attributes; the functions that are called are examined whole."""
_MOST_PLACES = 300


@dataclass(frozen=True)
class Obstacle:
    """A place that creates samples that worker processes cannot pass on.

    ``empty``: they are arrays of size zero, which only shared memory rejects; otherwise Paddle tensors.
    ``collated``: the collating function does it, with the batch. ``collate``: the name of that function, if it has one.
    ``starts``: there are no workers at all: what each of them runs first needs a name that nothing binds.
    """

    path: str
    line: int
    text: str
    empty: bool = False
    collated: bool = False
    collate: str = ""
    starts: bool = False


def obstacles(call: ast.Call, at: Place, *datasets: tuple[str, int]) -> tuple[Obstacle, ...]:
    """What prevents a loader from passing on its samples: a place that makes them, and one that collates them so.

    Tensors come before arrays of size zero, of which one place is enough.

    Args:
        call: the call that creates the loader.
        at: where it is.
        datasets: names and positions of the parameters for datasets.
    """
    here, collate = at.at(at.scope, None), argument_of(call, "collate_fn", 8)
    unpacked = (keyword.value for keyword in call.keywords if keyword.arg is None)
    given = (argument_of(call, *parameter) for parameter in datasets or (("dataset", 0),))
    name = dotted(collate.func if isinstance(collate, ast.Call) else collate) or "" if collate is not None else ""
    found = _first((*given, *unpacked), here)
    found += [replace(each, collated=True, collate=name) for each in _first((collate,), here) if each not in found]
    failing = islice(_failing_start(call, at), 1)
    return (*failing, *(each for each in found if not each.empty)) or tuple(found[:1])


def _failing_start(call: ast.Call, at: Place) -> Iterator[Obstacle]:
    """The names that the ``worker_init_fn`` of a loader reads, and that its file does not bind."""
    given = [argument_of(call, "worker_init_fn", 15)]
    for statement in at.scope.statements:  # `settings["worker_init_fn"] = start`
        targets = targets_and_values(statement.node) if any(item.arg is None for item in call.keywords) else ()
        given += [
            value
            for target, value in targets
            if isinstance(target, ast.Subscript) and string_of(target.slice) == "worker_init_fn"
        ]
    for value in given:
        found = CallGraph.of(at.file.project).called(at, value) if value is not None else None
        file = found.file if found is not None else at.file
        if found is None or file.may_have_stars:
            continue
        known = {*all_parameters(found.scope), *stored_names(found.scope.node), *bindings_of(file.scopes.module)}
        read = (node for node in walk(found.scope.node) if isinstance(node, ast.Name) and node.id not in known)
        for node in read:
            if not (hasattr(builtins, node.id) or file.names.is_bound(node.id)):
                yield Obstacle(file.path, file.row(node), node.id, starts=True)


def _first(nodes: Iterable[ast.expr | None], place: Place) -> list[Obstacle]:
    """The first place that creates what workers cannot pass on, if any: tensors come first."""
    search = _Search()
    for node in nodes:
        search.value(node, place)
    return sorted(search.found, key=lambda item: item.empty)[:1]


class Follower:
    """Follows everything that a value may be; each place is examined once, and subclasses note what they look for."""

    def __init__(self) -> None:
        self._seen: set[object] = set()

    def called(self, call: ast.Call, place: Place) -> None:
        """Look at a call."""

    def entered(self, at: Place) -> None:
        """Look at a function whose calls are examined."""

    def named(self, node: ast.expr, qualified: str, file: FileIndex) -> None:
        """Look at a name of something outside the project."""

    def is_layer(self, file: FileIndex, owner: Class) -> bool:
        """Whether a class is a layer, whose methods are not examined."""
        return Modules.of(file.project).kind_of_instance(file, owner).tag == LAYER_TAG

    def value(self, node: ast.expr | None, place: Place) -> None:
        """Examine what an expression may be: an object whose methods run in a worker, or a function that does."""
        for item in _on_the_device(node) if node is not None else ():
            if isinstance(item, ast.Call):
                self.called(item, place)
            elif isinstance(item, ast.Name | ast.Attribute) and isinstance(item.ctx, ast.Load):
                self._named(item, place)

    def _is_new(self, *key: object) -> bool:
        if key in self._seen or len(self._seen) > _MOST_PLACES:
            return False
        self._seen.add(key)
        return True

    def _named(self, node: ast.expr, place: Place) -> None:
        """Examine what a name may be: a class, a function, its values or arguments."""
        name = dotted(node)
        if name is None or not self._is_new(name, place.scope, place.run):
            return
        for source in sources(node, place, through=_NAMED, is_direct=True):
            if isinstance(source.node, (ast.Name, ast.Attribute)) and (not source.steps or not source.is_known):
                self._defined(source)
            else:
                self.value(source.node, source.place.at(source.place.scope, None))

    def _defined(self, source: ValueSource) -> None:
        """Examine the class, the function or the method that a name leads to."""
        file, node, qualified = source.place.file, source.node, source.qualified
        found = Modules.of(file.project).find(qualified, file) if qualified else None
        function = function_of(source, node) if found is None and isinstance(node, ast.Name) else None
        if found is not None and isinstance(found[1], Class):
            self._class(found[0], found[1])
        elif found is not None and isinstance(found[1], Scope):
            self._body(Place(found[0], found[1]))
        elif function is not None:
            self._body(function)
        elif isinstance(node, ast.Attribute):
            self.named(node, qualified, file)
            for holder in sources(node.value, source.place, through=_NAMED, is_direct=True):
                method = holder.method(node.attr)
                if method is not None:
                    self._body(Place(method.place.file, method.place.scope))
        else:
            self.named(node, qualified, file)

    def _class(self, file: FileIndex, owner: Class) -> None:
        for name in () if self.is_layer(file, owner) else _MAKERS:
            method = Modules.of(file.project).method_of(file, owner, name)
            if method is not None:
                self._body(method)

    def _body(self, at: Place) -> None:
        """Examine everything that a function calls and names: it may run for each sample, or return what does."""
        if not self._is_new(at.scope):
            return
        place = Place(at.file, at.scope)
        self.entered(place)
        for statement in at.scope.statements:
            read = {id(item) for call in statement.calls if _reads(call) for item in walk(call)}
            for call in statement.calls:
                if id(call) not in read:
                    self.value(call, place)
            if isinstance(statement.node, ast.Return):
                self.value(statement.node.value, place)


class _Search(Follower):
    """Finds what creates samples that workers cannot pass on."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Obstacle] = []

    def called(self, call: ast.Call, place: Place) -> None:
        """Note a tensor or an array of size zero."""
        file, name = place.file, dotted(call.func)
        qualified = file.names.resolve(name) if name else ""
        is_tensor = makes_tensor(call, qualified) or _is_graph_tensor(call)
        base = "" if is_tensor else _inherited_collator(call, file)
        if base:
            self.found.append(Obstacle(file.path, file.row(call), base))
        elif is_tensor or _is_empty(call, qualified):
            text = qualified if is_tensor and qualified else ast.unparse(call)
            self.found.append(Obstacle(file.path, file.row(call), text, not is_tensor))

    def named(self, node: ast.expr, qualified: str, file: FileIndex) -> None:
        """Note PaddleNLP's function that collates samples."""
        if qualified.endswith(".default_data_collator") and _COLLATORS.match(qualified):
            self.found.append(Obstacle(file.path, file.row(node), qualified))

    def is_layer(self, file: FileIndex, owner: Class) -> bool:
        """Note a layer, which gives tensors."""
        is_one = super().is_layer(file, owner)
        if is_one:
            self.found.append(Obstacle(file.path, file.row(owner.node), owner.name))
        return is_one


def _on_the_device(node: ast.expr) -> Iterator[ast.AST]:
    """The parts of an expression, without those that are read to the host at once: ``x.mean().numpy()``.

    Of ``self.transform`` it is the attribute that counts, not what else the object does.
    """
    waiting: list[ast.AST] = [node]
    while waiting:
        item = waiting.pop()
        yield item
        if not _is_own(item) and not _reads(item):
            waiting += children(item)


def _reads(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in READ_METHODS


def makes_tensor(call: ast.Call, qualified: str) -> bool:
    """Whether a call creates a Paddle tensor, or a layer or an object that does."""
    kind = argument_of(call, "return_tensors", None)
    if _COLLATORS.match(qualified) is not None:
        return kind is None or string_of(kind) != "np"
    if kind is not None and string_of(kind) == "pd":  # of a tokenizer of PaddleNLP
        return True
    if _TENSORS.match(qualified) is None or _NO_TENSORS.match(qualified) is not None:
        return False
    as_arrays = argument_of(call, "return_numpy", None) if qualified == "paddle.load" else None
    return as_arrays is None or (isinstance(as_arrays, ast.Constant) and not as_arrays.value)


def _inherited_collator(call: ast.Call, file: FileIndex) -> str:
    """The collator of PaddleNLP whose tensors an object passes on that a call creates; ``""`` if it does not.

    It is of a subclass that keeps the ``__call__`` of the collator, or calls it and reads none of its tensors.
    """
    project = file.project
    made = Modules.of(project).class_at(file, call.func)
    bases = sorted(filter(_COLLATORS.match, Hierarchy.of(project).unseen(*made))) if made is not None else []
    if made is None or not bases:
        return ""
    given = argument_of(call, "return_tensors", None)
    if any(string_of(kind) == "np" for kind in ([given] if given is not None else _set_in(*made, "return_tensors"))):
        return ""
    own = Modules.of(project).method_of(*made, "__call__")
    calls = [each for statement in own.scope.statements for each in statement.calls] if own is not None else []
    passes_on = own is None or any(super_method(each) == "__call__" for each in calls)
    return bases[0] if passes_on and not any(map(_reads, calls)) else ""


def _set_in(file: FileIndex, owner: Class, name: str) -> Iterator[ast.expr]:
    """What a class and its bases set an attribute to, in their bodies and in methods."""
    for _, one in Hierarchy.of(file.project).lineage(file, owner):
        yield from (value for value, _ in one.attributes.get(name, ()))
        yield from (value for target, value in class_body(one) if target == name)


def _is_graph_tensor(call: ast.Call) -> bool:
    """``graph.tensor()``, with which PGL turns a graph of arrays into one of tensors."""
    return isinstance(call.func, ast.Attribute) and call.func.attr == "tensor" and not call.args and not call.keywords


def _is_empty(call: ast.Call, qualified: str) -> bool:
    """Whether a call creates an array of size zero: ``np.zeros((0, 4))``, ``np.array([])``, ``boxes.reshape(0, 4)``."""
    if qualified in ("numpy.array", "numpy.asarray"):
        return bool(call.args) and isinstance(call.args[0], ast.List | ast.Tuple) and not call.args[0].elts
    if qualified in _EMPTY:
        return any(map(is_zero, _sizes(call.args[:1])))
    is_reshape = isinstance(call.func, ast.Attribute) and call.func.attr == "reshape"
    return is_reshape and any(map(is_zero, _sizes(call.args)))


def _sizes(nodes: list[ast.expr]) -> Iterator[ast.expr]:
    for node in nodes:
        yield from node.elts if isinstance(node, ast.List | ast.Tuple) else [node]


# Finds how much work it takes to create the samples of a loader: workers have little to do if samples are in memory.
#
# A list, a ``__getitem__`` that only takes an item of an array, random numbers for a demonstration, or
# ``dataset.map(convert, batched=True)``, which has converted all samples in advance: a batch only has to be collated.
# What a dataset of Hugging Face has converted is a table on the disk, whose rows become Python lists again.
# Reading a file, decoding an image, or tokenizing a text in ``__getitem__`` is work.

_IN_MEMORY = re.compile(r"paddle\.io\.TensorDataset$|paddle\.text\.(?:datasets\.)?\w+$|(?:list|zip|tuple)$")
_WRAPS = re.compile(
    r"paddle\.io\.(?:Subset|ConcatDataset|ComposeDataset|ChainDataset|random_split)$|paddlenlp\.datasets\.MapDataset$"
)
_FOLDERS = re.compile(r"paddle\.vision\.datasets\.(?:DatasetFolder|ImageFolder|Flowers|VOC2012)$")
_READS = re.compile(
    r"(?i)(?:open|loads?|loadtxt|genfromtxt|fromfile|memmap|im(?:read|decode|resize)|resize|cvtcolor|warp\w+|rotate"
    r"|sleep|read(?:_\w+)?|decode(?:_\w+)?|encode(?:_\w+)?|tokeni[sz]e\w*|\w*tokenizer|convert_tokens_to_ids|stft|mfcc"
    r"|melspectrogram|\w*transforms?|aug\w*|preprocess\w*|load_\w+|batch_encode\w*)$"
)
_LAZY = re.compile(r"h5py|lmdb|memmap|mmap|zipfile|tarfile|load_dataset|open$")
_DATASET = re.compile(r"(?i)data_?set|(?:^|_)ds$|(?:^|_)subset$")
_QUICK_METHODS = frozenset(
    {*READ_METHODS, "astype", "reshape", "copy", "transpose", "unsqueeze", "squeeze", "cast", "get", "view"}
    | {"append", "clone", "flatten", "swapaxes", "keys", "values", "items", "float", "long", "tensor"}
    | {"split", "strip", "lower", "join", "replace", "index", "startswith", "endswith"}
)
_QUICK = re.compile(r"(?:numpy|random|paddle)\.(?:\w+\.)*\w+$")
_NEVER_STREAMED = frozenset({"num_proc", "load_from_cache_file", "cache_file_name", "keep_in_memory"})
"""Parameters of Hugging Face's ``map`` for datasets on the disk only."""
_OF_COLUMNS = frozenset({"remove_columns", "input_columns", "fn_kwargs"})
"""Parameters of Hugging Face's ``map`` that PaddleNLP's does not have."""
_MOST_BODIES = 200
"""How many functions are examined for one dataset."""


class Work(Enum):
    """The work for each sample."""

    NONE = 1
    """It is in memory, or consists of random numbers."""
    SOME = 2
    """A file is read, an image decoded or changed, a text tokenized."""
    UNKNOWN = 3
    ROWS = 4
    """A dataset of Hugging Face makes Python lists of a row of its table: more than nothing, less than reading."""


def work_of(dataset: ast.expr | None, at: Place) -> Work:
    """The work for a sample of a dataset that is passed to a loader."""
    return Work.UNKNOWN if dataset is None else _SampleWork().of(asked(dataset, at))


def wrapped(dataset: ValueSource) -> list[ValueSource]:
    """The datasets that ``Subset(data)``, ``ConcatDataset([one, two])`` and the like take their samples from."""
    call, qualified = dataset.node, dataset.qualified
    if not isinstance(call, ast.Call) or not call.args or not _WRAPS.match(qualified):
        return []
    inner = call.args[0]
    parts = inner.elts if isinstance(inner, ast.List) and "MapDataset" not in qualified else [inner]
    return [dataset.part(part) for part in parts]


def _joined(found: Iterable[Work]) -> Work:
    """The result if any of these may be meant."""
    works = set(found)
    if Work.SOME in works:
        return Work.SOME
    works -= {Work.NONE} if works != {Work.NONE} else set()
    return works.pop() if len(works) == 1 else Work.UNKNOWN


class _SampleWork:
    """Follows a dataset to the class that creates its samples; each function is examined once for an object."""

    def __init__(self) -> None:
        self._bodies: dict[object, Work] = {}

    def of(self, dataset: ValueSource) -> Work:
        """The work for the samples of a dataset, or for an item of an attribute of a dataset."""
        start = len(dataset.steps)
        return _joined(self._created(source, start) for source in dataset.sources() if not is_none(source.node))

    def _created(self, source: ValueSource, start: int) -> Work:
        """The work for what a source creates, judging by the steps to it from the first one in question, too."""
        steps = source.steps[start:]
        mapped = (mapped_in_place(step) for step in steps if isinstance(step.node, ast.Name))
        in_place = next((call for call in mapped if call is not None), None)
        if in_place is not None:
            return work_after_map(in_place, source.place.file)
        found = self._of_source(source)
        # Taking an item of an attribute is no work, unless that is a dataset or opens a file.
        held = [step.node.attr for step in steps if _is_own(step.node) and step.kind is Through.ATTRIBUTE]
        if not held or (found is not Work.UNKNOWN and not _is_lazy(source)):
            return found
        return Work.UNKNOWN if _is_lazy(source) or all(map(_DATASET.search, held)) else Work.NONE

    def _of_source(self, source: ValueSource) -> Work:
        node, qualified = source.node, source.qualified
        if isinstance(node, (ast.List, ast.Tuple, ast.ListComp)):
            return Work.NONE
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and node.func.attr in ("map", "apply"):
                return work_after_map(node, source.place.file)
            if _IN_MEMORY.match(qualified) or _FOLDERS.match(qualified):
                return Work.NONE if _IN_MEMORY.match(qualified) else Work.SOME
            if inner := wrapped(source):
                return _joined(map(self.of, inner))
        inside = source.method("__getitem__")
        return Work.UNKNOWN if inside is None else self._body(inside)

    def _body(self, inside: ValueSource) -> Work:
        """The work of a function that creates a sample; nothing if it leads back to itself."""
        key = inside.place.scope, inside.place.made
        if key not in self._bodies:
            if len(self._bodies) > _MOST_BODIES:
                return Work.UNKNOWN
            self._bodies[key] = Work.NONE
            self._bodies[key] = _joined([Work.NONE, *self._works(inside)])
        return self._bodies[key]

    def _works(self, inside: ValueSource) -> Iterator[Work]:
        for statement in inside.place.scope.statements:
            if is_left_out(inside, statement):
                continue
            here = inside.at(statement)
            if isinstance(statement.node, (ast.For, ast.While, ast.With, ast.Try)):
                yield Work.UNKNOWN
            yield from (self._called(here.part(call), call) for call in statement.calls)
            for item in walk(statement.node):
                if isinstance(item, ast.Subscript) and _is_own(item.value):
                    yield self.of(here.part(item.value))

    def _called(self, source: ValueSource, call: ast.Call) -> Work:
        """The work of a call in such a function."""
        last, qualified = getattr(call.func, "attr", getattr(call.func, "id", "")), source.qualified
        if _READS.match(last):
            return Work.SOME
        if _QUICK.match(qualified) or (qualified == last and hasattr(builtins, last)):
            return Work.NONE
        called = function_of(source, call.func)
        if called is None:
            return Work.NONE if last in _QUICK_METHODS else Work.UNKNOWN
        return self._body(source.entered(called))


def _is_own(node: ast.AST) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and dotted(node.value) == "self"


def _is_lazy(source: ValueSource) -> bool:
    """Whether something that reads on demand is created, or, in what an attribute itself is set to, opened."""
    is_stored = source.steps[-1].kind is Through.ATTRIBUTE
    parts = [item for item in walk(source.node) if isinstance(item, (ast.Name, ast.Attribute))] if is_stored else []
    names = [source.qualified, *(source.part(part).qualified for part in parts)]
    return any(map(_LAZY.search, names))


def mapped_in_place(step: SourceStep) -> ast.Call | None:
    """The last ``dataset.map(convert)`` before a name is read, as a statement: PaddleNLP's changes the dataset."""
    name, place = dotted(step.node) or "", step.place
    scope = scope_binding(name, place.scope)
    made = (
        (statement.node.value for statement in scope.statements if isinstance(statement.node, ast.Expr))
        if scope
        else ()
    )
    calls = [call for call in made if isinstance(call, ast.Call) and dotted(call.func) == f"{name}.map"]
    at = place.statement if scope is place.scope else None
    return next((call for call in reversed(calls) if at is None or call.lineno < at.node.lineno), None)


def work_after_map(call: ast.Call, file: FileIndex) -> Work:
    """The work that ``dataset.map(convert)`` leaves for a loader: none if it has converted all samples in advance.

    PaddleNLP does so with ``lazy=False``, with ``batched=True`` and with two workers or more; without them it converts
    a sample when it is requested. Datasets of Hugging Face are converted in advance, unless they are streamed, and the
    results stored as a table, whose rows become lists when they are read.
    """
    said = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    lazy, workers = argument_of(call, "lazy", 1), said.get("num_workers")
    may_stream = file.has("treaming")
    if not _NEVER_STREAMED.isdisjoint(said) or not (may_stream or _OF_COLUMNS.isdisjoint(said)):
        return Work.ROWS
    many = isinstance(workers, ast.Constant) and isinstance(workers.value, int) and workers.value > 1
    if many or _is_constant(lazy, False) or (_is_constant(said.get("batched"), True) and not may_stream):
        return Work.NONE
    return Work.UNKNOWN


def _is_constant(node: ast.expr | None, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value
