"""Answers that an edit may change: which are worked out again, and which are known to be as they were."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

from perflint.incremental.revisions import RevisedMemory
from perflint.query import query


@dataclass(eq=False)
class Sheet:
    """Cells with numbers, and formulas: a cell is the sum of others.  Counts what is worked out."""

    numbers: dict[str, int]
    sums: dict[str, str] = field(default_factory=dict)
    memory: RevisedMemory = field(default_factory=RevisedMemory)
    worked_out: list[str] = field(default_factory=list)

    @query
    def value(self, cell: str) -> int:
        """The number in a cell, or the sum of other cells."""
        self.worked_out.append(cell)
        self.memory.note(cell)
        return sum(map(self.value, self.sums[cell])) if cell in self.sums else self.numbers[cell]

    @query
    def is_odd(self, cell: str) -> bool:
        """Whether a cell is odd."""
        self.worked_out.append(f"is {cell} odd")
        return self.value(cell) % 2 == 1

    @query
    def odd(self) -> list[str]:
        """The odd cells of a row."""
        self.worked_out.append("odd")
        return [cell for cell in "abc" if self.is_odd(cell)]

    @query(cycle=frozenset())
    def reached(self, cell: str) -> frozenset[str]:
        """The cells that a cell goes by, itself among them where it goes round in a circle."""
        self.memory.note(cell)
        return frozenset(self.sums.get(cell, "")).union(*map(self.reached, self.sums.get(cell, "")))

    @query
    def onwards(self, cell: str) -> frozenset[str]:
        """The cells that the cells in the sum of a cell go by."""
        self.memory.note(cell)
        return frozenset[str]().union(*map(self.around, self.sums.get(cell, "")))

    @query(cycle=frozenset())
    def around(self, cell: str) -> frozenset[str]:
        """What ``reached`` says, by way of a question that is not on the watch for circles."""
        self.memory.note(cell)
        return self.onwards(cell) | {*self.sums.get(cell, "")}

    def after(self, ask: Callable[[], object], **numbers: int) -> list[str]:
        """What is worked out by a question after an edit of some cells."""
        self.numbers |= numbers
        self.memory.change(numbers)
        self.worked_out.clear()
        ask()
        self.memory.rest()
        return self.worked_out


def test_only_what_an_edit_may_change_is_worked_out_again() -> None:
    sheet = Sheet({"a": 1, "b": 2, "c": 3})
    assert sheet.odd() == ["a", "c"]
    assert sheet.after(sheet.odd) == []
    assert sheet.after(sheet.odd, b=3) == ["b", "is b odd", "odd"]
    assert sheet.odd() == ["a", "b", "c"]


def test_what_comes_out_as_it_was_changes_nothing() -> None:
    sheet = Sheet({"a": 1, "b": 2, "c": 3})
    sheet.odd()
    assert sheet.after(sheet.odd, b=4) == ["b", "is b odd"]


def test_needs_are_looked_at_in_the_order_in_which_they_were_asked() -> None:
    """So nothing is asked that only what is over would have asked for: there is no cell "b" any more."""
    sheet = Sheet({"b": 2, "c": 3}, {"a": "b"})
    assert sheet.value("a") == 2
    sheet.sums["a"] = "c"
    del sheet.numbers["b"]
    assert sheet.after(lambda: sheet.value("a"), a=0) == ["a", "c"]
    assert sheet.value("a") == 3


def test_the_part_that_was_asked_for_last_is_noted_again() -> None:
    sheet = Sheet({"a": 1})
    sheet.memory.note("a")
    sheet.value("a")
    assert sheet.after(lambda: sheet.value("a"), a=2) == ["a"]


def test_a_long_chain_that_was_worked_out_bit_by_bit() -> None:
    cells = [chr(0x4E00 + number) for number in range(5000)]
    sheet = Sheet({cells[0]: 1}, dict(pairwise(reversed(cells))))
    for cell in cells:
        assert sheet.value(cell) == 1
    assert sheet.after(lambda: sheet.value(cells[-1]), **{cells[0]: 7}) == cells
    assert sheet.value(cells[-1]) == 7


def test_circles_come_and_go() -> None:
    chance = random.Random(7)
    sheet = Sheet({})
    for _ in range(1000):
        cell = chance.choice("abcdef")
        sheet.sums[cell] = "".join(chance.sample("abcdef", chance.randint(0, 2)))
        sheet.memory.change([cell])
        for asked in chance.sample("abcdef", 2):
            expected = Sheet({}, sheet.sums).reached(asked)
            if chance.random() < 0.5:
                sheet.onwards(chance.choice("abcdef"))
            assert sheet.reached(asked) == sheet.around(asked) == expected
        sheet.memory.rest()


def test_what_is_gone_is_forgotten_and_what_went_by_it_worked_out_again() -> None:
    sheet = Sheet({"b": 2, "c": 3}, {"a": "b"})
    sheet.value("a")
    sheet.sums["a"] = "c"
    sheet.memory.change([])
    sheet.memory.forget(frozenset("b"))
    assert sheet.value("a") == 3


def test_what_nobody_needs_any_more_is_swept_away() -> None:
    sheet = Sheet({"b": 2, "c": 3}, {"a": "b"})
    sheet.value("a")
    sheet.sums["a"] = "c"
    sheet.after(lambda: sheet.value("a"), a=0)
    sheet.memory.sweep(sheet.memory.revision)
    assert {key[1] for table in sheet.memory.values() for key in table} == {"a", "c"}
    assert sheet.after(lambda: sheet.value("a"), c=4) == ["c", "a"]


def test_answers_about_what_is_gone_are_forgotten() -> None:
    """``is_odd("a")`` needs only another answer, but nobody will ask it again: its key must not keep "a" alive."""
    sheet = Sheet({"a": 1, "b": 2})
    assert sheet.is_odd("a")
    sheet.memory.forget(frozenset("a"))
    assert not [key for table in sheet.memory.values() for key in table if "a" in key]
