"""Calls that pass on what they get: a loop over ``enumerate(tqdm(loader))`` takes its values from ``loader``.

Every other table of such calls is built from these. Names are the last parts of the called names.
"""

from __future__ import annotations

COMBINING = frozenset({"enumerate", "zip"})
"""They give more in each iteration than one item of their first argument."""

IN_TURN = frozenset({"iter", "reversed", "islice", "tqdm", "track"})
"""They give the items of their first argument one by one."""

LOOPED = COMBINING | IN_TURN
"""All that take an item from their arguments in each iteration."""

LISTING = frozenset({"list", "tuple", "sorted", "set"})
"""They collect the items of their argument in a container."""
