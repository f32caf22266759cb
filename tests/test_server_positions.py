"""Rows and columns of the protocol, against the text itself."""

from __future__ import annotations

import random

import pytest

from perflint.server.documents import Positions

CHARACTERS = "ab é合😀\t\f\x85\u2028\n\r"


def text_of(chance: random.Random) -> str:
    return "".join(chance.choice(CHARACTERS) for _ in range(chance.randrange(40)))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_places_lead_back_to_their_offsets(encoding: str) -> None:
    chance = random.Random(0)
    for _ in range(300):
        text = text_of(chance)
        positions = Positions(text, encoding)
        for offset in range(len(text) + 1):
            if text[offset - 1 : offset + 1] != "\r\n":  # no place is between the two
                assert positions.offset(*positions.place(offset)) == offset


def test_rows_end_where_the_protocol_ends_them() -> None:
    positions = Positions("a\x0cb\x85c\u2028d\re\r\nf\n")
    assert [positions.place("a\x0cb\x85c\u2028d\re\r\nf\n".index(each)) for each in "abcdef"] == [
        *((0, 0), (0, 2), (0, 4), (0, 6), (1, 0), (2, 0))
    ]
    assert positions.place(99) == (3, 0)


def test_what_is_out_of_range_is_at_the_nearest_end() -> None:
    positions = Positions("ab\r\ncd")
    assert positions.offset(0, 99) == 2
    assert positions.offset(99, 0) == 6
    assert positions.offset(1, 99) == 6
    assert positions.place(-1) == (0, 0)


def test_a_column_inside_a_character_is_at_its_start() -> None:
    assert Positions("a😀b", "utf-16").offset(0, 2) == 1
    assert Positions("a😀b", "utf-8").offset(0, 3) == 1
    assert Positions("a😀b", "utf-8").offset(0, 5) == 2


def test_a_byte_order_mark_is_a_character_of_the_editor_alone() -> None:
    positions = Positions("\ufeffab\nc", "utf-16", shift=1)
    assert [positions.place(offset) for offset in (0, 1, 3)] == [(0, 1), (0, 2), (1, 0)]
    assert positions.offset(0, 0) == 0
    assert positions.offset(0, 2) == 1
    assert positions.offset(1, 0) == 3
    assert positions.line(0) == "ab"
