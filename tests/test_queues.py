"""The model of two queues against the same, kernel by kernel, and against what it has to say about simple steps."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from pathlib import Path
from types import ModuleType

import pytest

from perflint.trace.queues import (
    SMALL_KERNELS,
    AdjacentWaits,
    HostWork,
    Kernels,
    Part,
    Wait,
    joined,
    loading_step_ms,
    step_ms,
    stretches,
)

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
FORWARD, BACKWARD, OPTIMIZER, _ = SMALL_KERNELS
PHASES = (FORWARD, BACKWARD, OPTIMIZER)


@pytest.fixture(scope="module")
def waiting() -> ModuleType:
    """``benchmarks/waiting.py``, which launches each kernel of 200 steps one by one."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        spec = importlib.util.spec_from_file_location("waiting", BENCHMARKS / "waiting.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["waiting"] = module
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(BENCHMARKS))
    return module


def _parts(host: float, reads: tuple[int, ...]) -> list[Part]:
    """A typical step that waits after some numbers of kernels."""
    parts: list[Part] = []
    before = 0
    for phase in PHASES:
        cuts = [read - before for read in reads if before < read <= before + phase.number]
        for first, last in zip([0, *cuts], [*cuts, phase.number], strict=True):
            parts += [phase.times(last - first)] if last > first else []
            parts += [Wait(0)] if last in cuts else []
        before += phase.number
    return [*parts, HostWork(host)]


@pytest.mark.parametrize("host", [0.3, 2.0, 8.0])
@pytest.mark.parametrize("reads", [(), (50,), (100,), (300,), (400,), (90, 95, 300)])
def test_many_kernels_at_once_are_as_long_as_one_by_one(
    host: float, reads: tuple[int, ...], waiting: ModuleType
) -> None:
    assert step_ms(_parts(host, reads), restart_ms=0) == pytest.approx(waiting.step_ms(host, reads), abs=0.01)


def test_a_step_is_as_long_as_the_slower_of_the_two() -> None:
    assert step_ms([Kernels(100, 0.01, 0.05)]) == pytest.approx(5.0)
    assert step_ms([Kernels(100, 0.05, 0.01), HostWork(2.0)]) == pytest.approx(7.0)


def test_the_host_is_at_most_a_full_queue_ahead() -> None:
    # 3,000 kernels, which the device is done with after 60 ms: the host is 20 ms ahead when it begins to wait,
    # and works 50 ms. Without a limit it would be ahead far enough for the device to go on meanwhile.
    step: list[Part] = [Kernels(3000, 0.001, 0.02), HostWork(50.0)]
    assert step_ms(step) == pytest.approx(60.0 + 50.0 - 20.0, abs=0.1)


def test_a_wait_right_behind_another_one_costs_nothing() -> None:
    one: list[Part] = [FORWARD, BACKWARD, Wait(0), OPTIMIZER, HostWork(1.0)]
    two: list[Part] = [FORWARD, BACKWARD, Wait(0), Wait(1), OPTIMIZER, HostWork(1.0)]
    assert step_ms(two) == pytest.approx(step_ms(one))
    assert step_ms(two, without=[0]) == pytest.approx(step_ms(two))
    assert step_ms(two, without=[0, 1]) < step_ms(two) - 1


def test_a_step_that_is_put_together_takes_as_long_without_any_of_its_waits() -> None:
    step: list[Part] = [HostWork(1.0), FORWARD, FORWARD, Wait(0), Wait(1), Wait(0), BACKWARD, Wait(2), OPTIMIZER]
    short = list(joined(step))
    assert [part.keys for part in short if isinstance(part, AdjacentWaits)] == [frozenset({0, 1}), frozenset({2})]
    assert len(short) == 6  # the two forward passes are one, and so are the waits behind them
    for count in range(4):
        for without in itertools.combinations(range(3), count):
            assert step_ms(short, without) == pytest.approx(step_ms(step, without)), without
    assert step_ms(short, [0]) == step_ms(short)  # the other one right behind it still waits
    assert step_ms(short, [2]) < step_ms(short) - 1


def test_the_stretches_of_a_step_follow_each_other_and_last_as_long_as_it() -> None:
    parts: list[Part] = [HostWork(1.0), FORWARD, BACKWARD, Wait(0), OPTIMIZER]
    found = stretches(parts)
    assert [each.part for each in found] == parts
    assert found[0].host[0] == 0
    assert all(one.host[1] == other.host[0] for one, other in itertools.pairwise(found))
    assert found[-1].host[1] == pytest.approx(step_ms(parts))  # the device is done with a step within the next one
    assert [each.device is not None for each in found] == [False, True, True, False, True]


def test_a_wait_ends_when_the_device_is_done() -> None:
    _, backward, wait = stretches([FORWARD, BACKWARD, Wait(0)], restart_ms=0.0)
    assert backward.device is not None
    assert wait.host[0] == backward.host[1]
    assert wait.host[1] == pytest.approx(backward.device[1])


def test_a_thread_that_loads_takes_turns_with_the_host_and_not_with_the_device() -> None:
    quick: list[Part] = [HostWork(2.0), Kernels(10, 0.5, 0.1)]  # 7 ms of the host, and a device that is mostly idle
    assert loading_step_ms(quick, 20.0) == pytest.approx(27.0)
    slow: list[Part] = [HostWork(2.0), Kernels(10, 0.5, 4.0)]  # 40 ms of the device
    assert loading_step_ms(slow, 20.0) == pytest.approx(step_ms(slow))
    assert loading_step_ms(slow, 40.0) == pytest.approx(47.0)


def test_a_thread_loads_while_the_host_waits() -> None:
    step: list[Part] = [Kernels(10, 0.5, 4.0), Wait(0)]
    assert loading_step_ms(step, 20.0) == pytest.approx(step_ms(step))
    assert loading_step_ms(step, 20.0, without=[0]) == pytest.approx(step_ms(step, without=[0]))
