"""Walks ``ast`` trees without visiting operators and contexts, which is three times as fast; and reads edited code."""

from __future__ import annotations

import ast
import warnings
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

_NO_NODES = frozenset(
    {"ctx", "op", "ops", "id", "attr", "arg", "kind", "type_comment", "level", "module", "asname", "is_async", "simple"}
    | {"conversion", "rest", "kwd_attrs", "type_ignores"}
)
"""Fields without nodes, or with an operator or a context, which say nothing that their owner does not."""


class _Fields(dict[type, tuple[str, ...]]):
    """The fields of a node type that can contain nodes."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        found = () if kind is ast.Constant else tuple(name for name in kind._fields if name not in _NO_NODES)
        self[kind] = found
        return found


_FIELDS = _Fields()


def children(node: ast.AST) -> list[ast.AST]:
    """The direct children of a node, in the order of its fields."""
    found: list[ast.AST] = []
    for name in _FIELDS[node.__class__]:
        value = getattr(node, name, None)
        if value.__class__ is list:
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def string_of(node: ast.AST) -> str | None:
    """The value of a literal string; None for anything else."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def is_literal(node: ast.AST | None, *values: object) -> bool:
    """Whether an expression is literally one of some values; ``True`` is not 1 here, nor is 1.0."""
    if not isinstance(node, ast.Constant):
        return False
    return any(type(node.value) is type(value) and node.value == value for value in values)


def calls_in(node: ast.AST) -> list[ast.Call]:
    """The calls in a piece of code, the outermost first."""
    return [item for item in walk(node) if isinstance(item, ast.Call)]


def indices_of(index: ast.expr) -> list[ast.expr]:
    """The parts of an index: ``i`` and ``:`` of ``x[i, :]``."""
    return list(index.elts) if isinstance(index, ast.Tuple) else [index]


def sized_by_shape(node: ast.AST) -> ast.expr | None:
    """``x`` of ``x.shape[0]``; None for anything else."""
    shape = node.value if isinstance(node, ast.Subscript) and is_literal(node.slice, 0) else None
    return shape.value if isinstance(shape, ast.Attribute) and shape.attr == "shape" else None


def base_of(node: ast.expr) -> ast.expr:
    """The base of a chain of items: ``a.b`` of ``a.b[0][1]``; any other expression unchanged."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def walk(node: ast.AST) -> list[ast.AST]:
    """A node and all nodes below it, nearest first."""
    # This repeats the loop of ``children``: it runs for every expression, where a call for every node would be slow.
    found = [node]
    fields = _FIELDS
    for item in found:  # grows during the loop
        for name in fields[item.__class__]:
            value = getattr(item, name, None)
            if value.__class__ is list:
                found += [part for part in value if isinstance(part, ast.AST)]
            elif isinstance(value, ast.AST):
                found.append(value)
    return found


def first_row(node: ast.stmt) -> int:
    """The row that a statement begins on: that of its first decorator, if it has any."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def alike(one: ast.AST, other: ast.AST) -> bool:
    """Whether two nodes are the same code, regardless of position: like comparing ``ast.dump``, but much faster."""
    pairs: list[tuple[Any, Any]] = [(one, other)]
    for first, second in pairs:  # grows during the loop
        if first.__class__ is not second.__class__:
            return False
        if isinstance(first, ast.AST):
            pairs += [(getattr(first, name, None), getattr(second, name, None)) for name in first._fields]
        elif first.__class__ is list:
            if len(first) != len(second):
                return False
            pairs += zip(first, second, strict=True)
        elif first != second:
            return False
    return True


# A piece of Python as a trial reads it: its tree, whether it compiles, and what pyflakes reports.

_Read = TypeVar("_Read")
Message = tuple[str, str]
Messages = dict[Message, str]
"""Messages of pyflakes, by kind (``UnusedImport``) and subject (``numpy as np``), each in words."""


class Reading:
    """A text of whole statements, or their tree if it is known already, read once."""

    def __init__(self, text: str, tree: ast.Module | None = None) -> None:
        self.text = text
        if tree is not None:
            self.tree = tree

    @cached_property
    def tree(self) -> ast.Module | None:
        """The tree; None if the text is not valid Python for the interpreter that runs perflint."""
        return _accepted(lambda: ast.parse(self.text))

    @cached_property
    def compiles(self) -> bool:
        """Whether it compiles, which also finds a keyword given twice or a ``return`` outside a function."""
        tree = self.tree
        return tree is not None and _accepted(lambda: compile(tree, "<edited>", "exec", dont_inherit=True)) is not None

    @property
    def names(self) -> tuple[frozenset[str], frozenset[str], int]:
        """The names that are read, and those that are bound or deleted; and how many values are converted to text."""
        reads, bound, texts = self._uses
        return frozenset(reads), bound, texts

    @property
    def reads(self) -> Counter[str]:
        """How often each name is read."""
        return self._uses[0]

    @cached_property
    def _uses(self) -> tuple[Counter[str], frozenset[str], int]:
        reads: list[str] = []
        bound: set[str] = set()
        texts = 0
        for node in [] if self.tree is None else walk(self.tree):
            if isinstance(node, ast.Name):
                if isinstance(node.ctx, ast.Load):
                    reads.append(node.id)
                else:
                    bound.add(node.id)
            elif isinstance(node, ast.FormattedValue) or isinstance(getattr(node, "op", None), ast.Mod):
                texts += 1
        return Counter(reads), frozenset(bound), texts

    def new_messages(self, before: Reading) -> Messages:
        """The messages of pyflakes about this text and not about the previous one: kind and subject, and the words."""
        return {message: self._flakes[1][message] for message in self._flakes[0] - before._flakes[0]}

    @cached_property
    def _flakes(self) -> tuple[Counter[Message], Messages]:
        """The count of each message of pyflakes, without rows, since an edit moves them; and each message in words."""
        from pyflakes.checker import Checker  # imported only when there is an edit to try

        if self.tree is None:
            return Counter(), {}
        try:
            found: list[Any] = Checker(self.tree, "").messages
        except RecursionError:
            return Counter(), {}
        words = {_key(message): str(message.message % message.message_args) for message in found}
        return Counter(map(_key, found)), words


def _accepted(read: Callable[[], _Read]) -> _Read | None:
    """The result of parsing or compiling code, without warnings ("invalid escape sequence"); None if it is invalid."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return read()
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _key(message: Any) -> Message:
    """The kind and subject of a message, without the row of another place that it mentions."""
    return type(message).__name__, str(message.message_args[0]) if message.message_args else ""
