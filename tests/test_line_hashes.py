"""Line hashes: the values that GitHub's own action computes."""

from __future__ import annotations

import pytest

from perflint.output.sarif import line_hashes

GREETINGS = [
    "e9496ae3ebfced30:1",
    "fb7c023a8b9ccb3f:1",
    "ce8ba1a563dcdaca:1",
    "e20e36e16fcb0cc8:1",
    "b3edc88f2938467e:1",
    "c8e28b0b4002a3a0:1",
    "c129715d7a2bc9a3:1",
]


# The texts and values are those of src/fingerprints.test.ts of https://github.com/github/codeql-action.
@pytest.mark.parametrize(
    ("text", "hashes"),
    [
        ("", ["c129715d7a2bc9a3:1"]),
        (
            " a\nb\n  \t\tc\n d",
            ["271789c17abda88f:1", "54703d4cd895b18:1", "180aee12dab6264:1", "a23a3dc5e078b07b:1"],
        ),
        (" hello; \t\nworld!!!\n\n\n  \t\tGreetings\n End\n", GREETINGS),
        (" hello; \t\nworld!!!\r\r\r  \t\tGreetings\r End\r", GREETINGS),
        (" hello; \t\r\nworld!!!\r\n\r\n\r\n  \t\tGreetings\r\n End\r\n", GREETINGS),
        (" hello; \t\nworld!!!\r\n\n\r  \t\tGreetings\r End\r\n", GREETINGS),
        (
            "Lorem ipsum dolor sit amet.\n" * 10,
            [
                *(f"a7f2ff13bc495cf2:{number}" for number in range(1, 7)),
                "a7f2ff1481e87703:1",
                "a9cf91f7bbf1862b:1",
                "55ec222b86bcae53:1",
                "cc97dc7b1d7d8f7b:1",
                "c129715d7a2bc9a3:1",
            ],
        ),
    ],
)
def test_the_hashes_are_those_of_the_action(text: str, hashes: list[str]) -> None:
    assert line_hashes(text.encode()) == hashes


def test_what_is_not_ascii_counts_in_utf_16() -> None:
    # U+1F600 is D83D DE00; after it come the end of the file and 97 zeros.
    value = ((0xD83D * 37 + 0xDE00) * 37 + 0xFFFF) * 37**97 % 2**64
    assert line_hashes("\U0001f600".encode()) == [f"{value:x}:1"]


def test_bytes_that_are_no_utf_8_do() -> None:
    assert line_hashes(b"a\xff\n") == line_hashes("a\ufffd\n".encode())


def test_a_byte_order_mark_counts() -> None:
    first, second = line_hashes("\ufeffa\nb".encode())
    plain_first, plain_second = line_hashes(b"a\nb")
    assert first != plain_first
    assert second == plain_second
