"""The worker processes of a loader are ended, also one that would never end by itself."""

from __future__ import annotations

import multiprocessing
import time
from multiprocessing.context import ForkProcess

import pytest

from perflint.bench.runner import recorder

pytestmark = pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="workers are forked")


class Iterator:
    """What Paddle's ``iter(loader)`` has of its workers: it waits for them without a limit."""

    def __init__(self, seconds: float) -> None:
        self._workers = [self._started(seconds), self._started(0)]

    @staticmethod
    def _started(seconds: float) -> ForkProcess:
        worker = multiprocessing.get_context("fork").Process(target=time.sleep, args=(seconds,), daemon=True)
        worker.start()
        return worker

    def _try_shutdown_all(self) -> None:
        for worker in self._workers:
            worker.join()


@pytest.mark.parametrize(("seconds", "patience", "codes"), [(100_000, 0.5, [-9, 0]), (0, 60, [0, 0])])
def test_a_worker_that_does_not_end_is_killed(seconds: float, patience: float, codes: list[int]) -> None:
    iterator = Iterator(seconds)
    iterator._workers[1].join()  # on a busy machine it might need longer than that
    recorder.end_workers(iterator, patience)
    assert [worker.exitcode for worker in iterator._workers] == codes


def test_other_iterators_are_left_alone() -> None:
    recorder.end_workers(iter([1]))
