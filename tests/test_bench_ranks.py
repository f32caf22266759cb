"""Several processes that train together, measured as one training."""

from __future__ import annotations

import pytest

from perflint.bench.script_run import together
from tests.bench_reports import run


def test_a_step_lasts_as_long_as_on_the_slowest_and_has_the_samples_of_all() -> None:
    """8 samples on each of two ranks: 16 in 0.2 s and 16 in 0.4 s."""
    one = run([0.2, 0.1], reader_s=[0.01, 0.05], losses=[1.0, 3.0], peak_memory_mib=300.0, device="gpu:0")
    other = run([0.1, 0.4], reader_s=[0.02, 0.02], losses=[2.0, None], peak_memory_mib=500.0, device="gpu:1")
    both = together([one, other])
    assert both.batch_s == [0.2, 0.4]
    assert both.samples == [16, 16]
    assert both.ips == pytest.approx(32 / 0.6)
    assert both.reader_s == [0.02, 0.05]
    assert both.losses == [1.5, None]
    assert (both.peak_memory_mib, both.device) == (500.0, "2 x gpu")


def test_one_rank_is_itself() -> None:
    assert together([run([0.2])]) == run([0.2])


def test_only_steps_that_all_have_made_count() -> None:
    assert together([run([0.2] * 5), run([0.1] * 3)]).batch_s == [0.2] * 3
