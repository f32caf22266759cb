"""A short run of the fuzzer that kills perflint."""

from __future__ import annotations

import sys

import pytest

from tests.fuzz import kills


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_a_killed_run_leaves_everything_whole() -> None:
    tally = kills.fuzz(seed=1, seconds=10, most=12)
    assert tally.kills.total() > 0
    assert tally.failures == []
