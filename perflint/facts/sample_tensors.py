"""Datasets that make Paddle tensors of their samples one by one, and how to write each as an array of NumPy.

``paddle.to_tensor(label, dtype="int64")`` in ``__getitem__`` is ``np.asarray(label, dtype="int64")``: the loader makes
one tensor of a whole batch of arrays.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perflint.facts.dataset_methods import SamplePart, parts_of_samples, sample_methods
from perflint.index.hierarchy import Hierarchy
from perflint.query import query
from perflint.syntax.bindings import bindings_of, targets_and_values
from perflint.syntax.names import dotted, names_in
from perflint.syntax.parameters import argument_of, is_spread
from perflint.syntax.scopes import Scope, own_parts, terminal
from perflint.syntax.tree import string_of, walk

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

TO_TENSOR = "paddle.to_tensor"
_BOTH = frozenset({"astype", "reshape", "transpose", "flatten", "squeeze"})
"""Methods of tensors that arrays have too, with the same arguments as far as ``_means_the_same`` looks."""
_DTYPE = re.compile(r"(?:u?int|float)\d+$|bool$")
_TRANSFORMS = re.compile(r"trans|augment|preproc|pipeline|to_tensor|normali[sz]e|composed?\b", re.IGNORECASE)
_IMAGES = re.compile(r"(?:^|_)(?:img|image|picture|pic|frame)s?\d*(?:_|$)", re.IGNORECASE)
_DATASETS = re.compile(r"data_?set|subset", re.IGNORECASE)
_CHANNELS_FIRST = (2, 0, 1)
_MOST_NAMES = 12
"""Names that are looked behind for what the data of one tensor is."""
_LISTS = (ast.List, ast.Tuple, ast.ListComp, ast.GeneratorExp, ast.BinOp)


@dataclass(frozen=True)
class SampleTensor:
    """A call of ``paddle.to_tensor`` whose tensor becomes part of a sample, and could as well be an array.

    ``data``: what it is handed.  ``dtype``: the type that it asks for, "" for none.  ``needs_type``: it asks for
    none, and the data may be Python's numbers, of which Paddle makes float32 and NumPy float64.
    """

    call: ast.Call
    data: ast.expr
    dtype: str
    needs_type: bool


@dataclass(frozen=True)
class TensorSample:
    """The tensors that one dataset makes of each sample, all of which could as well be arrays.

    ``may_stay``: another part of the sample may be a tensor already, as code that is not seen makes it.  ``is_image``:
    one of them is a picture.  ``is_drawn``: one of them is made of what another dataset gives.  ``is_indexed``: some
    code takes samples out of the dataset by itself, and may count on tensors.
    """

    tensors: tuple[SampleTensor, ...]
    may_stay: bool
    is_image: bool
    is_drawn: bool
    is_indexed: bool


@query
def sample_tensors(file: FileIndex) -> tuple[TensorSample, ...]:
    """The tensors that each dataset of a file makes of a sample; nothing for those that make none."""
    if not file.has_words("to_tensor"):
        return ()
    methods = (scope for scope in sample_methods(file) if not _collates(file, scope))
    return tuple(sample for scope in methods if (sample := _sample(file, scope)) is not None)


def _sample(file: FileIndex, scope: Scope) -> TensorSample | None:
    """The tensors of one dataset; None where the sample holds others that stay, or a function of its own collates."""
    parts = list(parts_of_samples(scope))
    tensors, stay = _of_method(file, parts)
    rest = [part for part in parts if _made_by(file, part)[0] is None]
    if not tensors or stay or any(_is_tensor(file, part.node) for part in rest):
        return None
    owner = scope.owner.name if scope.owner is not None else ""
    if is_collated(file, owner):
        return None
    made = [part.node for part in parts if part not in rest]
    sources = [source for node in made for source in _sources(scope, node)]
    return TensorSample(
        tensors,
        may_stay=any(_is_transformed(part.node) for part in rest),
        is_image=any(map(_is_image, sources)),
        is_drawn=any(map(_draws, sources)),
        is_indexed=is_indexed(file, owner),
    )


def _is_tensor(file: FileIndex, node: ast.expr) -> bool:
    """Whether a part of a sample is a tensor that stays one: a function of Paddle makes it, or ``ToTensor`` does."""
    if not isinstance(node, ast.Call):
        return False
    name = file.names.resolve(dotted(node.func) or "")
    is_made = name.startswith("paddle.") and name.rpartition(".")[2].islower()
    return is_made or (_is_transformed(node) and (file.has("ToTensor") or "to_tensor" in name))


def _is_transformed(node: ast.expr) -> bool:
    """Whether a part of a sample comes out of the transforms that the dataset holds: ``self.transform(image)``."""
    name = (dotted(node.func) or "") if isinstance(node, ast.Call) else ""
    return name.startswith("self.") and _TRANSFORMS.search(name) is not None


def _sources(scope: Scope, node: ast.expr) -> Iterator[ast.expr]:
    """The expressions that data is made of: those in it, and behind its names."""
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


def _is_image(node: ast.expr) -> bool:
    """Whether data is a picture, by its name, or because its axes are put in the order of one."""
    if any(_IMAGES.search(part) for name in names_in(node) for part in name.split(".")):
        return True
    return any(
        isinstance(item, (ast.Tuple, ast.List))
        and [getattr(axis, "value", None) for axis in item.elts] == list(_CHANNELS_FIRST)
        for item in walk(node)
    )


def _draws(node: ast.expr) -> bool:
    """Whether data comes out of another dataset: ``self.dataset[index]``."""
    return any(
        isinstance(item, ast.Subscript) and _DATASETS.search((dotted(item.value) or "").rpartition(".")[2])
        for item in walk(node)
    )


def is_collated(file: FileIndex, owner: str) -> bool:
    """Whether a loader of the project puts the samples of a dataset together with a function of its own.

    It stands in the file of the dataset, or in one that names it.
    """
    users = dict.fromkeys((file, *file.project.mentions.of(owner)))
    return any(
        _is_given(argument_of(call, "collate_fn", None)) and not _is_of_another(user, scope, call, owner)
        for user in users
        if user.has_words("collate_fn")
        for scope in user.scopes.scopes
        for statement in scope.statements
        for call in statement.calls
    )


def _is_given(collate: ast.expr | None) -> bool:
    is_none = isinstance(collate, ast.Constant) and collate.value is None
    return collate is not None and not is_none and "default_collate" not in (dotted(collate) or "")


def _is_of_another(file: FileIndex, scope: Scope, call: ast.Call, owner: str) -> bool:
    """Whether a loader is plainly given an object of another class."""
    dataset = argument_of(call, "dataset", 0)
    name = dotted(dataset) if dataset is not None else None
    made = [dataset] if name is None else list(_values(file, scope, name))
    names = {terminal(value) for value in made if isinstance(value, ast.Call)}
    return bool(names) and owner not in names and all((last or "")[:1].isupper() for last in names)


def _values(file: FileIndex, scope: Scope, name: str) -> Iterator[ast.expr]:
    for place in (scope, file.scopes.module):
        for binding in bindings_of(place).get(name, ()):
            yield from (value for target, value in targets_and_values(binding.node) if value is not None)


def is_indexed(file: FileIndex, owner: str) -> bool:
    """Whether code of the project takes samples out of a dataset by itself: ``data = Faces(path)``, ``data[0]``."""
    users = dict.fromkeys((file, *file.project.mentions.of(owner)))
    return any(_indexes(user, owner) for user in users if user.may_call(owner))


def _indexes(file: FileIndex, owner: str) -> bool:
    statements = [statement for scope in file.scopes.scopes for statement in scope.statements]
    made = {
        name
        for statement in statements
        for target, value in targets_and_values(statement.node)
        if isinstance(value, ast.Call) and terminal(value) == owner and (name := dotted(target))
    }
    return bool(made) and any(
        isinstance(item, ast.Subscript) and isinstance(item.ctx, ast.Load) and dotted(item.value) in made
        for statement in statements
        for part in own_parts(statement.node)
        for item in walk(part)
    )


def _collates(file: FileIndex, scope: Scope) -> bool:
    """Whether a dataset puts its batches together by itself, and so may count on tensors."""
    lineage = Hierarchy.of(file.project).lineage(file, scope.owner) if scope.owner is not None else []
    return any("collat" in name for _, owner in lineage for name in owner.methods)


def _of_method(file: FileIndex, parts: list[SamplePart]) -> tuple[tuple[SampleTensor, ...], bool]:
    """The tensors that nothing else is done with on any way into a sample, in order, and whether there are others."""
    found: dict[ast.Call, SampleTensor | None] = {}
    for part in parts:
        call, same = _made_by(file, part)
        if call is not None:
            tensor = _tensor(call, part) if same and not part.is_shared else None
            found[call] = tensor if found.get(call, tensor) is not None else None
    tensors = (tensor for tensor in found.values() if tensor is not None)
    ordered = tuple(sorted(tensors, key=lambda tensor: (tensor.call.lineno, tensor.call.col_offset)))
    return ordered, len(ordered) < len(found)


def _made_by(file: FileIndex, part: SamplePart) -> tuple[ast.Call | None, bool]:
    """The call of ``paddle.to_tensor`` that a part of a sample begins with, and whether an array would do as well."""
    node, same = part.node, True
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
        same = same and _means_the_same(node.func.attr, node)
        node = node.func.value
    is_tensor = isinstance(node, ast.Call) and file.names.resolve(dotted(node.func) or "") == TO_TENSOR
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
    """Whether data is plainly made of Python's numbers, which may be fractions: ``[label]``, ``0.5``, ``float(x)``."""
    if isinstance(node, ast.Call):
        return dotted(node.func) == "float"
    return isinstance(node, _LISTS) or (isinstance(node, ast.Constant) and isinstance(node.value, float))


def _means_the_same(method: str, call: ast.Call) -> bool:
    """Whether an array takes the same method as a tensor: ``x.astype("float32")``, ``x.reshape([-1])``."""
    if method not in _BOTH:
        return False
    if method == "astype":
        kinds = [*call.args, *(keyword.value for keyword in call.keywords)]
        return len(kinds) == 1 and string_of(kinds[0]) is not None
    return not call.keywords


def _dtype(node: ast.expr | None) -> str | None:
    """The type that is asked for, as NumPy calls it; None where it is no type that NumPy has, or not known."""
    if node is None or (isinstance(node, ast.Constant) and node.value is None):
        return ""
    said = string_of(node) or (dotted(node) or "").rpartition(".")[2]
    return said if _DTYPE.match(said) else None
