"""PPF106 and PPF108: datasets that create a tensor, or read the same file again, for each sample."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from perflint.catalogue import shipped
from perflint.findings import Confidence, Fix, Related
from perflint.flow.sources import EVERYTHING, Through, ValueSource, asked, sources
from perflint.index.hierarchy import Hierarchy
from perflint.index.project import FileIndex, Place
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, rule
from perflint.lint.statement_code import Instead, statement_around
from perflint.query import query
from perflint.rules.edits import call_in
from perflint.rules.sample_copies import SampleCopy, read_in_process, sample_copies
from perflint.rules.spelled import spelling
from perflint.syntax import reaching
from perflint.syntax.bindings import bindings_of, loads_of, targets_and_values
from perflint.syntax.names import dotted, names_in
from perflint.syntax.parameters import argument_of, arguments_of, is_none, is_spread
from perflint.syntax.scopes import Class, Scope, Statement, terminal
from perflint.syntax.tree import string_of, walk

# Finds the methods that create the samples of a dataset, and the parts of a sample: ``return {"x": x}, label``.


@query
def sample_methods(file: FileIndex) -> tuple[Scope, ...]:
    """The ``__getitem__`` methods of the datasets that a file defines for training."""
    if not file.has_words("__getitem__") or file.is_quiet or file.is_foreign or file.is_offline:
        return ()
    base_names = Hierarchy.of(file.project).base_names
    owners = (owner for owner in file.scopes.classes.values() if "__getitem__" in owner.methods)
    return tuple(owner.methods["__getitem__"] for owner in owners if "paddle.io.Dataset" in base_names(file, owner))


class SamplePart(NamedTuple):
    """An expression that is part of a sample, or all of it, with its statement.

    ``is_shared``: something else uses it before the ``return``: ``sample = self.transform(sample)``.
    """

    node: ast.expr
    statement: Statement
    is_shared: bool = False


def parts_of_samples(scope: Scope) -> Iterator[SamplePart]:
    """The expressions that a method puts into its samples; names are followed to their values."""
    for statement in scope.statements:
        if isinstance(statement.node, ast.Return) and statement.node.value is not None:
            yield from _parts(SamplePart(statement.node.value, statement), scope, frozenset())


def _parts(part: SamplePart, scope: Scope, seen: frozenset[ast.expr]) -> Iterator[SamplePart]:
    node = part.node
    if node in seen:
        return
    seen |= {node}
    if isinstance(node, ast.Name):
        yield from _bound(part, node, scope, seen)
        return
    inner = _inside(node)
    if not inner:
        yield part
    for item in inner:
        yield from _parts(part._replace(node=item), scope, seen)


def _bound(part: SamplePart, name: ast.Name, scope: Scope, seen: frozenset[ast.expr]) -> Iterator[SamplePart]:
    """The value of a name at a statement, and what is put into it: ``sample["x"] = x``, ``sample.append(x)``.

    For ``image, label = self.transform(image, label)``, each name has the call as its value.
    """
    for binding in reaching.before(name.id, part.statement, scope):
        node = binding.statement.node
        if isinstance(node, ast.Assign) and all(isinstance(target, ast.Name) for target in node.targets):
            is_shared = part.is_shared or _is_read(name.id, scope, binding.statement, part.statement)
            yield from _parts(SamplePart(node.value, binding.statement, is_shared), scope, seen)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            yield SamplePart(node.value, binding.statement, is_shared=True)
    for statement in scope.statements:
        for value in _put_into(name.id, statement.node):
            is_shared = part.is_shared or _is_read(name.id, scope, statement, part.statement)
            yield from _parts(SamplePart(value, statement, is_shared), scope, seen)


def _is_read(name: str, scope: Scope, after: Statement, at: Statement) -> bool:
    """Whether anything below a statement reads a name, except for a ``return``, additions to it, and one place."""
    return any(
        statement.start > after.start
        and count > max(_returned(statement.node, name), statement is at)
        and not any(True for _ in _put_into(name, statement.node))
        for statement, count in loads_of(scope).get(name, ())
    )


def _returned(node: ast.stmt, name: str) -> int:
    """How often a statement returns the value of a name as a part of a sample: twice for ``return x, y, y``."""
    waiting, found = [node.value] if isinstance(node, ast.Return) and node.value is not None else [], 0
    while waiting:
        part = waiting.pop()
        found += isinstance(part, ast.Name) and part.id == name
        waiting += _inside(part)
    return found


def _inside(node: ast.expr) -> list[ast.expr]:
    """The parts of an expression: those of a tuple, a list, a dict, or a choice."""
    if isinstance(node, (ast.Tuple, ast.List)):
        return node.elts
    if isinstance(node, ast.Dict):
        return node.values
    if isinstance(node, ast.Call) and dotted(node.func) in ("dict", "tuple", "list"):
        return arguments_of(node)
    return [node.body, node.orelse] if isinstance(node, ast.IfExp) else []


def _put_into(name: str, node: ast.stmt) -> Iterator[ast.expr]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Subscript) and dotted(target.value) == name:
                yield node.value
    call = call_in(node)
    if call is not None and dotted(call.func) == f"{name}.append":
        yield from call.args


# Finds datasets that create a Paddle tensor for each sample, and how to write each as a NumPy array.
#
# ``paddle.to_tensor(label, dtype="int64")`` in ``__getitem__`` could be ``np.asarray(label, dtype="int64")``: the
# loader then creates one tensor for a whole batch of arrays.

TO_TENSOR = "paddle.to_tensor"
_BOTH = frozenset({"astype", "reshape", "transpose", "flatten", "squeeze"})
"""Methods of tensors that arrays have too, with the same arguments as far as ``_means_the_same`` checks."""
_DTYPE = re.compile(r"(?:u?int|float)\d+$|bool$")
_TRANSFORMS = re.compile(r"trans|augment|preproc|pipeline|to_tensor|normali[sz]e|composed?\b", re.IGNORECASE)
_DATASETS = re.compile(r"data_?set|subset", re.IGNORECASE)
_MOST_NAMES = 12
"""How many names are followed to find the data of one tensor."""
_LISTS = (ast.List, ast.Tuple, ast.ListComp, ast.GeneratorExp, ast.BinOp)


@dataclass(frozen=True)
class SampleTensor:
    """A call of ``paddle.to_tensor`` whose tensor becomes part of a sample, but could be an array as well.

    ``data``: its argument. ``dtype``: the requested type, "" for none. ``needs_type``: no type is requested, and the
    data may be Python numbers, which become float32 in Paddle and float64 in NumPy.
    """

    call: ast.Call
    data: ast.expr
    dtype: str
    needs_type: bool


@dataclass(frozen=True)
class TensorSample:
    """The tensors that one dataset creates for each sample, all of which could be arrays as well.

    ``may_stay``: another part of the sample may already be a tensor, created by unknown code. ``is_drawn``: one of them
    comes from another dataset. ``is_indexed``: some code takes samples from the dataset directly, and may rely on
    tensors.
    """

    tensors: tuple[SampleTensor, ...]
    may_stay: bool
    is_drawn: bool
    is_indexed: bool


@query
def sample_tensors(file: FileIndex) -> tuple[TensorSample, ...]:
    """The tensors that each dataset of a file creates for a sample, without datasets that create none."""
    if not file.has_words("to_tensor"):
        return ()
    places = (Place(file, scope) for scope in sample_methods(file))
    samples = (_sample(at) for at in places if not _collates(at))
    return tuple(sample for sample in samples if sample is not None)


def _sample(at: Place) -> TensorSample | None:
    """The tensors of one dataset; None if the sample contains others that stay, or a custom function collates."""
    parts = list(parts_of_samples(at.scope))
    tensors, stay = _tensors_of(at.file, parts)
    rest = [part for part in parts if _made_by(at.file, part)[0] is None]
    if not tensors or stay or any(_is_tensor(at.file, part.node) for part in rest):
        return None
    owner = at.scope.owner.name if at.scope.owner is not None else ""
    if is_collated(at.file, owner):
        return None
    sources = [source for part in parts if part not in rest for source in _sources(at.scope, part.node)]
    return TensorSample(
        tensors,
        may_stay=any(_is_transformed(part.node) for part in rest),
        is_drawn=any(map(_draws, sources)),
        is_indexed=is_indexed(at.file, owner),
    )


def _is_tensor(file: FileIndex, node: ast.expr) -> bool:
    """Whether a part of a sample is a tensor that stays one: from a function of Paddle, or from ``ToTensor``."""
    if not isinstance(node, ast.Call):
        return False
    name = file.names.qualified(node.func)
    is_made = name.startswith("paddle.") and name.rpartition(".")[2].islower()
    return is_made or (_is_transformed(node) and (file.has("ToTensor") or "to_tensor" in name))


def _is_transformed(node: ast.expr) -> bool:
    """Whether a part of a sample comes from the transforms of the dataset: ``self.transform(image)``."""
    name = (dotted(node.func) or "") if isinstance(node, ast.Call) else ""
    return name.startswith("self.") and _TRANSFORMS.search(name) is not None


def _sources(scope: Scope, node: ast.expr) -> Iterator[ast.expr]:
    """The expressions that data consists of: those in it, and the values of its names."""
    waiting, seen = [node], set[str]()
    while waiting and len(seen) < _MOST_NAMES:
        one = waiting.pop()
        yield one
        for name in set(names_in(one)) - seen:
            seen.add(name)
            waiting += [
                value
                for binding in bindings_of(scope).get(name, ())
                for target, value in targets_and_values(binding.node)
                if value is not None and name in names_in(target)
            ]


def _draws(node: ast.expr) -> bool:
    """Whether data comes from another dataset: ``self.dataset[index]``."""
    return any(
        isinstance(item, ast.Subscript) and _DATASETS.search((dotted(item.value) or "").rpartition(".")[2])
        for item in walk(node)
    )


def is_collated(file: FileIndex, owner: str) -> bool:
    """Whether a loader of the project collates the samples of a dataset with a custom function.

    Only the file of the dataset, and files that name it, are checked.
    """
    users = dict.fromkeys((file, *file.project.mentions.of(owner)))
    return any(
        _is_given(argument_of(call, "collate_fn", None)) and not _is_of_another(Place(user, scope), call, owner)
        for user in users
        if user.has_words("collate_fn")
        for scope, _, call in user.calls
    )


def _is_given(collate: ast.expr | None) -> bool:
    return collate is not None and not is_none(collate) and "default_collate" not in (dotted(collate) or "")


def _is_of_another(at: Place, call: ast.Call, owner: str) -> bool:
    """Whether a loader obviously gets an object of another class."""
    dataset = argument_of(call, "dataset", 0)
    made = sources(dataset, at, through=Through.NAME | Through.ATTRIBUTE) if dataset is not None else ()
    names = {terminal(source.node) for source in made if isinstance(source.node, ast.Call)}
    return bool(names) and owner not in names and all((last or "")[:1].isupper() for last in names)


def is_indexed(file: FileIndex, owner: str) -> bool:
    """Whether code of the project takes samples from a dataset directly: ``data = Faces(path)``, ``data[0]``."""
    users = dict.fromkeys((file, *file.project.mentions.of(owner)))
    return any(_indexes(user, owner) for user in users if user.may_call(owner))


def _indexes(file: FileIndex, owner: str) -> bool:
    made = {
        name
        for _, statement in file.statements
        for target, value in targets_and_values(statement.node)
        if isinstance(value, ast.Call) and terminal(value) == owner and (name := dotted(target))
    }
    return bool(made) and any(
        isinstance(item, ast.Subscript) and isinstance(item.ctx, ast.Load) and dotted(item.value) in made
        for _, statement in file.statements
        for item in statement.nodes
    )


def _collates(at: Place) -> bool:
    """Whether a dataset collates its own batches, and so may rely on tensors."""
    lineage = Hierarchy.of(at.file.project).lineage(at.file, at.scope.owner) if at.scope.owner is not None else []
    return any("collat" in name for _, owner in lineage for name in owner.methods)


def _tensors_of(file: FileIndex, parts: list[SamplePart]) -> tuple[tuple[SampleTensor, ...], bool]:
    """The tensors that have no other use on any path into a sample, in order, and whether there are others."""
    found: dict[ast.Call, SampleTensor | None] = {}
    for part in parts:
        call, same = _made_by(file, part)
        if call is not None:
            tensor = _tensor(call, part) if same and not part.is_shared else None
            found[call] = tensor if found.get(call, tensor) is not None else None
    tensors = [tensor for tensor in found.values() if tensor is not None]
    tensors.sort(key=lambda tensor: (tensor.call.lineno, tensor.call.col_offset))
    return tuple(tensors), len(tensors) < len(found)


def _made_by(file: FileIndex, part: SamplePart) -> tuple[ast.Call | None, bool]:
    """The call of ``paddle.to_tensor`` that a part of a sample begins with, and whether an array would work as well."""
    node, same = part.node, True
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
        same = same and _means_the_same(node.func.attr, node)
        node = node.func.value
    is_tensor = isinstance(node, ast.Call) and file.names.qualified(node.func) == TO_TENSOR
    return (node if isinstance(node, ast.Call) and is_tensor else None), same


def _tensor(call: ast.Call, part: SamplePart) -> SampleTensor | None:
    data, dtype = argument_of(call, "data", 0), _dtype(argument_of(call, "dtype", 1))
    is_told_more = argument_of(call, "place", 2) is not None or argument_of(call, "stop_gradient", 3) is not None
    if data is None or dtype is None or is_told_more or is_spread(call):
        return None
    outer = part.node
    is_cast = isinstance(outer, ast.Call) and isinstance(outer.func, ast.Attribute) and outer.func.attr == "astype"
    return SampleTensor(call, data, dtype, not dtype and not is_cast and _may_be_numbers(data))


def _may_be_numbers(node: ast.expr) -> bool:
    """Whether data obviously consists of Python numbers, which may be fractions: ``[label]``, ``0.5``, ``float(x)``."""
    if isinstance(node, ast.Call):
        return dotted(node.func) == "float"
    return isinstance(node, _LISTS) or (isinstance(node, ast.Constant) and isinstance(node.value, float))


def _means_the_same(method: str, call: ast.Call) -> bool:
    """Whether an array has the same method as a tensor: ``x.astype("float32")``, ``x.reshape([-1])``."""
    if method not in _BOTH:
        return False
    if method == "astype":
        kinds = arguments_of(call)
        return len(kinds) == 1 and string_of(kinds[0]) is not None
    return not call.keywords


def _dtype(node: ast.expr | None) -> str | None:
    """The requested type, as named in NumPy; None if NumPy does not have it, or it is unknown."""
    if node is None or is_none(node):
        return ""
    said = string_of(node) or (dotted(node) or "").rpartition(".")[2]
    return said if _DTYPE.match(said) else None


# PPF106: a dataset that creates a tensor for each sample, although the loader would create one for a batch.

TENSORS = shipped()["PPF106"]
_IN_WORKERS = "tensors in workers"
"""The event if the process that trains is not known to create them."""


def _tensor_places(file: FileIndex) -> Iterator[Candidate]:
    for sample in sample_tensors(file):
        call = sample.tensors[0].call
        statement = statement_around(file.tree, call)
        if statement is not None:
            yield Candidate(call, statement, sample)


@rule(TENSORS.code, at=At.ANYWHERE, find=_tensor_places, claims=False, heeds_claims=False, needs_kinds=False)
def tensors_of_samples(found: TensorSample, context: Context) -> None:
    """Report the first tensor that a dataset creates from a sample; the fix is about all of them."""
    rows = [context.file.row(tensor.call) for tensor in found.tensors[1:]]
    copies = sample_copies(context.file.project).get(context.file.path, {})
    in_process = any(tensor.call in copies and not copies[tensor.call].in_workers for tensor in found.tensors)
    context.report(
        _fix(found, context),
        related=tuple(Related(context.file.path, row, "creates a tensor of the same sample") for row in rows),
        confidence=Confidence.LOW if found.may_stay else Confidence.HIGH,
        event="" if in_process else _IN_WORKERS,
        count=f"{len(rows) + 1} tensors" if rows else "a tensor",
    )


def _copy_places(file: FileIndex) -> Iterator[Candidate]:
    """What makes a tensor of each sample elsewhere: in a method that is called, with other tensors, when collating."""
    known = {tensor.call for sample in sample_tensors(file) for tensor in sample.tensors}
    for node, found in sample_copies(file.project).get(file.path, {}).items():
        statement = statement_around(file.tree, node)
        if statement is not None and node not in known:
            yield Candidate(node, statement, found)


@rule(TENSORS.code, at=At.ANYWHERE, find=_copy_places, claims=False, needs_kinds=False)
def copies_of_samples(found: SampleCopy, context: Context) -> None:
    """Report what copies each sample to the device by itself; where arrays can be kept is for a person to decide."""
    path, row = found.reader
    case, words = "a tensor each", "collated" if found.collated else "made on the way"
    if isinstance(context.node, ast.Subscript):
        case, words = ("a row each", "written") if found.collated else ("an item each", "taken from a tensor")
    context.report(
        TENSORS.words(words),
        related=tuple(Related(*other, "copies each sample, too") for other in found.others),
        event=_IN_WORKERS if found.in_workers else "",
        message=TENSORS.texts[f"{case} in workers" if found.in_workers else case],
        reader=TENSORS.texts["for a place" if row else "for a training"].format(place=context.where(path, row)),
    )


def _fix(found: TensorSample, context: Context) -> Fix:
    untyped = next((tensor for tensor in found.tensors if tensor.needs_type), None)
    if untyped is not None:
        return TENSORS.words("untyped", data=ast.unparse(untyped.data))
    if found.is_drawn or found.is_indexed:
        return TENSORS.words("drawn" if found.is_drawn else "indexed")
    spelled = spelling("numpy.asarray", found.tensors[0].call, context.file)
    if spelled is None:
        return TENSORS.words("taken")
    arrays = (_array(tensor, spelled.name, context) for tensor in found.tensors)
    return spelled.trusted(TENSORS.fix(context.edits(*arrays)))


def _array(tensor: SampleTensor, asarray: str, context: Context) -> Instead:
    dtype = f', dtype="{tensor.dtype}"' if tensor.dtype else ""
    return Instead(tensor.call, f"{asarray}({context.text(tensor.data)}{dtype})")


# Finds files that a dataset reads again for each sample, although they are the same each time.
#
# ``pd.read_csv(self.annotations)`` in ``__getitem__`` parses the whole table for one row of it. A path that depends
# on the index, such as ``self.files[index]``, is another file each time.

_READS = re.compile(
    r"numpy\.(?:load|loadtxt|genfromtxt|fromfile)$|pandas\.read_\w+$|json\.load$|pickle\.load$|h5py\.File$|lmdb\.open$"
    r"|netCDF4\.(?:MF)?Dataset$|paddle\.load$|scipy\.io\.loadmat$|yaml\.(?:safe_)?load$|joblib\.load$|cv2\.imread$|PIL\.Image\.open$"
    r"|(?:skimage\.io|imageio|matplotlib\.(?:pyplot|image))\.imread$|xml\.etree\.ElementTree\.parse$|open$"
)
_WORDS = ("load", "open", "imread", "read_csv", "loadtxt", "File", "genfromtxt", "fromfile", "loadmat", "parse")
_ARRAYS = re.compile(r"netCDF4\.(?:MF)?Dataset$|h5py\.File$")
"""What opens a file whose arrays stay on the disk: to take a slice of one is to read it."""
_SAME = re.compile(r"os\.path\.\w+$|os\.fspath$|pathlib\.(?:Pure)?Path$|(?:str|int|len|list|sorted|tuple)$")
_SAME_METHODS = frozenset({"format", "join", "joinpath", "lower", "upper", "replace", "strip", "with_suffix"})
_UNKNOWN = (ast.Lambda, ast.Await, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _with_helpers(method: Scope) -> list[Scope]:
    """A method, and those of its class that it runs: ``self.load(index)``."""
    own = method.owner.methods if method.owner is not None else {}
    found = [method]
    for scope in found:
        called = [dotted(call.func) or "" for call in scope.calls]
        helpers = [own[name[5:]] for name in called if name.startswith("self.") and name[5:] in own]
        found += [helper for helper in dict.fromkeys(helpers) if helper not in found]
    return found


def _repeated_reads(at: Place) -> Iterator[Candidate]:
    """The outermost of these calls: ``json.load(open(path))`` is one read, and so is reading an open file.

    Of a variable that a file holds it is the first slice.
    """
    jumps = any(isinstance(call.func, ast.Attribute) and call.func.attr == "seek" for call in at.scope.calls)
    variables: set[str | None] = set()
    for statement in at.scope.statements:
        if jumps or _is_kept(statement) or any(_asks_for_kept(test) for test, _ in statement.conditions):
            continue
        inside: set[ast.AST] = set()
        slices = [item for item in statement.nodes if isinstance(item, ast.Subscript)]
        reads: list[ast.Call | ast.Subscript] = [*slices, *statement.calls]
        for read in reads:
            if read not in inside and _reads_the_same(at.before(statement), read):
                inside.update(walk(read))
                variable = ast.unparse(read.value) if isinstance(read, ast.Subscript) else None
                if variable is None or variable not in variables:
                    yield Candidate(read, statement.node, at.scope.owner)
                variables.add(variable)


def _reads_the_same(at: Place, read: ast.Call | ast.Subscript) -> bool:
    if isinstance(read, ast.Subscript):
        is_same = _takes_rows(read) and _is_same(asked(read, at, through=Through.NAME))
        return is_same and _is_on_disk(asked(read.value, at, through=EVERYTHING & ~Through.ITEM))
    qualified = at.file.names.qualified(read.func)
    values = arguments_of(read)
    if not _READS.match(qualified) or not values:
        return False
    if qualified == "numpy.load" and argument_of(read, "mmap_mode", 1) is not None:
        return False
    return all(_is_same(asked(value, at, through=Through.NAME)) for value in values)


def _takes_rows(read: ast.Subscript) -> bool:
    """``rain[:n]``, ``rain[...]``, ``rain[()]``: not a key."""
    index = read.slice.elts if isinstance(read.slice, ast.Tuple) else [read.slice]
    return not index or any(isinstance(each, ast.Slice) or getattr(each, "value", None) is ... for each in index)


def _is_on_disk(value: ValueSource) -> bool:
    """Whether items of a variable are read from a file each time: ``netCDF4.Dataset(path).variables["rain"]``."""
    for source in value.sources():
        node = source.node
        while (isinstance(node, ast.Subscript) and not _takes_rows(node)) or (
            isinstance(node, ast.Attribute) and node.attr == "variables"
        ):
            node = node.value
        if _ARRAYS.match(source.qualified) or (node is not source.node and _is_on_disk(source.part(node))):
            return True
    return False


def _is_same(value: ValueSource) -> bool:
    """Whether an expression has the same value for each sample, judging by the class."""
    return all(_is_same_part(value.part(item)) for item in walk(value.node) if isinstance(item, ast.expr))


def _is_same_part(part: ValueSource) -> bool:
    node, place = part.node, part.place
    if isinstance(node, ast.Name):
        return all(map(_is_same_source, part.sources())) and not part.is_circular
    if isinstance(node, ast.Call):
        return _gives_the_same(place.file, node)
    if isinstance(node, ast.Attribute) and dotted(node.value) == "self" and place.scope.owner is not None:
        return node.attr in _SAME_METHODS or _is_set_at_the_start(place.function, node.attr)
    return not isinstance(node, _UNKNOWN)


def _is_same_source(source: ValueSource) -> bool:
    """Whether what a name is bound to stays the same; not an open file, where the opening is the finding."""
    node, file, scope = source.node, source.place.file, source.place.scope
    if not source.is_known:
        return False
    if isinstance(node, ast.Name):  # it leads nowhere
        return node.id == "self" or hasattr(builtins, node.id) or file.names.is_bound(node.id)
    if scope is file.scopes.module:
        return True
    opens = isinstance(node, ast.Call) and _READS.match(file.names.qualified(node.func))
    return not opens and _is_same(source)


def _is_set_at_the_start(at: Place, name: str) -> bool:
    """Whether only ``__init__`` sets an attribute."""
    assert at.scope.owner is not None
    lineage = Hierarchy.of(at.file.project).lineage(at.file, at.scope.owner)
    setters = [method.name for _, owner in lineage for _, method in owner.attributes.get(name, ())]
    return bool(setters) and all(setter == "__init__" for setter in setters)


def _gives_the_same(file: FileIndex, call: ast.Call) -> bool:
    """Whether a call returns the same for the same arguments."""
    qualified = file.names.qualified(call.func)
    if _SAME.match(qualified) or _READS.match(qualified):
        return True
    return isinstance(call.func, ast.Attribute) and call.func.attr in _SAME_METHODS


def _asks_for_kept(test: ast.expr) -> bool:
    """Whether a test checks what the object has already read: ``if self.file is None``."""
    return any(
        (isinstance(item, ast.Compare) and any(isinstance(operator, (ast.Is, ast.NotIn)) for operator in item.ops))
        or (isinstance(item, ast.UnaryOp) and isinstance(item.op, ast.Not))
        for item in walk(test)
    )


def _is_kept(statement: Statement) -> bool:
    """Whether a statement stores what it reads in the object: ``self.file = h5py.File(path)``."""
    targets = statement.node.targets if isinstance(statement.node, ast.Assign) else []
    return any((dotted(item) or "").startswith("self.") for target in targets for item in walk(target))


# PPF108: a dataset that reads the same file again for each sample.

READ_AGAIN = shipped()["PPF108"]
_AGAIN_ELSEWHERE = "file that others read again"
"""The event if the process that trains is not known to read it."""
_HANDLES = ("h5py.File", "lmdb.open", "netCDF4.Dataset")


@query
def _repeated_places(file: FileIndex) -> list[Candidate]:
    methods = sample_methods(file) if file.has_words(*_WORDS, "netCDF4") else ()
    scopes = dict.fromkeys(scope for method in methods for scope in _with_helpers(method))
    return [read for scope in scopes for read in _repeated_reads(Place(file, scope))]


@rule(READ_AGAIN.code, at=At.ANYWHERE, find=_repeated_places, claims=False, heeds_claims=False, needs_kinds=False)
def reads_again(owner: Class, context: Context) -> None:
    """Report a read in ``__getitem__`` that does not depend on the index."""
    read = context.node
    if not isinstance(read, ast.Call):
        context.report(READ_AGAIN.words("slice"), message=READ_AGAIN.texts["slice"])
        return
    case = "handle" if context.name(read.func) in _HANDLES else ""
    event = "" if owner in read_in_process(context.file.project) else _AGAIN_ELSEWHERE
    context.report(READ_AGAIN.words(case), event=event)
