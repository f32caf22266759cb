"""Watches static graphs: each ``Executor.run`` of a program that has gradients is a step.

Such a program is built once, by ``minimize`` among others, and run at each step; the loss is one of the values that are
fetched.
"""

from __future__ import annotations

from typing import Any

from .recorder import Recorder


def hook_static(paddle: Any, recorder: Recorder) -> None:
    """Wrap ``paddle.static.Executor.run``; a version of Paddle without it is left unchanged."""
    executor = getattr(getattr(paddle, "static", None), "Executor", None)
    if executor is None:
        return
    run = executor.run
    programs = _Programs(paddle)

    def train(self: Any, program: Any, feed: Any, *arguments: Any, **keywords: Any) -> Any:
        values = run(self, program, feed, *arguments, **keywords)
        recorder.trained_on(_loss(values), feed)
        return values

    def record(self: Any, program: Any = None, feed: Any = None, *arguments: Any, **keywords: Any) -> Any:
        given = (self, program, feed, *arguments)
        trained = programs.trained(program)
        if trained is None:
            return recorder.predict(run, given, keywords)
        return recorder.execute(train, trained, given, keywords)

    executor.run = record
    recorder.hooked.append("paddle.static.Executor")


class _Trained:
    """A program that trains; with several, only the one that steps first counts, as with optimizers."""


class _Programs:
    """Knows which of the programs that were run train."""

    def __init__(self, paddle: Any) -> None:
        self._paddle = paddle
        # kept with the program, so that no other program gets its id
        self._known: dict[int, tuple[Any, _Trained | None]] = {}

    def trained(self, program: Any) -> _Trained | None:
        if program is None:
            program = self._paddle.static.default_main_program()
        known = self._known.get(id(program))
        if known is None:
            known = self._known[id(program)] = (program, _Trained() if _has_gradients(program) else None)
        return known[1]


def _has_gradients(program: Any) -> bool:
    """Whether one of its operations computes gradients, such as ``mul_grad`` or ``pd_op.matmul_grad``."""
    inner = getattr(program, "_program", None) or program  # a CompiledProgram has one
    try:
        names = [_name(operation) for operation in inner.global_block().ops]
    except AttributeError:
        return False
    return any(name.rstrip("_").endswith("_grad") for name in names)


def _name(operation: Any) -> str:
    name = getattr(operation, "type", None)  # a Program in Paddle 2
    return name if isinstance(name, str) else str(operation.name())  # a program in PIR, as in Paddle 3


def _loss(values: Any) -> Any:
    """The first fetched value that is an array of one number; None if there is none."""
    for value in values if isinstance(values, (list, tuple)) else ():
        if type(value).__module__ == "numpy" and value.size == 1:
            return value.reshape(-1)[0]
    return None
