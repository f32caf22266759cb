"""Reading files as Python does, and rows and columns as Python counts them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from perflint.source import LineTable, Source, UnreadableSource, decode, read

BOM = b"\xef\xbb\xbf"


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        (b"", "", "utf-8"),
        (b"x = 1\n", "x = 1\n", "utf-8"),
        ("s = '\u635f\u5931'".encode(), "s = '\u635f\u5931'", "utf-8"),
        ("# coding: gbk\n\u635f".encode("gbk"), "# coding: gbk\n\u635f", "gbk"),
        ("\n# -*- coding: latin-1 -*-\n\xe9".encode("latin-1"), "\n# -*- coding: latin-1 -*-\n\xe9", "iso-8859-1"),
        (b"a\r\nb\rc\n", "a\r\nb\rc\n", "utf-8"),
    ],
)
def test_decoding_follows_the_cookie_and_round_trips(data: bytes, text: str, encoding: str) -> None:
    source = decode("a.py", data)
    assert (source.text, source.encoding, source.bom) == (text, encoding, False)
    assert source.encode(source.text) == data


def test_a_byte_order_mark_is_taken_off_and_put_back() -> None:
    source = decode("a.py", BOM + b"x = 1\n")
    assert source.text == "x = 1\n"
    assert source.bom
    assert source.encode("y\n") == BOM + b"y\n"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"x = 1\0", "null byte"),
        (b"s = '\xff\xfe'\n", "cannot be decoded"),
        (b"# coding: no-such-encoding\n", "no-such-encoding"),
        (BOM + b"# coding: gbk\n", "cannot be decoded"),
    ],
)
def test_what_is_no_python_text_is_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableSource, match=reason):
        decode("a.py", data)


def test_a_file_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    with pytest.raises(UnreadableSource, match="No such file"):
        read(tmp_path / "gone.py")
    with pytest.raises(UnreadableSource, match="directory"):
        read(tmp_path)


def test_a_file_is_read_under_its_path_as_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").write_bytes(b"x\n")
    monkeypatch.chdir(tmp_path)
    assert read(Path("a.py")) == Source("a.py", "x\n")


def test_what_the_encoding_cannot_hold_raises() -> None:
    with pytest.raises(UnicodeEncodeError):
        decode("a.py", b"# coding: latin-1\n").encode("\u635f")


@pytest.mark.parametrize(
    ("text", "newline"), [("", "\n"), ("a", "\n"), ("a\nb\r\n", "\n"), ("a\r\nb\n", "\r\n"), ("a\rb", "\r")]
)
def test_the_line_end_of_a_file_is_that_of_its_first_line(text: str, newline: str) -> None:
    assert Source("a.py", text).newline == newline


def test_rows_and_columns_with_every_kind_of_line_end() -> None:
    lines = LineTable("ab\ncd\r\nef\rgh")
    assert [lines.position(offset) for offset in (0, 2, 3, 5, 6, 7, 9, 10, 12)] == [
        (1, 1),
        (1, 3),
        (2, 1),
        (2, 3),
        (2, 4),
        (3, 1),
        (3, 3),
        (4, 1),
        (4, 3),
    ]
    assert [lines.line(row) for row in range(1, lines.rows + 1)] == ["ab", "cd", "ef", "gh"]
    assert [(lines.line_start(row), lines.line_end(row)) for row in range(1, 5)] == [(0, 3), (3, 7), (7, 10), (10, 12)]


@pytest.mark.parametrize("text", ["", "a", "a\n", "\n\n", "a\nb", "a\n\nb\n", "a\x0cb\nc\u2028d\n"])
def test_rows_begin_behind_each_line_end(text: str) -> None:
    starts = [0, *(at + 1 for at, character in enumerate(text) if character == "\n")]
    table = LineTable(text)
    assert [table.line_start(row) for row in range(1, len(starts) + 1)] == starts
    assert table.between(1, len(starts)) == text


def test_a_text_that_ends_in_a_line_end_has_an_empty_last_row() -> None:
    lines = LineTable("a\n")
    assert lines.rows == 2
    assert lines.line(2) == ""
    assert lines.position(2) == (2, 1)


def test_characters_that_only_str_splitlines_takes_for_line_ends_end_no_row() -> None:
    assert LineTable("a\x0b\x0c\x1c\x85\u2028b").rows == 1


def test_ast_positions_become_offsets_behind_wide_characters_and_tabs() -> None:
    text = "\u635f\u5931 = '\U0001f600'; b = 2\nif b:\n\tc = 3\n"
    lines = LineTable(text)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name):
            start = lines.offset(node.lineno, node.col_offset)
            end = lines.offset(node.end_lineno or 0, node.end_col_offset or 0)
            assert text[start:end] == node.id
