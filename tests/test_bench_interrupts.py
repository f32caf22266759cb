"""Requests to end wait until what they would interrupt is done."""

from __future__ import annotations

import signal
import threading

import pytest

from perflint.bench.run_directory import held


def test_a_request_is_heeded_afterwards() -> None:
    done = []
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), held():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        done.append("all")
    assert done == ["all"]
    assert signal.getsignal(signal.SIGINT) is before


def test_without_one_nothing_is_raised() -> None:
    with held():
        pass


def test_threads_are_left_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def work() -> None:
        with held():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]
