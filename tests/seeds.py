"""Seeds of random tests: a few for every run, more with ``-m slow``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest


def some(seeds: Iterable[int], always: int) -> Sequence[Any]:
    """The parameters of a random test: the first ``always`` seeds for each run, the others for ``-m slow``."""
    return [seed if index < always else pytest.param(seed, marks=pytest.mark.slow) for index, seed in enumerate(seeds)]
