"""Processes that share what this one has in memory, one for each piece of work, so that its memory goes with it."""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

Result = TypeVar("Result")
Work = Callable[[Callable[[object], None], Callable[[], Any]], None]
"""What a process does that talks: it is given what tells something, and what waits for what it is told."""


def can_fork() -> bool:
    """Whether this system can start a process that shares what this one has in memory."""
    return "fork" in multiprocessing.get_all_start_methods()


class Partner:
    """A forked process that works while this one goes on, and talks with it.

    Args:
        work: what it does.
    """

    def __init__(self, work: Work) -> None:
        context = multiprocessing.get_context("fork")
        self._here, there = context.Pipe()
        self._process = context.Process(target=_talk, args=(work, there), daemon=True)
        self._process.start()
        there.close()

    def tell(self, message: object) -> None:
        """Tell the other process something; does nothing when it has ended, which ``hear`` then says."""
        with contextlib.suppress(OSError):
            self._here.send(message)

    @property
    def has_told(self) -> bool:
        """Whether there is something to ``hear`` without waiting."""
        return self._here.poll()

    def hear(self) -> Any:
        """Wait for the next thing that the other process tells.

        Raises:
            Exception: what its work raised; ``RuntimeError`` when it was killed.
        """
        return _received(self._here, self._process)

    def end(self) -> None:
        """End the other process, which may still be at work, or wait for what nobody will tell it."""
        self._here.close()
        _end(self._process)


def _end(process: BaseProcess) -> None:
    # SIGKILL, for a handler of SIGTERM that this process has is the other's too: that of Paddle never returns there.
    # There is nothing to put in order: files are written by this process only.
    process.kill()
    process.join()


def _talk(work: Work, channel: Connection) -> None:
    def tell(message: object) -> None:
        channel.send((True, message))

    try:
        work(tell, channel.recv)
    except EOFError:
        return  # the other process has ended
    except Exception as error:
        _send_error(channel, error)


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
            _end(process)


def _start(piece: Callable[[], object]) -> tuple[Connection, BaseProcess]:
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_do, args=(piece, sender), daemon=True)
    process.start()
    sender.close()
    return receiver, process


def _do(piece: Callable[[], object], sender: Connection) -> None:
    try:
        sender.send((True, piece()))
    except Exception as error:
        _send_error(sender, error)


def _send_error(sender: Connection, error: Exception) -> None:
    try:
        sender.send((False, error))
    except Exception:  # it holds what cannot be sent
        sender.send((False, RuntimeError(f"{type(error).__name__}: {error}")))


def _result(receiver: Connection, process: BaseProcess) -> Any:
    answer = _received(receiver, process)
    receiver.close()
    process.join()
    return answer


def _received(receiver: Connection, process: BaseProcess) -> Any:
    try:
        succeeded, answer = receiver.recv()
    except EOFError:
        process.join()
        raise RuntimeError(f"a process of perflint was ended from outside ({process.exitcode})") from None
    if not succeeded:
        process.join()
        raise answer
    return answer
