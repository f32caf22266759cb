"""Reading files as Python does, and rows and columns as Python counts them."""

from __future__ import annotations

import ast
import codecs
import encodings
import pkgutil
import warnings
from encodings import aliases
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from perflint.text.source import LineTable, Source, UnreadableSource, decode, lines_of, read

if TYPE_CHECKING:
    from typing_extensions import Buffer

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


ENCODINGS = sorted(
    {*aliases.aliases, *aliases.aliases.values()} | {module.name for module in pkgutil.iter_modules(encodings.__path__)}
)
PLAIN = "x = 1\ny = 'a' * 2\n"


@pytest.mark.parametrize("rest", [PLAIN, "x = '\\u000ab\\n'\n", "x = '~\n", "x" * 100 + " = 1\n", "x = 1\r+AAo-\r\n"])
def test_every_codec_is_read_as_python_reads_it_or_refused(rest: str) -> None:
    read_as_python = 0
    for encoding in ENCODINGS:
        data = f"# coding: {encoding}\n{rest}".encode()
        try:
            source = decode("a.py", data)
        except UnreadableSource as error:
            assert str(error).startswith("it cannot be decoded: "), encoding
            continue
        assert decode("a.py", source.encode(source.text)).text == source.text, encoding
        assert source.lines.rows == LineTable(data.decode("ascii")).rows, encoding
        assert parsed(source.text) == parsed(data), encoding
        read_as_python += 1
    assert read_as_python > 300


def parsed(code: str | bytes) -> str:
    """The tree of a text or of the bytes of a file; empty where it is no Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.dump(ast.parse(code))
        except SyntaxError:
            return ""


@pytest.mark.parametrize(
    "encoding",
    [
        "punycode",
        "idna",
        "undefined",
        "rot13",
        "base64",
        "zlib",
        "hex",
        "uu",
        "utf-16",
        "cp037",
        "unicode_escape",
    ],
)
def test_codecs_that_are_none_for_files_are_refused_by_name(encoding: str) -> None:
    with pytest.raises(UnreadableSource) as caught:
        decode("a.py", f"# coding: {encoding}\nx = 1\n".encode())
    assert encoding in str(caught.value)


def test_encodings_of_old_files_are_read() -> None:
    text = {"gbk": "\u635f", "gb18030": "\u635f", "big5": "\u4e2d", "shift_jis": "\u8868", "euc_kr": "\uac00"}
    text |= {"iso2022_jp": "\u8868", "koi8_r": "\u0430", "cp1252": "\u20ac", "latin-1": "\xe9", "euc_jp": "\u8868"}
    for encoding, letter in text.items():
        data = f"# coding: {encoding}\nx = '{letter}'  # {letter}\n".encode(encoding)
        source = decode("a.py", data)
        assert letter in source.text
        assert source.encode(source.text) == data


def test_a_codec_that_takes_long_is_not_given_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """What punycode makes of a text grows with its square."""
    sizes: list[int] = []

    def slow(data: Buffer, errors: str = "strict", /) -> tuple[str, int]:
        sizes.append(len(bytes(data)))
        return bytes(data).decode("latin-1")[::-1], len(bytes(data))

    def find(name: str) -> codecs.CodecInfo | None:
        return codecs.CodecInfo(codecs.charmap_encode, slow, name="slow_codec") if name == "slow_codec" else None

    codecs.register(find)
    try:
        with pytest.raises(UnreadableSource, match="slow_codec is not an encoding for text files"):
            decode("a.py", b"# coding: slow_codec\n" + b"x = 1\n" * 10_000)
    finally:
        codecs.unregister(find)
    assert max(sizes) < 1_000


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


def test_rows_are_those_that_python_counts() -> None:
    text = "a\r\nb\rc\n\x0cd \u2028 e\n\nf"
    assert "".join(lines_of(text)) == text
    assert lines_of(text) == ["a\r\n", "b\r", "c\n", "\x0cd \u2028 e\n", "\n", "f"]
