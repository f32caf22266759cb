"""The thread that checks: what it does when, and what it passes over."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from functools import partial

import pytest

from perflint.server.checking import MOST_DELAYED, Worker

_PATIENCE = 20


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def worker(clock: Clock) -> Iterator[Worker]:
    worker = Worker(clock)
    yield worker
    worker.stop()


def done_now(worker: Worker) -> None:
    """Wait until the thread has done all that was due."""
    worker.ask(lambda: None).result(_PATIENCE)


def test_what_is_asked_for_again_is_done_once_with_the_last_wish(worker: Worker) -> None:
    done: list[int] = []
    for number in range(5):
        worker.post("check", partial(done.append, number))
    worker.start()
    done_now(worker)
    assert done == [4]


def test_typing_puts_a_check_off_but_not_for_ever(worker: Worker, clock: Clock) -> None:
    done: list[float] = []
    worker.start()
    while clock.now < 2 * MOST_DELAYED:
        worker.post("check", lambda: done.append(clock.now), delay=0.15)
        clock.now += 0.125
        done_now(worker)
    assert done[0] == MOST_DELAYED
    assert len(done) == 2


def test_work_for_a_time_of_rest_waits_for_it(worker: Worker, clock: Clock) -> None:
    done: list[float] = []
    worker.start()
    for _ in range(40):
        worker.post("tidy", lambda: done.append(clock.now), 0.15, math.inf)
        clock.now += 0.125
        done_now(worker)
    assert done == []
    clock.now += 1
    done_now(worker)
    assert done == [clock.now]


def test_what_is_to_be_done_at_once_is_not_put_off(worker: Worker) -> None:
    done: list[str] = []
    worker.post("check", lambda: done.append("opened"))
    worker.post("check", lambda: done.append("changed"), delay=0.15)
    worker.start()
    done_now(worker)
    assert done == ["changed"]


def test_work_that_fails_does_not_end_the_thread(worker: Worker, caplog: pytest.LogCaptureFixture) -> None:
    worker.start()
    worker.post("check", lambda: 1 / 0)
    done_now(worker)
    assert "ZeroDivisionError" in caplog.text
    with pytest.raises(ZeroDivisionError):
        worker.ask(lambda: 1 / 0).result(_PATIENCE)


def test_a_question_that_is_taken_back_is_passed_over(worker: Worker) -> None:
    asked: list[int] = []
    future: Future[None] = worker.ask(lambda: asked.append(1))
    assert future.cancel()
    worker.start()
    done_now(worker)
    assert asked == []


def test_after_stopping_nothing_begins(worker: Worker) -> None:
    begun, may_end = threading.Event(), threading.Event()
    done: list[int] = []

    def work() -> None:
        begun.set()
        may_end.wait(_PATIENCE)

    worker.start()
    worker.post("long", work)
    assert begun.wait(_PATIENCE)
    worker.post("next", lambda: done.append(1))
    worker.stop()
    may_end.set()
    worker._thread.join(_PATIENCE)
    assert not worker._thread.is_alive()
    assert done == []
