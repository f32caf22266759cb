"""A recorder that is also called for each wrapped call, and knows which line of the project made it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple

from .recorder import Recorder


class WatchedCall(NamedTuple):
    """What is known about a wrapped function before it is called.

    Attributes:
        kind: one of ``step_kinds``, such as "read".
        what: its name for people, such as ``Tensor.numpy``.
        direct: whether it counts only if the project itself calls it, with no library in between.
        note: makes a text with more information from the arguments, such as "a number".
    """

    kind: str
    what: str
    direct: bool = False
    note: Callable[..., str] | None = None


class Watcher(Recorder):
    """A recorder with a method ``around``, which every wrapped call goes through (see ``watched_calls``)."""

    def __init__(self, plan: dict[str, Any]) -> None:
        """Start with nothing seen; of the plan, ``copy`` is the directory of the project."""
        self.root = plan["copy"] + os.sep
        self.made: dict[int, Any] = {}
        self.evaluating = False
        self.trained: set[int] = set()
        self._optimizers: set[int] = set()
        super().__init__(plan)

    def around(self, call: WatchedCall, function: Any, arguments: Any, keywords: Any) -> Any:
        """Call a wrapped function, record it, and return its result."""
        raise NotImplementedError

    def frames(self, most: int) -> tuple[list[Any], str]:
        """The lines of the project that are running, and the library function that the innermost one has called.

        Args:
            most: how many lines to return.

        Returns:
            For each line its file, relative to the root of the project, and its number, innermost first; then the
            function, such as ``paddle.hapi.model.fit``, or "" if the line has called the wrapped function itself.
        """
        found: list[Any] = []
        via = ""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and len(found) < most:
            place = self.place_of(frame)
            if place is not None:
                found.append(place)
            elif (
                not found
                and "site-packages" in frame.f_code.co_filename
                and frame.f_globals.get("__package__") != __package__
            ):
                via = f"{frame.f_globals.get('__name__', '')}.{frame.f_code.co_name}"
            frame = frame.f_back
        return found, via

    def place_of(self, frame: FrameType) -> tuple[str, int] | None:
        """The file, relative to the root of the project, and the line that a frame is at; None outside the project.

        For some internal instructions Python has no line; then it is that of the head.
        """
        code = frame.f_code
        if not code.co_filename.startswith(self.root):  # not cached by code object: its hash reads all of it
            return None
        return code.co_filename[len(self.root) :].replace(os.sep, "/"), frame.f_lineno or code.co_firstlineno

    def made_loader(self, loader: Any) -> None:
        """Note that a loader was made, and where."""
        stack, _ = self.frames(1)
        if stack:
            self.made[id(loader)] = stack[0]

    def loader_of(self, owner: Any) -> tuple[Any, Any]:
        """The loader of an iterator, or the loader itself; and the place where it was made (("?", 0): not known)."""
        loader = getattr(owner, "_watched_loader", owner)
        return loader, self.made.get(id(loader), ("?", 0))

    def modes(self, layer: Any, training: bool) -> None:
        """``train()`` or ``eval()`` of a layer: for the trained model, it says whether this is evaluation."""
        if self.evaluating is not training or not self.is_here:
            return
        if self.trained & {id(each) for each in layer.parameters()}:
            self.evaluating = not training

    def _end(self, optimizer: Any) -> None:
        if id(optimizer) not in self._optimizers:
            self._optimizers.add(id(optimizer))
            self.trained |= {id(parameter) for parameter in _parameters(optimizer)}
        super()._end(optimizer)


def _parameters(optimizer: Any) -> list[Any]:
    """The parameters of an optimizer, including those of its groups."""
    found = getattr(optimizer, "_parameter_list", None) or []
    return [each for item in found for each in (item["params"] if isinstance(item, dict) else [item])]
