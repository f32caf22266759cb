"""The comments that silence findings: put where flake8 and perflint honour them, and nothing else is changed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from perflint.configuration.settings import Settings
from perflint.findings import Edit, Finding, Fix, Level
from perflint.fix.fixer import apply
from perflint.run import engine
from perflint.suppress.noqa import noqa_edits, suppressed
from perflint.text.source import Source
from tests.flake8_marked import reported

CODES = {"item": ["PPF201"], "DataLoader": ["PPF101"], "numpy": ["PPF201", "PPF202"]}
"""What the plugin of ``flake8_marked`` reports at which calls."""


def findings(text: str) -> list[Finding]:
    """A finding for each code at each marked call, as the plugin reports them."""
    source = Source("train.py", text)
    found = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        assert node.end_lineno is not None and node.end_col_offset is not None
        start = source.lines.offset(node.lineno, node.col_offset)
        end = source.lines.offset(node.end_lineno, node.end_col_offset)
        found += [Finding(code, "train.py", start, end, "costly") for code in CODES.get(name, ())]
    return found


def spliced(text: str, edits: list[Edit]) -> str:
    return apply(text, [Fix("", (edit,), Level.SAFE) for edit in edits]).text


def silenced(text: str, reason: str = "") -> str:
    """The text with the comments for all its findings; what is left speaks of nothing, and needs nothing more."""
    result = spliced(text, noqa_edits(Source("train.py", text), findings(text), reason))
    ast.parse(result)
    assert ast.dump(ast.parse(result)) == ast.dump(ast.parse(text))
    after = Source("train.py", result)
    assert [item for item in findings(result) if not suppressed(item, after)] == []
    assert noqa_edits(after, findings(result), reason) == []
    return result


CASES = [
    ("a line", "x = loss.item()\n", "x = loss.item()  # noqa: PPF201\n"),
    (
        "several codes, sorted",
        "x = a.numpy(DataLoader())\n",
        "x = a.numpy(DataLoader())  # noqa: PPF101, PPF201, PPF202\n",
    ),
    ("no line end at the end of the file", "x = loss.item()", "x = loss.item()  # noqa: PPF201"),
    ("blanks at the end of the line", "x = loss.item() \t \ny = 1\n", "x = loss.item()  # noqa: PPF201\ny = 1\n"),
    ("tabs", "if a:\n\tx = loss.item()\n", "if a:\n\tx = loss.item()  # noqa: PPF201\n"),
    ("carriage returns", "x = loss.item()\r\ny = 1\r\n", "x = loss.item()  # noqa: PPF201\r\ny = 1\r\n"),
    ("a form feed", "a = 1\n\x0c\nx = loss.item()\n", "a = 1\n\x0c\nx = loss.item()  # noqa: PPF201\n"),
    ("other scripts", "x = f('損失', '😀', loss.item())\n", "x = f('損失', '😀', loss.item())  # noqa: PPF201\n"),
    ("a row that only looks ended", "x = '\u2028', loss.item()\n", "x = '\u2028', loss.item()  # noqa: PPF201\n"),
    ("a comment", "x = loss.item()  # the loss\n", "x = loss.item()  # the loss  # noqa: PPF201\n"),
    ("type: ignore", "x = loss.item()  # type: ignore\n", "x = loss.item()  # type: ignore  # noqa: PPF201\n"),
    ("no cover", "x = loss.item()# pragma: no cover\n", "x = loss.item()# pragma: no cover  # noqa: PPF201\n"),
    ("what flake8 does not read", "x = loss.item()  #noqa\n", "x = loss.item()  #noqa  # noqa: PPF201\n"),
    ("the first row of a call", "x = DataLoader(\n    a,\n)\n", "x = DataLoader(  # noqa: PPF101\n    a,\n)\n"),
    ("a row inside brackets", "f(\n    a.item(),\n    b,\n)\n", "f(\n    a.item(),  # noqa: PPF201\n    b,\n)\n"),
    ("a backslash", "x = a.item() + \\\n    b + \\\n    c\n", "x = a.item() + \\\n    b + \\\n    c  # noqa: PPF201\n"),
    ("behind a backslash", "x = a + \\\n    b.item()\n", "x = a + \\\n    b.item()  # noqa: PPF201\n"),
    ("before a string", "f(a.item(), '''\none\n''')\n", "f(a.item(), '''\none\n''')  # noqa: PPF201\n"),
    ("behind a string", "f('''\none\n''', a.item())\n", "f('''\none\n''', a.item())  # noqa: PPF201\n"),
    ("a string, then more rows", "f(a.item(), '''\n''',\n  b)\n", "f(a.item(), '''\n''',  # noqa: PPF201\n  b)\n"),
    ("inside an f-string", "x = f'''\n{a.item()}\n'''\n", "x = f'''\n{a.item()}\n'''  # noqa: PPF201\n"),
    ("two on joined rows", "f(a.item(), '''\n''', b.item())\n", "f(a.item(), '''\n''', b.item())  # noqa: PPF201\n"),
    ("a blanket comment", "x = loss.item()  # noqa\n", "x = loss.item()  # noqa\n"),
    ("the code is there", "x = loss.item()  # NoQA:PPF201\n", "x = loss.item()  # NoQA:PPF201\n"),
    ("its beginning is there", "x = loss.item()  # noqa: PPF2\n", "x = loss.item()  # noqa: PPF2\n"),
    ("another tool's code", "x = a.item()  # noqa: E501\n", "x = a.item()  # noqa: E501, PPF201\n"),
    ("a list", "x = a.item()  # noqa:E501,W291\n", "x = a.item()  # noqa:E501,W291,PPF201\n"),
    ("a list of blanks", "x = a.numpy()  # noqa: E501 W291\n", "x = a.numpy()  # noqa: E501 W291 PPF201 PPF202\n"),
    ("one of two", "x = a.numpy()  # noqa: PPF202\n", "x = a.numpy()  # noqa: PPF202, PPF201\n"),
    ("text", "x = a.item()  # noqa: E501 - long\n", "x = a.item()  # noqa: E501, PPF201 - long\n"),
    ("text behind a comma", "x = a.item()  # noqa: E501, long\n", "x = a.item()  # noqa: E501, PPF201, long\n"),
    ("text like a code", "x = a.item()  # noqa: E501 py37\n", "x = a.item()  # noqa: E501, PPF201 py37\n"),
    ("only text like a code", "x = a.item()  # noqa: ppf201\n", "x = a.item()  # noqa: PPF201, ppf201\n"),
    ("another comment behind", "x = a.item()  # noqa: E501 # type\n", "x = a.item()  # noqa: E501, PPF201 # type\n"),
    ("a second noqa", "x = a.item()  # noqa: E5 # noqa\n", "x = a.item()  # noqa: E5, PPF201 # noqa\n"),
    ("a list behind joined rows", "f('''\n''', a.item())  # noqa: E5\n", "f('''\n''', a.item())  # noqa: E5, PPF201\n"),
    ("a string that says it", "x = a.item(), '# noqa'\n", "x = a.item(), '# noqa'\n"),
]


@pytest.mark.parametrize(("before", "after"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_where_the_comment_goes(before: str, after: str) -> None:
    assert silenced(before) == after


def test_flake8_honours_each_of_them(tmp_path: Path) -> None:
    # One file for all that can follow one another, so that flake8 starts twice only.
    cases = [(before, after) for _, before, after in CASES if before.endswith("\n") and "\r" not in before]
    texts = ["".join(texts) for texts in zip(*cases, strict=True)]
    loud, silent = (reported(tmp_path, text) for text in texts)
    assert len(loud) > 30  # of some of them the comment was there before
    assert silent == []


def test_flake8_honours_them_with_carriage_returns_and_without_a_last_line_end(tmp_path: Path) -> None:
    text = "f(a.item(), '''\r\n''')\r\nx = a + \\\r\n    b.item()"
    assert reported(tmp_path, text) == [(1, "PPF201"), (4, "PPF201")]
    assert reported(tmp_path, silenced(text)) == []


def test_a_reason(tmp_path: Path) -> None:
    text = silenced("x = loss.item()\n", "it steers\n  the loop ")
    assert text == "x = loss.item()  # noqa: PPF201 - it steers the loop\n"
    assert reported(tmp_path, text) == []
    assert reported(tmp_path, text.replace("item", "numpy")) == [(1, "PPF202")]


def test_a_reason_does_not_replace_one() -> None:
    assert silenced("x = a.item()  # noqa: E501 - long\n", "old") == "x = a.item()  # noqa: E501, PPF201 - long\n"
    assert silenced("x = a.item()  # noqa: E501 \n", "old") == "x = a.item()  # noqa: E501, PPF201 - old\n"
    assert silenced("x = a.item()  # noqa: PPF201\n", "old") == "x = a.item()  # noqa: PPF201\n"


def test_only_findings_that_are_asked_for_are_silenced() -> None:
    text = "a = x.item()\nb = y.numpy()\n"
    source = Source("train.py", text)
    chosen = [item for item in findings(text) if item.code == "PPF202"]
    assert spliced(text, noqa_edits(source, chosen)) == "a = x.item()\nb = y.numpy()  # noqa: PPF202\n"
    assert noqa_edits(source, []) == []


def test_what_no_comment_can_silence_is_left() -> None:
    broken = Source("train.py", "x = (\n")
    assert noqa_edits(broken, [Finding("PPF001", "train.py", 5, 5, "no end")]) == []
    assert noqa_edits(broken, [Finding("PPF201", "train.py", 0, 1, "costly")]) == []
    # Both tools read the first words of the line that look like one.
    text = "x = a.item(), '# noqa: E501'\n"
    assert noqa_edits(Source("train.py", text), findings(text)) == []


def test_deep_in_a_comment_with_other_words_before_it() -> None:
    text = "x = '# noqa', a.item()\ny = '# ', a.item()  # noqa: E501\n"
    assert silenced(text) == "x = '# noqa', a.item()\ny = '# ', a.item()  # noqa: E501, PPF201\n"


WIDTHS = """\
import paddle
from paddle import nn


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(512, 250){}
        self.second = nn.Linear(250, 10)

    def forward(self, x):
        return self.second(self.first(x))


def train(loader):
    model = Net()
    optimizer = paddle.optimizer.Adam(parameters=model.parameters())
    for x, y in loader:
        with paddle.amp.auto_cast():
            loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
"""


@pytest.mark.parametrize(
    ("comment", "levels"),
    [("", [Level.UNSAFE] * 2), ("  # noqa: PPF306", [Level.DISPLAY]), ("  # noqa: E501", [Level.UNSAFE] * 2)],
)
def test_no_fix_is_made_of_a_line_that_a_comment_silences(comment: str, levels: list[Level]) -> None:
    """The fix of the other layer would change the width of the one that the comment is about."""
    source = Source("train.py", WIDTHS.format(comment))
    fixes = [found.fix for found in engine.check({"train.py": source}, Settings(select=("PPF306",)))]
    assert [fix.level for fix in fixes if fix] == levels
    assert ["line 8" in fix.reason for fix in fixes if fix] == [level is Level.DISPLAY for level in levels]
