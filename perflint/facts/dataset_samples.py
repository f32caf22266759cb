"""What the samples of a dataset consist of, and how much work it takes to create one."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from perflint.flow.calls import CallGraph
from perflint.flow.switches import State, Switches
from perflint.flow.values import Values
from perflint.index.hierarchy import Hierarchy
from perflint.index.kinds import LAYER_TAG
from perflint.index.modules import Modules
from perflint.syntax import reaching
from perflint.syntax.bindings import bindings_of
from perflint.syntax.names import dotted
from perflint.syntax.parameters import (
    all_parameters,
    annotation_of,
    argument_of,
    defaults_of,
    is_spread,
    is_zero,
    position_of,
)
from perflint.syntax.scopes import Class, Scope, Statement
from perflint.syntax.tree import children, string_of, walk

if TYPE_CHECKING:
    from perflint.index.project import FileIndex


# Finds what ``data.train`` may be, if its class is known: what its methods set, or what its property returns.


class Held(NamedTuple):
    """A possible value of an attribute, with its file and function."""

    file: FileIndex
    scope: Scope
    value: ast.expr


def parts_of(file: FileIndex, owner: Class, name: str) -> list[Held]:
    """What an attribute of the objects of a class may be, from the class or the nearest of its bases that has it."""
    for there, one in Hierarchy.of(file.project).lineage(file, owner):
        if name in one.attributes:
            return [Held(there, scope, value) for value, scope in one.attributes[name]]
        if name in one.methods and is_property(one.methods[name]):
            return _returned(there, one.methods[name])
    return []


def part_of(file: FileIndex, scope: Scope, node: ast.Attribute) -> list[Held]:
    """What ``data.train`` may be in a function; nothing if the class of ``data`` is not known."""
    found = class_of(file, scope, node.value)
    return parts_of(*found, node.attr) if found is not None else []


def class_of(file: FileIndex, scope: Scope, node: ast.expr) -> tuple[FileIndex, Class] | None:
    """The class of an object: ``self``, the call that creates it, or a name that is bound to one such call."""
    if isinstance(node, ast.Call):
        return _class(file, dotted(node.func))
    if not isinstance(node, ast.Name):
        return None
    if node.id == "self" and scope.owner is not None:
        return file, scope.owner
    inner: Scope | None = scope
    while inner is not None:
        bound = bindings_of(inner).get(node.id, [])
        if bound:
            values = [getattr(statement.node, "value", None) for statement in bound]
            return class_of(file, inner, values[0]) if len(values) == 1 and isinstance(values[0], ast.Call) else None
        if (said := annotation_of(inner, node.id)) is not None:
            return _class(file, dotted(said))
        inner = inner.parent
    return None


def is_property(method: Scope) -> bool:
    """Whether a method is read like an attribute."""
    decorators = getattr(method.node, "decorator_list", ())
    return any((dotted(each) or "").rpartition(".")[2] in ("property", "cached_property") for each in decorators)


def _class(file: FileIndex, name: str | None) -> tuple[FileIndex, Class] | None:
    found = Modules.of(file.project).find(file.names.resolve(name), file) if name else None
    return (found[0], found[1]) if found is not None and isinstance(found[1], Class) else None


def _returned(file: FileIndex, method: Scope) -> list[Held]:
    returned = (statement.node.value for statement in method.statements if isinstance(statement.node, ast.Return))
    return [Held(file, method, value) for value in returned if value is not None]


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
_TO_HOST = frozenset({"numpy", "item", "tolist"})
_EMPTY = frozenset(f"numpy.{name}" for name in ("zeros", "ones", "empty", "full"))
_MAKERS = ("__getitem__", "__iter__", "__call__")
"""The methods of a dataset, a transform or a collating object that run in a worker."""

_MOST_PLACES = 300


@dataclass(frozen=True)
class Obstacle:
    """A place that creates samples that worker processes cannot pass on.

    ``empty``: they are arrays of size zero, which only shared memory rejects; otherwise Paddle tensors.
    """

    path: str
    line: int
    text: str
    empty: bool = False


def obstacle(file: FileIndex, scope: Scope, call: ast.Call, *datasets: tuple[str, int]) -> Obstacle | None:
    """What prevents a loader from passing on its samples; tensors come before arrays of size zero.

    Args:
        call: the call that creates the loader.
        datasets: names and positions of the parameters for datasets.
    """
    search = _Search()
    for name, position in datasets or (("dataset", 0),):
        search.value(file, scope, argument_of(call, name, position))
    search.value(file, scope, argument_of(call, "collate_fn", 8))
    for keyword in call.keywords:
        if keyword.arg is None:
            search.value(file, scope, keyword.value)
    return min(search.found, key=lambda item: item.empty, default=None)


class _Search:
    """Follows everything that a value may be; each place is examined once."""

    def __init__(self) -> None:
        self.found: list[Obstacle] = []
        self._seen: set[object] = set()

    def value(self, file: FileIndex, scope: Scope, node: ast.expr | None) -> None:
        """Examine what an expression may be: an object whose methods run in a worker, or a function that does."""
        for item in _on_the_device(node) if node is not None else ():
            if isinstance(item, ast.Call):
                self._called(file, scope, item)
            elif isinstance(item, ast.Name | ast.Attribute) and isinstance(item.ctx, ast.Load):
                self._named(file, scope, dotted(item), file.row(item))

    def _is_new(self, *key: object) -> bool:
        if key in self._seen or len(self._seen) > _MOST_PLACES:
            return False
        self._seen.add(key)
        return True

    def _called(self, file: FileIndex, scope: Scope, call: ast.Call) -> None:
        name = dotted(call.func)
        qualified = file.names.resolve(name) if name else ""
        is_tensor = _makes_tensor(call, qualified) or _is_graph_tensor(call)
        if is_tensor or _is_empty(call, qualified):
            text = qualified if is_tensor and qualified else ast.unparse(call)
            self.found.append(Obstacle(file.path, file.row(call), text, not is_tensor))

    def _named(self, file: FileIndex, scope: Scope, name: str | None, line: int = 0) -> None:
        """Examine what a name at a line may be: a class, a function, its values or arguments."""
        if name is None or not self._is_new(scope, name):
            return
        first, _, rest = name.partition(".")
        owner = class_of(file, scope, ast.Name(first, ast.Load())) if rest else None
        if owner is not None:
            self._attribute(*owner, rest.partition(".")[0])
            return
        bound = _bound(scope, first)
        if bound is not None:
            self._bound(file, bound, name)
            return
        qualified = file.names.resolve(name)
        found = Modules.of(file.project).find(qualified, file)
        if found is not None:
            self._definition(*found)
            return
        if qualified.endswith(".default_data_collator") and _COLLATORS.match(qualified):
            self.found.append(Obstacle(file.path, line or 1, qualified))
        module, _, last = qualified.rpartition(".")
        there = Modules.of(file.project).module_named(module, file) if file.names.is_bound(first) else None
        if there is not None and there is not file:
            self._named(there, there.scopes.module, last)

    def _bound(self, file: FileIndex, scope: Scope, name: str) -> None:
        first = name.partition(".")[0]
        if first in scope.functions:
            self._definition(file, scope.functions[first])
        if first in all_parameters(scope):
            for site in CallGraph.of(file.project).callers(file, scope):
                self.value(site.file, site.scope, site.argument(scope, first))
        for statement in bindings_of(scope).get(first, ()):
            self.value(file, scope, getattr(statement.node, "value", None))

    def _attribute(self, file: FileIndex, owner: Class, name: str) -> None:
        """Examine what an attribute of an object may be, and at the method of that name."""
        if not self._is_new(owner, name):
            return
        for there, scope, value in parts_of(file, owner, name):
            self.value(there, scope, value)
        method = Modules.of(file.project).method_of(file, owner, name)
        if method is not None:
            self._body(*method)

    def _definition(self, file: FileIndex, found: Scope | Class) -> None:
        if isinstance(found, Scope):
            self._body(file, found)
            return
        if Modules.of(file.project).kind_of_instance(file, found).tag == LAYER_TAG:
            self.found.append(Obstacle(file.path, file.row(found.node), found.name))
            return
        for name in _MAKERS:
            method = Modules.of(file.project).method_of(file, found, name)
            if method is not None:
                self._body(*method)

    def _body(self, file: FileIndex, scope: Scope) -> None:
        """Examine everything that a function calls and names: it may run for each sample, or return what does."""
        if not self._is_new(scope):
            return
        for statement in scope.statements:
            read = {id(item) for call in statement.calls if _reads(call) for item in walk(call)}
            for call in statement.calls:
                if id(call) not in read:
                    self.value(file, scope, call)
            if isinstance(statement.node, ast.Return):
                self.value(file, scope, statement.node.value)


def _on_the_device(node: ast.expr) -> Iterator[ast.AST]:
    """The parts of an expression, without those that are read to the host at once: ``x.mean().numpy()``."""
    waiting: list[ast.AST] = [node]
    while waiting:
        item = waiting.pop()
        yield item
        if not _reads(item):
            waiting += children(item)


def _reads(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _TO_HOST


def _makes_tensor(call: ast.Call, qualified: str) -> bool:
    """Whether a call creates a Paddle tensor, or a layer or an object that does."""
    if _COLLATORS.match(qualified) is not None:
        kind = argument_of(call, "return_tensors", None)
        return kind is None or string_of(kind) != "np"
    if _TENSORS.match(qualified) is None or _NO_TENSORS.match(qualified) is not None:
        return False
    as_arrays = argument_of(call, "return_numpy", None) if qualified == "paddle.load" else None
    return as_arrays is None or (isinstance(as_arrays, ast.Constant) and not as_arrays.value)


def _bound(scope: Scope, name: str) -> Scope | None:
    """The function or module that binds a name visible in a scope."""
    inner: Scope | None = scope
    while inner is not None:
        if name in all_parameters(inner) or name in inner.functions:
            return inner
        if any(_gives(statement.node) for statement in bindings_of(inner).get(name, ())):
            return inner
        inner = inner.parent
    return None


def _gives(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign)


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
# Reading a file, decoding an image, or tokenizing a text in ``__getitem__`` is work.

_IN_MEMORY = re.compile(r"paddle\.io\.TensorDataset$|paddle\.text\.(?:datasets\.)?\w+$|(?:list|zip|tuple)$")
_WRAPS = re.compile(
    r"paddle\.io\.(?:Subset|ConcatDataset|ComposeDataset|random_split)$|paddlenlp\.datasets\.MapDataset$"
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
    {"astype", "reshape", "copy", "transpose", "unsqueeze", "squeeze", "item", "tolist", "cast", "numpy", "get", "view"}
    | {"append", "clone", "flatten", "swapaxes", "keys", "values", "items", "float", "long", "tensor"}
    | {"split", "strip", "lower", "join", "replace", "index", "startswith", "endswith"}
)
_QUICK = re.compile(r"(?:numpy|random|paddle)\.(?:\w+\.)*\w+$")
_NEVER_STREAMED = frozenset({"num_proc", "load_from_cache_file", "cache_file_name", "keep_in_memory"})
"""Parameters of Hugging Face's ``map`` for datasets on the disk only."""
_OF_COLUMNS = frozenset({"remove_columns", "input_columns", "fn_kwargs"})
"""Parameters of Hugging Face's ``map`` that PaddleNLP's does not have."""
_MAX_DEPTH = 8
_SAMPLE_WORK_MOST_PLACES = 200


class Work(Enum):
    """The work for each sample."""

    NONE = 1
    """It is in memory, or consists of random numbers."""
    SOME = 2
    """A file is read, an image decoded or changed, a text tokenized."""
    UNKNOWN = 3


def work_of(file: FileIndex, scope: Scope, statement: Statement, dataset: ast.expr | None) -> Work:
    """The work for a sample of a dataset that a statement passes to a loader."""
    return Work.UNKNOWN if dataset is None else _SampleWorkSearch().value(file, scope, statement, dataset, 0)


def _joined(found: Iterable[Work]) -> Work:
    """The result if any of these may be meant."""
    works = set(found)
    if Work.SOME in works:
        return Work.SOME
    return Work.NONE if works == {Work.NONE} else Work.UNKNOWN


class _Dataset(NamedTuple):
    """A dataset: its class, and which attributes of the object are None."""

    file: FileIndex
    owner: Class
    unset: frozenset[str]

    def skips(self, statement: Statement) -> bool:
        """Whether a statement of a method runs for another object only: ``if self.transform is not None``."""
        return any(
            isinstance(link.node, ast.If) and self._says(link.node.test) is (link.branch != "body")
            for link in statement.around
        )

    def _says(self, test: ast.expr) -> bool | None:
        """The result of a test about an attribute that is None; None for other tests."""
        asked, answer = test, False
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and _is_none(test.comparators[0]):
            asked, answer = test.left, isinstance(test.ops[0], (ast.Is, ast.Eq))
        name = dotted(asked) or ""
        return answer if name[:5] == "self." and name[5:] in self.unset else None


class _SampleWorkSearch:
    """Follows a dataset to the class that creates its samples; each place is examined once."""

    def __init__(self) -> None:
        self._known: dict[object, Work] = {}

    def _once(self, key: object, work_out: Callable[[], Work]) -> Work:
        """The work at a place, nothing if it leads back to itself."""
        if key not in self._known:
            if len(self._known) > _SAMPLE_WORK_MOST_PLACES:
                return Work.UNKNOWN
            self._known[key] = Work.NONE
            self._known[key] = work_out()
        return self._known[key]

    def value(self, file: FileIndex, scope: Scope, statement: Statement | None, node: ast.expr, depth: int) -> Work:
        """The work for the samples of an expression."""
        if depth > _MAX_DEPTH:
            return Work.UNKNOWN
        if isinstance(node, (ast.List, ast.Tuple, ast.ListComp)):
            return Work.NONE
        if isinstance(node, ast.IfExp):
            return _joined(self.value(file, scope, statement, part, depth + 1) for part in (node.body, node.orelse))
        if isinstance(node, ast.Name):
            return self._name(file, scope, statement, node.id, depth + 1)
        if isinstance(node, ast.Attribute):
            return self._part(file, scope, node, depth + 1)
        return self._call(file, scope, statement, node, depth + 1) if isinstance(node, ast.Call) else Work.UNKNOWN

    def _part(self, file: FileIndex, scope: Scope, node: ast.Attribute, depth: int) -> Work:
        """The work of the samples of ``self.data`` or ``data.train``: if unknown, judging by its name."""
        owner = class_of(file, scope, node.value)
        if owner is None:
            return Work.UNKNOWN
        if dotted(node.value) == "self":
            return self._attribute(*owner, node.attr, depth)
        held = parts_of(*owner, node.attr)
        return self._once(
            (owner[1], node.attr, "whole"),
            lambda: _joined(self.value(there, inner, None, value, depth) for there, inner, value in held),
        )

    # -- names -------------------------------------------------------------------------------------------------

    def _name(self, file: FileIndex, scope: Scope, statement: Statement | None, name: str, depth: int) -> Work:
        inner: Scope | None = scope
        while inner is not None:
            if name in bindings_of(inner):
                return self._bound(file, inner, statement if inner is scope else None, name, depth)
            if name in all_parameters(inner):
                if in_place := _mapped_before(inner, name, statement if inner is scope else None):
                    return _mapped(in_place, file)
                return self._once((inner, name), partial(self._parameter, file, inner, name, depth))
            inner = inner.parent
        module, _, last = file.names.resolve(name).rpartition(".")
        there = Modules.of(file.project).module_named(module, file) if file.names.is_bound(name) else None
        if there is None or there is file or depth > _MAX_DEPTH:
            return Work.UNKNOWN
        return self._name(there, there.scopes.module, None, last, depth + 1)

    def _bound(self, file: FileIndex, scope: Scope, at: Statement | None, name: str, depth: int) -> Work:
        """The work for the values of assignments that reach a statement, or of all of them if none is given."""
        if in_place := _mapped_before(scope, name, at):
            return _mapped(in_place, file)
        reaching_here = [found.statement for found in reaching.before(name, at, scope)] if at is not None else []
        statements = reaching_here or bindings_of(scope)[name]
        return _joined(
            self._once((one, name), partial(self._assigned, file, scope, one, name, depth)) for one in statements
        )

    def _assigned(self, file: FileIndex, scope: Scope, statement: Statement, name: str, depth: int) -> Work:
        node = statement.node
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
            return Work.UNKNOWN
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(target, ast.Name):
            return self.value(file, scope, statement, node.value, depth)
        if not isinstance(target, ast.Tuple):
            return Work.UNKNOWN
        place = next((at for at, part in enumerate(target.elts) if dotted(part) == name), None)
        if place is None:
            return Work.UNKNOWN
        if isinstance(node.value, ast.Tuple) and len(node.value.elts) == len(target.elts):
            return self.value(file, scope, statement, node.value.elts[place], depth)
        return (
            self._call(file, scope, statement, node.value, depth, place)
            if isinstance(node.value, ast.Call)
            else (Work.UNKNOWN)
        )

    def _parameter(self, file: FileIndex, scope: Scope, name: str, depth: int) -> Work:
        """The work for the arguments of calls; without known calls, according to the annotation."""
        handed: list[Work] = []
        for site in CallGraph.of(file.project).callers(file, scope):
            given = site.argument(scope, name)
            if given is not None:
                handed.append(self.value(site.file, site.scope, site.statement, given, depth))
        found = _joined(handed)
        return self._annotated(file, scope, name, depth) if found is Work.UNKNOWN else found

    def _annotated(self, file: FileIndex, scope: Scope, name: str, depth: int) -> Work:
        said = annotation_of(scope, name)
        named = dotted(said) if said is not None else None
        found = Modules.of(file.project).find(file.names.resolve(named), file) if named else None
        if found is None or not isinstance(found[1], Class):
            return Work.UNKNOWN
        return self._of_class(found[0], found[1], depth)

    # -- calls -------------------------------------------------------------------------------------------------

    def _call(
        self, file: FileIndex, scope: Scope, statement: Statement | None, call: ast.Call, depth: int, place: int = -1
    ) -> Work:
        """The work for the result of a call; ``place``: in the returned tuple."""
        name = dotted(call.func)
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("map", "apply"):
            return _mapped(call, file)
        if name is None or depth > _MAX_DEPTH:
            return Work.UNKNOWN
        qualified = file.names.resolve(name)
        if _IN_MEMORY.match(qualified):
            return Work.NONE
        if _FOLDERS.match(qualified):
            return Work.SOME
        if _WRAPS.match(qualified) and call.args:
            inner = call.args[0]
            parts = inner.elts if isinstance(inner, ast.List) and "MapDataset" not in qualified else [inner]
            return _joined(self.value(file, scope, statement, part, depth) for part in parts)
        found = Modules.of(file.project).find(qualified, file)
        if found is not None and isinstance(found[1], Class):
            return self._of_class(found[0], found[1], depth, _left_at_none(found[0], found[1], call))
        callee = Values.of(file.project).callee(file, scope, name, {})
        if callee is None:
            return Work.UNKNOWN
        return self._once((callee[1], place), partial(self._returned, *callee, place, depth))

    def _returned(self, file: FileIndex, scope: Scope, place: int, depth: int) -> Work:
        works: list[Work] = []
        for statement in scope.statements:
            given = statement.node.value if isinstance(statement.node, ast.Return) else None
            if place >= 0 and given is not None:
                given = given.elts[place] if isinstance(given, ast.Tuple) and place < len(given.elts) else None
                works += [Work.UNKNOWN] if given is None else []
            if given is not None:
                works.append(self.value(file, scope, statement, given, depth))
        return _joined(works)

    # -- datasets ----------------------------------------------------------------------------------------------

    def _of_class(self, file: FileIndex, owner: Class, depth: int, unset: frozenset[str] = frozenset()) -> Work:
        """The work for a class's samples; ``unset``: attributes of the object that are None."""
        method = Modules.of(file.project).method_of(file, owner, "__getitem__")
        if method is None:
            return Work.UNKNOWN
        data = _Dataset(file, owner, unset)
        return self._once((method[1], data), partial(self._body, *method, data, depth + 1))

    def _body(self, file: FileIndex, scope: Scope, data: _Dataset, depth: int) -> Work:
        """The work of a method that creates a sample of a dataset."""
        works = [Work.NONE]
        for statement in scope.statements:
            if data.skips(statement) or _is_off(file, scope, statement):
                continue
            if isinstance(statement.node, (ast.For, ast.While, ast.With, ast.Try)):
                works.append(Work.UNKNOWN)
            works += [self._in_body(file, scope, call, data, depth) for call in statement.calls]
            works += [
                self._attribute(data.file, data.owner, item.value.attr, depth)
                for item in walk(statement.node)
                if isinstance(item, ast.Subscript)
                and isinstance(item.value, ast.Attribute)
                and dotted(item.value.value) == "self"
            ]
        return _joined(works)

    def _in_body(self, file: FileIndex, scope: Scope, call: ast.Call, data: _Dataset, depth: int) -> Work:
        """The work of a call in such a method."""
        name, last = dotted(call.func), getattr(call.func, "attr", getattr(call.func, "id", ""))
        if _READS.match(last):
            return Work.SOME
        qualified = file.names.resolve(name) if name else ""
        if _QUICK.match(qualified) or (qualified == last and hasattr(builtins, last)):
            return Work.NONE
        callee = Values.of(file.project).callee(file, scope, name, {}) if name and depth <= _MAX_DEPTH else None
        if callee is None:
            return Work.NONE if last in _QUICK_METHODS else Work.UNKNOWN
        return self._once((callee[1], data), partial(self._body, *callee, data, depth + 1))

    def _attribute(self, file: FileIndex, owner: Class, name: str, depth: int) -> Work:
        """The work of taking an item of an attribute: none, unless that is a dataset or opens a file."""
        values = parts_of(file, owner, name)
        if not values:  # `self.x, self.y = load()`
            unpacked = any(f"self.{name}" in bindings_of(method) for method in owner.methods.values())
            return Work.NONE if unpacked and not _DATASET.search(name) else Work.UNKNOWN
        return self._once(
            (owner, name),
            lambda: _joined(self._held(*held, name, depth) for held in values if not _is_none(held.value)),
        )

    def _held(self, file: FileIndex, scope: Scope, value: ast.expr, name: str, depth: int) -> Work:
        names = (dotted(item) for item in walk(value) if isinstance(item, (ast.Name, ast.Attribute)))
        if any(named is not None and _LAZY.search(file.names.resolve(named)) for named in names):
            return Work.UNKNOWN
        found = self.value(file, scope, None, value, depth)
        return found if found is not Work.UNKNOWN or _DATASET.search(name) else Work.NONE


def _left_at_none(file: FileIndex, owner: Class, call: ast.Call) -> frozenset[str]:
    """The attributes that stay None in an object created by a call, because it leaves out their parameters."""
    made = Modules.of(file.project).method_of(file, owner, "__init__")
    if made is None or made[1].owner is None or is_spread(call):
        return frozenset()
    left_out = {
        name
        for name, default in defaults_of(made[1]).items()
        if _is_none(default) and argument_of(call, name, position_of(made[1], name)) is None
    }
    return frozenset(
        name
        for name, values in made[1].owner.attributes.items()
        if all(_is_none(value) or getattr(value, "id", "") in left_out for value, _ in values)
    )


def _is_off(file: FileIndex, scope: Scope, statement: Statement) -> bool:
    """Whether a statement never runs: ``if self.transform is not None``, and no caller passes a transform."""
    switches = Switches.of(file.project)
    return switches.state_of_statement(statement, scope, file) <= State.UNSET


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _mapped_before(scope: Scope, name: str, at: Statement | None) -> ast.Call | None:
    """The last ``dataset.map(convert)`` before a statement, as a statement itself: PaddleNLP's changes the dataset."""
    made = (statement.node.value for statement in scope.statements if isinstance(statement.node, ast.Expr))
    calls = [call for call in made if isinstance(call, ast.Call) and dotted(call.func) == f"{name}.map"]
    return next((call for call in reversed(calls) if at is None or call.lineno < at.node.lineno), None)


def _mapped(call: ast.Call, file: FileIndex) -> Work:
    """The work that ``dataset.map(convert)`` leaves for a loader: none if it has converted all samples in advance.

    PaddleNLP does so with ``lazy=False``, with ``batched=True`` and with two workers or more; without them it converts
    a sample when it is requested. Datasets of Hugging Face are converted in advance, unless they are streamed.
    """
    said = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    lazy, workers = argument_of(call, "lazy", 1), said.get("num_workers")
    if _is_constant(lazy, False) or not _NEVER_STREAMED.isdisjoint(said):
        return Work.NONE
    if isinstance(workers, ast.Constant) and isinstance(workers.value, int) and workers.value > 1:
        return Work.NONE
    is_whole = _is_constant(said.get("batched"), True) or not _OF_COLUMNS.isdisjoint(said)
    return Work.NONE if is_whole and not file.has("treaming") else Work.UNKNOWN


def _is_constant(node: ast.expr | None, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value
