"""A short run of the fuzzer for configurations, patterns, names and encodings, and whether it sees what is wrong."""

from __future__ import annotations

import os
import re

import pytest

from perflint.inputs import patterns
from perflint.run import discovery
from tests.fuzz import inputs

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="it makes pipes")


def test_a_hundred_made_up_inputs() -> None:
    number, failures = inputs.fuzz(seed=20, seconds=120, patience=60, most=100)
    assert failures == []
    assert number > 0


def test_an_error_of_perflint_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(line: bytes) -> None:
        raise ValueError("bad character range")

    monkeypatch.setattr(patterns, "parse", broken)
    _, failures = inputs.fuzz(seed=20, seconds=120, patience=60, most=10)
    assert any("an internal error" in failure and "bad character range" in failure for failure in failures)


def test_a_file_that_is_not_reported_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "python_files", lambda *paths, **options: discovery.Found([], []))
    _, failures = inputs.fuzz(seed=20, seconds=120, patience=60, most=20)
    assert any("the healthy file is not reported" in failure for failure in failures)


def test_a_run_without_an_end_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(path: str) -> str:
        while True:
            pass

    monkeypatch.setattr(discovery, "why_not_read", endless)
    _, failures = inputs.fuzz(seed=20, seconds=120, patience=1, most=1)
    assert "no end after 1 seconds" in failures[0]


@pytest.mark.parametrize("path", [".", "..", "../a", "a/../..", "/etc/passwd"])
def test_nothing_outside_of_its_own_directory_is_touched(path: str) -> None:
    with inputs.workplace(), pytest.raises(ValueError, match=re.escape(path)):
        inputs.cleared(path)
