"""Records what an assignment says about names, and about entries by key: ``logs["loss"] = loss``."""

from __future__ import annotations

import ast

from perflint.dataflow.containers import Kinds, with_item
from perflint.dataflow.environment import Environment
from perflint.index.kinds import HOST_TAG, MASK, TENSOR, TENSOR_TAG, TUPLE_TAG, UNKNOWN, UNKNOWN_TAG, Kind, element
from perflint.syntax.names import dotted
from perflint.syntax.tree import string_of
from perflint.syntax.vocabulary import means_loss


def bind(target: ast.expr, kind: Kind, env: Environment) -> None:
    """Record what an assignment to ``target`` says."""
    if isinstance(target, (ast.Tuple, ast.List)):
        items = kind.items if kind.tag == TUPLE_TAG and len(kind.items) == len(target.elts) else None
        each = UNKNOWN if items else element(kind)
        for index, part in enumerate(target.elts):
            bind(part, items[index] if items else each, env)
        return
    if isinstance(target, ast.Starred):
        bind(target.value, kind, env)
        return
    if isinstance(target, ast.Subscript):
        _bind_item(target, kind, env)
        return
    name = dotted(target)
    if name is not None:
        env.bind(name, kind)


def _bind_item(target: ast.Subscript, kind: Kind, env: Environment) -> None:
    """``d[key] = loss``: a container of tensors, unless other items are known to be something else.

    ``d["loss"] = loss`` says nothing about its other items.
    """
    name, item = dotted(target.value), item_name(target)
    if name is None:
        return
    if item is not None:
        env[item] = kind
    held = None if kind.is_tensor else with_item(env.get(name), kind)
    if kind.is_tensor:
        if item is None and not any(known.type or known.is_host for known in env.items_of(name)):
            env[name] = MASK if env.get(name, UNKNOWN).truth else TENSOR  # (an item of a mask is a truth value, too)
    elif held is not None:
        env[name] = held
    elif kind.type and name in env and env[name].tag in (TENSOR_TAG, HOST_TAG):
        env[name] = UNKNOWN


def bind_entries(target: ast.expr, value: ast.expr, kinds: Kinds, env: Environment) -> None:
    """Record the kinds of the entries that a name gets, by key: ``logs = {"loss": loss, "lr": 0.1}``."""
    for key, entry in entries_in(value):
        kind = kinds.kind(entry)
        if kind.tag != UNKNOWN_TAG or not means_loss(key):
            bind_entry(target, key, kind, env)


def bind_entry(target: ast.expr, key: str, kind: Kind, env: Environment) -> None:
    """Record the kind of the entry that a name gets under a key; ``**`` means all others."""
    item = item_name(ast.Subscript(target, ast.Constant(key)))
    if item is not None:
        env[item] = kind


def entries_in(value: ast.expr) -> list[tuple[str, ast.expr]]:
    """The entries of ``{"loss": loss}`` or ``dict(loss=loss)`` with literal keys."""
    if isinstance(value, ast.Dict):
        keys = ((string_of(key) if key is not None else None) for key in value.keys)
        return [(key, entry) for key, entry in zip(keys, value.values, strict=True) if key is not None]
    if isinstance(value, ast.Call) and dotted(value.func) == "dict":
        return [(keyword.arg, keyword.value) for keyword in value.keywords if keyword.arg]
    return []


def item_name(node: ast.Subscript) -> str | None:
    """The name of an item with a constant key in an environment: ``status['loss']``."""
    name = dotted(node.value)
    if name is None or not isinstance(node.slice, ast.Constant) or not isinstance(node.slice.value, str):
        return None
    return f"{name}[{node.slice.value!r}]"
