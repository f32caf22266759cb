"""A piece of Python as a trial reads it: its tree, whether it compiles, and what pyflakes reports."""

from __future__ import annotations

import ast
import warnings
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

from perflint.syntax.tree import walk

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
