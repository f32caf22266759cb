from __future__ import annotations

from pathlib import Path

import pytest

from perflint.findings import Finding
from perflint.suppress.noqa import skips_file, suppressed
from perflint.text.source import Source
from tests.flake8_marked import reported


def is_suppressed(text: str, at: str = "loss.item()", statement: str | None = None, code: str = "PPF201") -> bool:
    """Whether a finding on ``at`` (a part of the text) is silenced, ``statement`` being the part around it."""
    start = text.index(at)
    around = None if statement is None else (text.index(statement), text.index(statement) + len(statement))
    finding = Finding(code, "train.py", start, start + len(at), "costly", statement=around)
    return suppressed(finding, Source("train.py", text))


# Each line was put before flake8 7.5 with a plugin that reports PPF201 there.
@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("", False),
        ("# noqa", True),
        ("# NOQA", True),
        ("# NoQa: PPF201", True),
        ("#noqa", False),
        ("#  noqa", False),
        ("# type: ignore # noqa", True),
        ("# the loss # noqa: PPF201", True),
        ("# noqa: PPF201", True),
        ("# noqa:PPF201", True),
        ("# noqa:\tPPF201", True),
        ("# noqa: E501", False),
        ("# noqa:PPF101,PPF201", True),
        ("# noqa: PPF101, PPF201", True),
        ("# noqa: PPF101 PPF201", True),
        ("# noqa: PPF101 , PPF201", True),
        ("# noqa: PPF101,PPF102", False),
        ("# noqa: PPF201 - the value steers the loop", True),
        ("# noqa: PPF101 - not PPF201", False),
        # A code silences those it is the beginning of, and not the other way round.
        ("# noqa: PPF2", True),
        ("# noqa: PPF1", False),
        ("# noqa: PPF2011", False),
        ("# noqa: P2", False),
        # Codes are told apart by case, the word is not.
        ("# noqa: ppf201", False),
        ("# noqa: Ppf201", False),
        # What is no list of codes leaves a comment that speaks of everything.
        ("# noqa : PPF101", True),
        ("# noqa:  PPF101", True),
        ("# noqa: because", True),
        ("# noqa:", True),
        ("# noqa PPF101", True),
        ("# noqa, PPF101", True),
        ("# noqa: PPF", True),
        ("# noqa: PPF101;PPF201", False),
        ("# noqa: PPF101PPF201", False),
        # Only the first comment of a line is read.
        ("# noqa: E501 # noqa", False),
    ],
)
def test_comments_are_read_as_flake8_does(comment: str, expected: bool) -> None:
    assert is_suppressed(f"total += loss.item()  {comment}\n") is expected


def test_only_its_own_line_counts() -> None:
    assert not is_suppressed("x = 1  # noqa\ntotal += loss.item()\ny = 2  # noqa\n")
    assert not is_suppressed("# noqa\ntotal += loss.item()\n")
    assert is_suppressed("total += loss.item()  # noqa")


CALL = """\
loader = DataLoader(  {first}
    data,  {middle}
    num_workers=0,  {inner}
    shuffle=True,
)  {last}
"""


@pytest.mark.parametrize(
    ("place", "expected"), [("first", True), ("last", True), ("inner", True), ("middle", False), ("none", False)]
)
def test_first_and_last_line_of_finding_and_statement_count(place: str, expected: bool) -> None:
    marks = {name: "# noqa: PPF101" if name == place else "" for name in ("first", "middle", "inner", "last")}
    text = CALL.format(**marks)
    statement = text.rstrip("\n").removesuffix(marks["last"]).rstrip()
    assert is_suppressed(text, "num_workers=0", statement, "PPF101") is expected


def test_each_line_of_the_finding_counts() -> None:
    text = "x = DataLoader(\n    data,\n)  # noqa: PPF101\n"
    assert is_suppressed(text, "DataLoader(\n    data,\n)", code="PPF101")
    text = "x = DataLoader(\n    data,  # noqa: PPF101\n)\n"
    assert is_suppressed(text, "DataLoader(\n    data,  # noqa: PPF101\n)", text.rstrip(), "PPF101")
    assert not is_suppressed(text, "DataLoader(\n    data,  # noqa: PPF101\n)", text.rstrip(), "PPF201")
    # A comment beside one argument is not about another one.
    text = "print(\n    a.item(),  # noqa: PPF201\n    b.item(),\n    c,\n)\n"
    assert is_suppressed(text, "a.item()", text.rstrip())
    assert not is_suppressed(text, "b.item()", text.rstrip())


HEADER = """\
for x in zip(  {first}
    a.item(),  {second}
    b,  {third}
):  {last}
    print(x)  {body}
    print(  {body}
        x
    )  {body}
"""


@pytest.mark.parametrize(
    ("place", "in_header", "at_loop"),
    [
        ("first", True, True),
        ("second", True, True),
        ("third", False, True),
        ("last", True, True),
        ("body", False, False),
    ],
)
def test_a_header_is_a_statement_of_its_own(place: str, in_header: bool, at_loop: bool) -> None:
    names = ("first", "second", "third", "last", "body")
    text = HEADER.format(**{name: "# noqa: PPF201" if name == place else "" for name in names})
    assert is_suppressed(text, "a.item()") is in_header
    assert is_suppressed(text, text.rstrip("\n")) is at_loop  # a finding about the whole loop
    assert is_suppressed(text, "print(x)") is (place == "body")


def test_a_decorator_is_a_statement_of_its_own() -> None:
    text = (
        "@wrap(  # noqa: PPF201\n    a,\n)\ndef f(\n    x,  # noqa: PPF202\n):\n    return x.item()  # noqa: PPF203\n"
    )
    function = text[text.index("def") : text.index("  # noqa: PPF203")]
    silenced = [code for code in ("PPF201", "PPF202", "PPF203") if is_suppressed(text, function, code=code)]
    assert silenced == ["PPF202"]
    silenced = [code for code in ("PPF201", "PPF202", "PPF203") if is_suppressed(text, "x.item()", code=code)]
    assert silenced == ["PPF203"]


def test_only_the_places_of_a_joined_finding_count() -> None:
    text = "a.item()\n# noqa: PPF201\nb(\n    1,  # noqa: PPF202\n)\n"
    places = [(text.index(part), text.index(part) + len(part)) for part in ("a.item()", text[text.index("b(") : -1])]
    whole = (places[0][0], places[1][1])
    source = Source("train.py", text)
    for code, expected in (("PPF201", False), ("PPF202", True)):
        finding = Finding(code, "train.py", *whole, "costly", statement=whole, places=tuple(places))
        assert suppressed(finding, source) is expected


def test_an_end_at_a_line_start_does_not_reach_into_that_line() -> None:
    assert not is_suppressed("print(loss.item())\nx = 1  # noqa\n", statement="print(loss.item())\n")


def test_a_backslash_joins_lines() -> None:
    assert is_suppressed("total = loss.item() + \\\n    more  # noqa\n")
    assert is_suppressed("total = a + \\\n    b + \\\n    loss.item()  # noqa\n", "a")


def test_text_in_a_string_counts_as_in_flake8() -> None:
    assert is_suppressed("print('# noqa', loss.item())\n")
    assert is_suppressed('print("""\n# noqa: PPF2\n""", loss.item())\n')
    assert is_suppressed('print(loss.item(), """\n""")  # noqa\n')
    # The text is met before the comment, and only the first of them is read.
    assert not is_suppressed('print("""\n# noqa: E501\n""", loss.item())  # noqa\n')


def test_brackets_do_not_join_lines() -> None:
    assert not is_suppressed("print(\n    loss.item(),\n    2,  # noqa\n)\n")
    assert not is_suppressed("print(\n    1,  # noqa\n    loss.item(),\n)\n")


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_all_line_ends(newline: str) -> None:
    text = newline.join(["a = 1  # noqa", "print(loss.item())", "s = '''", "# noqa", "'''", "print(1)  # noqa", ""])
    assert not is_suppressed(text)
    assert is_suppressed(text, "print(1)")
    assert is_suppressed(text, "s = ")
    assert not is_suppressed(text.replace("# noqa", "# nope"), "print(1)")


def test_lines_of_a_broken_file_stand_for_themselves() -> None:
    assert is_suppressed("print(loss.item())  # noqa\nx = (\n")
    assert not is_suppressed("print(loss.item())\nx = '''  # noqa\n")


def test_an_empty_file_has_nothing_to_silence() -> None:
    assert not suppressed(Finding("PPF001", "a.py", 0, 0, "broken"), Source("a.py", ""))
    assert suppressed(Finding("PPF001", "a.py", 0, 0, "broken"), Source("a.py", "# noqa"))


# --- skip-file


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# perflint: skip-file\n", True),
        ("#perflint:skip-file", True),
        ("import paddle\n\n    #  perflint:  skip-file - generated\n", True),
        ("# -*- coding: utf-8 -*-\r\n# perflint: skip-file\r\n", True),
        ("a = 1\r# perflint: skip-file\r", True),
        ("def f(\n    # perflint: skip-file\n    a,\n): ...\n", True),
        ("", False),
        ("x = 1  # perflint: skip-file\n", False),
        ("# see perflint: skip-file\n", False),
        ("# # perflint: skip-file\n", False),
        ("# perflint: skip-files\n", False),
        ("# perflint: skip-file-now\n", False),
        ("# Perflint: skip-file\n", False),
        ("# perflint skip-file\n", False),
        ('"""Docs.\n\n# perflint: skip-file\n"""\n', False),
        ('s = f"""\n# perflint: skip-file\n"""\n', False),
        ("x = '\\\n# perflint: skip-file'\n", False),
        ('"""\n# perflint: skip-file\n"""\n# perflint: skip-file\n', True),
        # A file that cannot be read to its end is taken at its word.
        ("# perflint: skip-file\nx = (\n", True),
        ("x = '''\n# perflint: skip-file\n", True),
        ("{% if a %}\n# perflint: skip-file\n$ = '\n", True),
        ('"""\n# perflint: skip-file\n"""\nx = (\n', False),
    ],
)
def test_skips_file(text: str, expected: bool) -> None:
    assert skips_file(Source("a.py", text)) is expected


def test_deep_nesting_is_no_obstacle() -> None:
    text = "x = " + "(" * 10_000 + ")" * 10_000 + "  # noqa\n# perflint: skip-file\n"
    assert skips_file(Source("a.py", text))
    assert suppressed(Finding("PPF001", "a.py", 0, 1, "nested"), Source("a.py", text))


# --- what flake8 leaves out

FILES = [
    ("# flake8: noqa\n", True),
    ("# flake8:noqa\n", True),
    ("# FLAKE8= NOQA\n", True),
    ("  \t# flake8: noqa\n", True),
    ("\x0c# flake8: noqa\n", True),
    # Codes do not narrow it, and words do not spoil it.
    ("# flake8: noqa: PPF101\n", True),
    ("# flake8: noqa: PPF1, because\n", True),
    ("# flake8: noqa because\n", True),
    ("# flake8: noqa : E501\n", True),
    ('"""\n# flake8: noqa\n"""\n', True),
    ("#flake8: noqa\n", False),
    ("#  flake8: noqa\n", False),
    ("# flake8 : noqa\n", False),
    ("# flake8 noqa\n", False),
    ("# see # flake8: noqa\n", False),
    ("x = 1  # flake8: noqa\n", False),
    ("x = 1  # flake8: noqa: PPF2\n", False),
    ('"""Docs. # flake8: noqa\n"""\n', False),
]


@pytest.mark.parametrize(("text", "expected"), FILES)
def test_a_file_that_flake8_leaves_out_is_left_out(text: str, expected: bool) -> None:
    assert skips_file(Source("a.py", text)) is expected
    assert skips_file(Source("a.py", "import paddle\n\n" + text.replace("\n", "\r\n") + "x = 1\r\n")) is expected


def test_flake8_leaves_them_out(tmp_path: Path) -> None:
    # A process for each would take long: those with codes, words and in a string stand for their kind.
    for text, expected in (FILES[5], FILES[7], FILES[9], FILES[15]):
        assert (reported(tmp_path, text + "x = loss.item()\n") == []) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"""\nskip-file is named here, and nothing ends this text\n', False),
        ('"""\n# perflint: skip-file\n', True),  # no tokens: the row is taken at its word
        ('# another comment\n"""\n# perflint: skip-file\n"""\n', False),
    ],
)
def test_a_file_without_tokens_and_a_directive_in_a_text(text: str, expected: bool) -> None:
    assert skips_file(Source("a.py", text)) is expected
