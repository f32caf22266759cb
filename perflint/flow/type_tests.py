"""Tests of a value's type (``isinstance(x, paddle.Tensor)``): what each outcome says, and which is impossible."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from perflint.index.kinds import (
    DICT_TAG,
    FUNCTION_TAG,
    HOST,
    LAYER_TAG,
    OBJECT_TAG,
    TENSOR_TAG,
    UNKNOWN,
    Kind,
)
from perflint.syntax.names import dotted
from perflint.syntax.scopes import required_parts

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

_TENSORS = frozenset({"Tensor", "VarBase"})
_NUMBERS = frozenset({"float", "int", "bool", "complex", "str", "bytes"})
_HOST_MODULES = ("numpy.", "np.", "numbers.")
_OTHERS = frozenset({OBJECT_TAG, LAYER_TAG, FUNCTION_TAG})
_DEEPEST = 9


class _Asked(NamedTuple):
    """A test of one value: whether it is a tensor, or else a number, a string or an array in host memory."""

    node: ast.expr
    is_tensor: bool


def narrowed(test: ast.expr, value: bool, env: Mapping[str, Kind], file: FileIndex) -> dict[str, Kind]:
    """The kinds of names in the case that a test is ``value``, as far as that says more than ``env``.

    If ``isinstance(x, float)`` is true, ``x`` is on the host; if ``isinstance(x, paddle.Tensor)`` is false, it is not a
    tensor. If it is true, an unknown ``x`` still does not count as a tensor: the branch may never run.
    """
    found: dict[str, Kind] = {}
    for part, truth in required_parts(test, value):
        asked = asked_type(part, file)
        name = dotted(asked.node) if asked is not None else None
        if asked is None or name is None:
            continue
        known: Kind = env.get(name, UNKNOWN)
        if truth and not asked.is_tensor and not known.is_host:
            found[name] = HOST
        elif not truth and asked.is_tensor and known.tag == TENSOR_TAG:
            found[name] = UNKNOWN
    return found


def impossible(test: ast.expr, value: bool, kind: Callable[[ast.expr], Kind], file: FileIndex, depth: int = 0) -> bool:
    """Whether the kinds of the tested values rule out that a test is ``value``."""
    if depth > _DEEPEST:
        return False
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return impossible(test.operand, not value, kind, file, depth + 1)
    if isinstance(test, ast.BoolOp):
        parts = (impossible(part, value, kind, file, depth + 1) for part in test.values)
        return any(parts) if isinstance(test.op, ast.And) == value else all(parts)
    asked = asked_type(test, file)
    return asked is not None and _is_ruled_out(kind(asked.node), asked, value)


def _is_ruled_out(kind: Kind, asked: _Asked, value: bool) -> bool:
    if kind.tag == TENSOR_TAG:  # it may also be a list of tensors, unless it is known to have no dimensions
        return kind.scalar and not kind.guess and value != asked.is_tensor
    if kind.tag == DICT_TAG:
        return value
    is_other = kind.tag in _OTHERS and bool(kind.type) and not kind.type.startswith("paddle.")
    return value and (is_other or (asked.is_tensor and kind.is_host))


def asked_type(test: ast.expr, file: FileIndex) -> _Asked | None:
    """Which value a test asks for its type; None if it asks for something else."""
    if not isinstance(test, ast.Call) or not test.args or test.keywords:
        return None
    name = dotted(test.func) or ""
    if name != "isinstance" or len(test.args) != 2:
        return _Asked(test.args[0], True) if file.names.resolve(name) == "paddle.is_tensor" else None
    types = test.args[1].elts if isinstance(test.args[1], ast.Tuple) else [test.args[1]]
    names = [file.names.resolve(dotted(each) or "") for each in types]
    for are, is_tensor in ((_is_tensor, True), (_is_on_host, False)):
        if names and all(map(are, names)):
            return _Asked(test.args[0], is_tensor)
    return None


def _is_tensor(name: str) -> bool:
    return name.startswith("paddle.") and name.rpartition(".")[2] in _TENSORS


def _is_on_host(name: str) -> bool:
    return name in _NUMBERS or name.startswith(_HOST_MODULES)
