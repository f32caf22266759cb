"""Forks processes that share this one's memory, one for each piece of work, so that its memory is freed afterwards."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

Result = TypeVar("Result")


class WorkerKilled(Exception):
    """A process was ended by something outside its work; ``str(error)`` says how, and what to do.

    Args:
        status: its exit status; negative: the number of the signal that ended it.
    """

    def __init__(self, status: int | None) -> None:
        super().__init__(status)
        self.status = status

    def __str__(self) -> str:
        """How it was ended."""
        if self.status is None or self.status >= 0:
            return f"a worker process ended by itself (exit status {self.status}); try --jobs 1"
        if self.status == -9:
            return "a worker process was killed (signal 9), often for lack of memory; try --jobs 1"
        return f"a worker process was ended by {_name_of(-self.status)} (signal {-self.status}); try --jobs 1"


def _name_of(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "a signal"


def can_fork() -> bool:
    """Whether this system can start a process that shares what this one has in memory."""
    return "fork" in multiprocessing.get_all_start_methods()


def _end(process: BaseProcess) -> None:
    # SIGKILL, because the other process has inherited any handler of SIGTERM: that of Paddle never returns there. No
    # cleanup is needed: only this process writes files.
    process.kill()
    process.join()


_REQUESTS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Block requests to stop, so that a new process never receives them with the handlers of the first one."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _REQUESTS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_when_asked() -> None:
    """Make this process, which was forked `_undisturbed`, end at once when asked to."""
    for number in _REQUESTS:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _REQUESTS)


def in_turn(
    work: Sequence[Callable[[], Result]], sizes: Sequence[int], jobs: int, most: int
) -> Iterator[tuple[int, Result | WorkerKilled]]:
    """Do each piece of work in its own forked process, up to ``jobs`` at a time, large ones first.

    Yields the number of each piece and its result, as they finish; if something outside ended the process, an error in
    place of the result, which does not affect the other pieces.

    Args:
        work: the pieces.
        sizes: how large each is, in any unit.
        jobs: how many run at a time.
        most: pieces that are together larger than this do not run at the same time, to limit memory.

    Raises:
        Exception: what a piece of work raised.
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
    with _undisturbed():
        process.start()
    sender.close()
    return receiver, process


def _do(piece: Callable[[], object], sender: Connection) -> None:
    _end_when_asked()
    try:
        sender.send((True, piece()))
    except BrokenPipeError:
        return  # the first process has ended
    except Exception as error:
        _send_error(sender, error)


def _send_error(sender: Connection, error: Exception) -> None:
    with contextlib.suppress(BrokenPipeError):  # the first process has ended
        try:
            sender.send((False, error))
        except BrokenPipeError:
            raise
        except Exception:  # it contains something that cannot be sent
            sender.send((False, RuntimeError(f"{type(error).__name__}: {error}")))


def _result(receiver: Connection, process: BaseProcess) -> Any:
    """What a process has sent, or the error that says how it was ended.

    Raises:
        Exception: what its work raised.
    """
    try:
        succeeded, answer = receiver.recv()
    except (EOFError, OSError):  # before it has sent anything, or in the middle of a message
        process.join()
        succeeded, answer = True, WorkerKilled(process.exitcode)
    receiver.close()
    process.join()
    if not succeeded:
        raise answer
    return answer
