"""Claims: one of those who ask gets a thing, in whatever process they are."""

from __future__ import annotations

import multiprocessing

import pytest

from perflint.index.claims import Claims
from perflint.run.processes import Partner, can_fork


def test_a_thing_is_taken_once() -> None:
    claims = Claims(["a", "b"])
    assert not claims.is_taken("a")
    assert claims.take("a")
    assert not claims.take("a")
    assert claims.is_taken("a")
    assert not claims.is_taken("b")
    assert [name for name in ("a", "b") if claims.take(name)] == ["b"]


def test_nothing_can_be_claimed() -> None:
    with pytest.raises(KeyError):
        Claims([]).take("a")


@pytest.mark.skipif(not can_fork(), reason="this system cannot fork")
def test_what_another_process_takes_is_taken_here() -> None:
    claims = Claims(["a", "b", "c"])
    claims.take("a")
    partner = Partner(lambda tell, hear: tell([claims.take(name) for name in ("a", "b")]))
    assert partner.hear() == [False, True]
    partner.end()
    assert [claims.is_taken(name) for name in ("a", "b", "c")] == [True, True, False]
    assert not multiprocessing.active_children()
