"""A piece of Python as a trial reads it: its tree, whether it compiles, what pyflakes says of it."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cached_property
from typing import Any

_Message = tuple[str, str]


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
        try:
            compile(self.text, "<edited>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
        return True

    def new_message(self, before: Reading) -> str:
        """A message of pyflakes about this that it did not give about the text before; empty where there is none."""
        new = self._messages - before._messages
        return self._words[next(iter(new))] if new else ""

    @property
    def _messages(self) -> Counter[_Message]:
        return self._flakes[0]

    @property
    def _words(self) -> dict[_Message, str]:
        return self._flakes[1]

    @cached_property
    def _flakes(self) -> tuple[Counter[_Message], dict[_Message, str]]:
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


def _key(message: Any) -> _Message:
    """What a message is about: its kind and its name, not the row of another place that it names."""
    return type(message).__name__, str(message.message_args[0]) if message.message_args else ""
