"""Edits that join those of other fixes: against a comparison of each with each."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from perflint.findings import Edit, Fix, Level
from perflint.fix.fixer import Taken
from perflint.fix.import_edits import ImportPlace

TEXT = "ab\ncdef\n  gh\nij\n" * 3
ROWS = [at + 1 for at, char in enumerate(TEXT) if char == "\n"]
ROW_OF = {"x = 1\n": "", "y = 2\n": "", "  z\n": "  ", "  w = 3\n": "  "}
"""Contents that are a row of their own, with their indentation."""


def clash(one: Edit, other: Edit) -> bool:
    if one.start > other.end or other.start > one.end:
        return False
    rows = [
        ROW_OF.get(edit.content) if edit.start == edit.end and edit.start in ROWS else None for edit in (one, other)
    ]
    return None in rows or rows[0] != rows[1]


def fits(fix: Fix, taken: list[Edit]) -> bool:
    own = sorted(set(fix.edits))
    if any(left.end > right.start for left, right in pairwise(own)):
        return False
    others = [edit for edit in taken if edit not in own]
    return not any(clash(edit, other) for edit in own if edit not in taken for other in others)


def an_edit(chance: random.Random) -> Edit:
    if chance.random() < 0.5:
        at = chance.choice(ROWS[:3])
        return Edit(at, at, chance.choice([*ROW_OF, "(", "x"]))
    at = chance.randint(0, 20)
    return Edit(at, at + chance.choice([0, 0, 1, 2, 5]), chance.choice("ab"))


@pytest.mark.parametrize("seed", range(10))
def test_the_same_fixes_fit(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(300):
        slow: list[Edit] = []
        quick = Taken(TEXT)
        for _ in range(chance.randint(1, 9)):
            fix = Fix("", tuple(an_edit(chance) for _ in range(chance.randint(1, 3))), Level.SAFE)
            expected = fits(fix, slow)
            assert quick.fits(fix) == expected, (slow, fix)
            if expected:
                quick.add(fix)
                slow += [edit for edit in dict.fromkeys(fix.edits) if edit not in slow]
            assert quick.edits == slow


def test_whether_the_place_of_imports_is_left_alone() -> None:
    text = "import os\nprint(os)\n"
    place, taken = ImportPlace(text).at(text.index("print")), Taken(text)
    taken.add(Fix("", (Edit(0, 6, "import"),), Level.SAFE))
    assert taken.leaves([place])
    taken.add(Fix("", (Edit(7, 12, "sys\nx"),), Level.SAFE))
    assert not taken.leaves([place])
    assert taken.leaves([])
