"""The clock of a profile, on a time that is made up: a call is charged where it should be, and once."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perflint.bench.runner import profiler, recorder
from perflint.bench.runner.profiler import Profiler
from perflint.bench.runner.watched_calls import BACKWARD, FORWARD, LOG, READ, SAVE, SLEEP, WatchedCall


class Clock:
    """Seconds that pass only where a test says so."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now

    def takes(self, seconds: float, then: Callable[[], Any] = int) -> Callable[[], None]:
        """A function that takes so long, and then calls another."""

        def function() -> None:
            self.now += seconds
            then()

        return function


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(profiler, "time", made)
    monkeypatch.setattr(recorder, "time", made)
    return made


@pytest.fixture
def watched(clock: Clock) -> Profiler:
    """A profiler of a project that is this directory, after a warm-up of one step."""
    made = Profiler({"copy": str(Path(__file__).parent), "warmup": 1, "steps": 99, "result": "", "script": ""})
    made._start_looking = lambda: None  # type: ignore[method-assign]
    step(made)
    return made


def call(watched: Profiler, kind: str, function: Any) -> None:
    watched.around(WatchedCall(kind, kind), function, (), {})


class Optimizer:
    """Any object will do."""


OPTIMIZER = Optimizer()


def step(watched: Profiler) -> None:
    watched._end(OPTIMIZER)


def charged(watched: Profiler) -> dict[str, tuple[float, int]]:
    """Seconds and calls by kind, of all measured steps."""
    found: dict[str, tuple[float, int]] = {}
    for spent, (seconds, times) in watched._all.items():
        before = found.get(spent.kind, (0.0, 0))
        found[spent.kind] = (before[0] + seconds, before[1] + int(times))
    return {kind: each for kind, each in found.items() if any(each)}


def test_each_moment_is_charged_once(clock: Clock, watched: Profiler) -> None:
    call(watched, FORWARD, clock.takes(3, lambda: call(watched, READ, clock.takes(2))))
    clock.now += 1
    step(watched)
    assert charged(watched) == {FORWARD: (3, 1), READ: (2, 1), "other": (1, 0)}


def test_a_read_inside_a_read_is_one_read(clock: Clock, watched: Profiler) -> None:
    """As ``float(loss)``, which calls ``numpy``."""
    call(watched, READ, clock.takes(1, lambda: call(watched, READ, clock.takes(2))))
    step(watched)
    assert charged(watched) == {READ: (3, 1)}


def test_what_a_save_does_is_a_part_of_it(clock: Clock, watched: Profiler) -> None:
    call(watched, SAVE, clock.takes(1, lambda: call(watched, READ, clock.takes(2))))
    step(watched)
    assert charged(watched) == {SAVE: (3, 1)}


def test_what_is_logged_may_be_read_first(clock: Clock, watched: Profiler) -> None:
    """As ``print(loss)``."""
    call(watched, LOG, clock.takes(1, lambda: call(watched, READ, clock.takes(2))))
    step(watched)
    assert charged(watched) == {LOG: (1, 1), READ: (2, 1)}


def test_a_pause_is_a_part_of_a_log_call_alone(clock: Clock, watched: Profiler) -> None:
    call(watched, LOG, clock.takes(1, lambda: call(watched, SLEEP, clock.takes(2))))
    call(watched, FORWARD, clock.takes(4, lambda: call(watched, SLEEP, clock.takes(8))))
    step(watched)
    assert charged(watched) == {LOG: (3, 1), FORWARD: (4, 1), SLEEP: (8, 1)}


@pytest.mark.parametrize("outer", [FORWARD, BACKWARD])
def test_layers_in_layers_and_those_computed_again_are_parts(clock: Clock, watched: Profiler, outer: str) -> None:
    call(watched, outer, clock.takes(1, lambda: call(watched, FORWARD, clock.takes(2))))
    step(watched)
    assert charged(watched) == {outer: (3, 1)}


def test_a_call_that_spans_two_steps_is_divided(clock: Clock, watched: Profiler) -> None:
    def trains() -> None:
        clock.now += 1
        step(watched)
        assert charged(watched) == {FORWARD: (1, 1)}
        clock.now += 2

    call(watched, FORWARD, trains)
    step(watched)
    assert charged(watched) == {FORWARD: (3, 1)}


def test_the_warm_up_and_what_follows_the_last_step_do_not_count(clock: Clock) -> None:
    watched = Profiler({"copy": str(Path(__file__).parent), "warmup": 2, "steps": 99, "result": "", "script": ""})
    watched._start_looking = lambda: None  # type: ignore[method-assign]
    for seconds in (1, 2, 4):
        call(watched, READ, clock.takes(seconds))
        step(watched)
    call(watched, READ, clock.takes(8))
    assert charged(watched) == {READ: (4, 1)}


def test_a_call_that_fails_is_over(clock: Clock, watched: Profiler) -> None:
    def fails() -> None:
        clock.now += 1
        raise StopIteration

    with pytest.raises(StopIteration):
        call(watched, READ, fails)
    call(watched, SAVE, clock.takes(2))
    step(watched)
    assert charged(watched) == {READ: (1, 1), SAVE: (2, 1)}


def test_the_line_is_that_of_the_project_and_code_is_known_by_the_call_before_it(
    clock: Clock, watched: Profiler
) -> None:
    call(watched, READ, clock.takes(1))
    clock.now += 4
    step(watched)
    (read,) = (spent for spent in watched._all if spent.kind == READ)
    row = call.__code__.co_firstlineno + 1
    assert (read.path, read.line) == ("test_profiler.py", row)
    (code,) = (spent for spent, (seconds, _) in watched._all.items() if seconds == 4)
    assert (code.kind, code.path, code.line, code.note) == ("other", "test_profiler.py", row, "after this line")


def test_the_lines_that_are_seen_to_run_between_calls_are_counted_and_no_others(watched: Profiler) -> None:
    call(watched, READ, lambda: watched._look(sys._getframe()))
    assert watched._looks == {}
    for _ in range(2):
        watched._look(sys._getframe())
    row = call.__code__.co_firstlineno + 1
    look = sys._getframe().f_code.co_firstlineno + 4
    assert watched._looks == {("test_profiler.py", row, "test_profiler.py", look): 2}
