"""Work in forked processes: every result comes back, in any order, and no error is lost."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import struct
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

import pytest

from perflint.configuration.settings import Settings
from perflint.run import engine, processes
from perflint.run.engine import Examination
from perflint.run.processes import WorkerKilled, can_fork, in_turn
from tests.support import sources

pytestmark = pytest.mark.skipif(not can_fork(), reason="this system cannot fork")


def _square(number: int) -> tuple[int, int]:
    return number * number, os.getpid()


def _fail(error: Exception) -> None:
    raise error


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class UnsendableError(Exception):
    def __init__(self, text: str) -> None:
        super().__init__(text, lambda: None)


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_each_piece_has_a_process_of_its_own(jobs: int) -> None:
    work = [partial(_square, number) for number in range(7)]
    found: dict[int, Any] = dict(in_turn(work, [1] * 7, jobs, 100))
    assert {number: result for number, (result, _) in found.items()} == {number: number**2 for number in range(7)}
    processes = {process for _, process in found.values()}
    assert len(processes) == 7
    assert os.getpid() not in processes


def test_large_pieces_start_first_and_what_is_too_large_together_does_not_run_together() -> None:
    work = [partial(_square, number) for number in range(4)]
    assert [number for number, _ in in_turn(work, [1, 9, 5, 9], 1, 10)] == [1, 3, 2, 0]
    assert [number for number, _ in in_turn(work, [20, 30, 40, 50], 4, 10)] == [3, 2, 1, 0]


def test_no_work_is_no_process() -> None:
    assert list(in_turn([], [], 2, 10)) == []


@pytest.mark.parametrize(
    ("piece", "raised", "text"),
    [
        (partial(_fail, ValueError("a rule fell over")), ValueError, "a rule fell over"),
        (partial(_fail, UnsendableError("odd")), RuntimeError, "UnsendableError: .*odd"),
    ],
)
def test_an_error_in_a_process_is_one_here(piece: Callable[[], None], raised: type[Exception], text: str) -> None:
    with pytest.raises(raised, match=text):
        list(in_turn([piece], [1], 1, 10))


@pytest.mark.parametrize(
    ("piece", "text"),
    [
        (_die, r"was killed \(signal 9\)"),
        (lambda: os.kill(os.getpid(), signal.SIGTERM), r"ended by SIGTERM \(signal 15\)"),
        (lambda: os.kill(os.getpid(), signal.SIGINT), r"ended by SIGINT \(signal 2\)"),
        (lambda: os._exit(3), r"ended by itself \(exit status 3\)"),
    ],
)
def test_a_process_that_was_killed_takes_no_other_with_it(piece: Callable[[], object], text: str) -> None:
    work: list[Callable[[], object]] = [partial(_square, 2), piece, partial(_square, 3)]
    found: dict[int, Any] = dict(in_turn(work, [1] * 3, 1, 10))
    assert [found[number][0] for number in (0, 2)] == [4, 9]
    assert isinstance(found[1], WorkerKilled)
    assert re.search(text, str(found[1]))
    assert "--jobs 1" in str(found[1])


def _tell_half(piece: object, sender: Connection) -> None:
    os.write(sender.fileno(), struct.pack("!i", 1_000) + b"half")
    _die()


def test_a_process_that_was_killed_while_it_told_its_result_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_do", _tell_half)
    ((_, result),) = in_turn([partial(_square, 2)], [1], 1, 10)
    assert isinstance(result, WorkerKilled)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_process_that_has_only_begun_ends_without_a_word(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The handlers of the first process would raise an exception in it, which Python shows with a traceback."""
    end_when_asked = processes._end_when_asked

    def asked_before() -> None:
        os.kill(os.getpid(), number)
        end_when_asked()

    monkeypatch.setattr(processes, "_end_when_asked", asked_before)
    ((_, result),) = in_turn([partial(_square, 2)], [1], 1, 10)
    assert isinstance(result, WorkerKilled)
    assert result.status == -number
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("part", ["follow_steps", "broken"])
def test_an_error_in_a_project_leaves_no_process_behind(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fall_over(*_: object) -> None:
        raise ValueError("a rule fell over")

    monkeypatch.setattr(Examination, part, fall_over)
    with pytest.raises(ValueError, match="a rule fell over"):
        engine.check(
            sources({f"p{number}/m.py": "import paddle\n" for number in range(60)}), Settings(join_lines=False), jobs=2
        )
    assert not multiprocessing.active_children()
