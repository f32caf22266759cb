"""A piece of Python as a trial reads it: its tree, whether it compiles, what pyflakes says of it."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cached_property
from typing import Any

from perflint.syntax.tree import walk

Message = tuple[str, str]
Messages = dict[Message, str]
"""Messages of pyflakes, by kind (``UnusedImport``) and subject (``numpy as np``), each in words."""


class Reading:
    """A text, or some statements, read once.

    Args:
        text: whole statements.
        tree: the same as a tree, where it is known.
    """

    def __init__(self, text: str, tree: ast.Module | None = None) -> None:
        self.text = text
        if tree is not None:
            self.tree = tree

    @cached_property
    def tree(self) -> ast.Module | None:
        """The tree; None where the text is no Python."""
        try:
            return ast.parse(self.text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    @cached_property
    def compiles(self) -> bool:
        """Whether it compiles, which also finds a keyword given twice or a ``return`` outside a function."""
        if self.tree is None:
            return False
        try:
            compile(self.tree, "<edited>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
        return True

    @cached_property
    def names(self) -> tuple[frozenset[str], frozenset[str], int]:
        """The names that are read, and those that are bound or deleted; and how many values are made into text."""
        read: set[str] = set()
        bound: set[str] = set()
        texts = 0
        for node in [] if self.tree is None else walk(self.tree):
            if isinstance(node, ast.Name):
                (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
            elif isinstance(node, ast.FormattedValue) or isinstance(getattr(node, "op", None), ast.Mod):
                texts += 1
        return frozenset(read), frozenset(bound), texts

    def new_messages(self, before: Reading) -> Messages:
        """What pyflakes says of this and did not say of the text before: kind and subject, and the words."""
        return {message: self._flakes[1][message] for message in self._flakes[0] - before._flakes[0]}

    @cached_property
    def _flakes(self) -> tuple[Counter[Message], Messages]:
        """How often pyflakes says what, without rows, since an edit moves them; and each message in words."""
        from pyflakes.checker import Checker  # loaded when there is an edit to try

        if self.tree is None:
            return Counter(), {}
        try:
            found: list[Any] = Checker(self.tree, "").messages
        except RecursionError:
            return Counter(), {}
        words = {_key(message): str(message.message % message.message_args) for message in found}
        return Counter(map(_key, found)), words


def _key(message: Any) -> Message:
    """What a message is about: its kind and its name, not the row of another place that it names."""
    return type(message).__name__, str(message.message_args[0]) if message.message_args else ""
