"""Processes that share what this one has in memory, one for each piece of work, so that its memory goes with it."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")


def can_fork() -> bool:
    """Whether this system can start a process that shares what this one has in memory."""
    return "fork" in multiprocessing.get_all_start_methods()


class Forked(Generic[Result]):
    """Pieces of work, each in a forked process of its own, that all run while this process goes on."""

    def __init__(self, work: Sequence[Callable[[], Result]]) -> None:
        self._running = [_start(piece) for piece in work]

    def results(self) -> list[Result]:
        """The results in the order of the work.

        Raises:
            Exception: what a piece of work raised; ``RuntimeError`` when its process was killed.
        """
        return [_result(receiver, process) for receiver, process in self._running]


def in_turn(
    work: Sequence[Callable[[], Result]], sizes: Sequence[int], jobs: int, most: int
) -> Iterator[tuple[int, Result]]:
    """Do each piece of work in a forked process of its own, up to ``jobs`` at a time, large ones first.

    Gives the number of each piece and its result, as they are done.

    Args:
        work: the pieces.
        sizes: how large each is, in any unit.
        jobs: how many run at a time.
        most: pieces that are together larger than this do not run at the same time, for the memory that they take.

    Raises:
        Exception: what a piece of work raised; ``RuntimeError`` when its process was killed.
    """
    running: dict[object, tuple[int, Connection, BaseProcess]] = {}
    waiting = sorted(range(len(work)), key=lambda number: -sizes[number])
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                room = most - sum(sizes[number] for number, _, _ in running.values())
                fitting = next((number for number in waiting if sizes[number] <= room), None)
                if fitting is None and running:
                    break
                number = waiting[0] if fitting is None else fitting
                waiting.remove(number)
                receiver, process = _start(work[number])
                running[receiver] = number, receiver, process
            for ready in wait([receiver for _, receiver, _ in running.values()]):
                number, receiver, process = running.pop(ready)
                yield number, _result(receiver, process)
    finally:
        for _, _, process in running.values():
            process.terminate()
            process.join()


def _start(piece: Callable[[], object]) -> tuple[Connection, BaseProcess]:
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_do, args=(piece, sender))
    process.start()
    sender.close()
    return receiver, process


def _do(piece: Callable[[], object], sender: Connection) -> None:
    try:
        answer: tuple[bool, object] = True, piece()
    except Exception as error:
        answer = False, error
    try:
        sender.send(answer)
    except Exception as error:  # an error that holds what cannot be sent
        sender.send((False, RuntimeError(f"{type(error).__name__}: {error}")))


def _result(receiver: Connection, process: BaseProcess) -> Any:
    try:
        succeeded, answer = receiver.recv()
    except EOFError:
        process.join()
        raise RuntimeError(f"a process of perflint was ended from outside ({process.exitcode})") from None
    process.join()
    if not succeeded:
        raise answer
    return answer
