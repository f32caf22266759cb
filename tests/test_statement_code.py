"""The code of a statement: where its nodes are in the file, and edits of statements with others around them."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import libcst as cst
import pytest

from perflint.configuration.settings import Settings
from perflint.findings import Confidence, Finding, ImpactLevel, overlap
from perflint.lint.statement_code import Instead, StatementCode, StatementEdit
from perflint.rules.edits import WithArgument, WithoutArgument
from perflint.run import engine
from perflint.text.source import Source
from tests.support import PATH, in_step, sources

TEXTS = {
    "plain": "x = 1\ndef f(a):\n    return g(a, 'b')\n",
    "class": "class A:\n    def f(self):\n        return g(self)\n\n\n    y = h(1)\n",
    "nested class": "class A:\n  class B:\n    class C:\n      def f(self):\n        return g(self)\n",
    "tabs": "class A:\n\tdef f(self):\n\t\tif self:\n\t\t\treturn g(self)\n",
    "crlf": "class A:\r\n    def f(self):\r\n        return g(self,\r\n            1)\r\n",
    "cr": "x = 1\rclass A:\r    def f(self):\r        return g(self)\r",
    "form feed": "\x0cx = f(1)\n\x0c\ndef f():\n    pass\n\x0c\n    return g(2)\n",
    "wide characters": "s = '学习率 🚀'; x = f('ä')\nclass A:\n    '''说明'''\n    def 训练(self): return g('损失')\n",
    "no final newline": "def f():\n    return g(1)",
    "backslash": "x = f(1) + \\\n    g(2)\nclass A:\n    y = \\\n        h(3)\n",
    "comments": "class A:\n    # one\n    def f(self):  # two\n        # three\n"
    "        return g(self)  # four\n  # odd\n    # five\n",
    "strings": "class A:\n    '''\nat the margin\n'''\n    def f(self):\n        return g('''\nx''')\n",
    "decorators": "class A:\n    @d(1)\n    @e\n    # note\n    async def f(self):\n        return await g(self)\n",
    "match": "class A:\n    match f(1), (g(2)  # a: b\n  ):\n      case [A(1), 2] if h(3): i(4); j(5);\n"
    "      # between\n      case (\n 3):  # three\n        @k(6)\n        def f(): pass\n\n        x = '''\n'''\n",
    "line separators": "x = f('\u2028')\ny = g('\x0b \x1c \x85')\n",
}


def codes_of(text: str) -> list[StatementCode]:
    """The statements of a text."""
    source = Source("a.py", text)
    return [StatementCode(node, source) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt)]


@pytest.mark.parametrize("name", TEXTS)
def test_libcst_knows_each_call_at_the_same_place(name: str) -> None:
    text = TEXTS[name]
    for code in codes_of(text):
        for call in (node for node in code.order if isinstance(node, ast.Call)):
            start, end = code.span(call)
            written = code.cst(call)
            assert isinstance(written, cst.Call)
            assert code.written.span(written) == (start, end)
            assert ast.dump(ast.parse(f"({text[start:end]}\n)", mode="eval").body) == ast.dump(call)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ('f"{a.b()}"', ["a.b()"]),
        ('"a {c()} " f"{ b(1) :{c()}}"', ["b(1)", "c()"]),
        ("f'{a}{a()}{a()!r}'", ["a()", "a()"]),
        ('f"""\n{a(\n  b())}\n"""', ["a(\n  b())", "b()"]),
        ('f\'{"\u00e9"}{a("\u00e9", b())=}\'', ['a("\u00e9", b())', "b()"]),
        ("f'{f\"{a()} {b}\"}'", ["a()"]),
        ("[f'{(a)(1)}', f'{a(2)}']", ["(a)(1)", "a(2)"]),
    ],
)
def test_calls_in_f_strings_are_where_they_are_written(text: str, parts: list[str]) -> None:
    [code] = codes_of(f"x = {text}\n")
    places = (code.span(node) for node in code.order if isinstance(node, ast.Call))
    assert [f"x = {text}\n"[start:end] for start, end in places] == parts


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x = (a, b)", "a, b"),
        ("x = (a), (b)", "(a), (b)"),
        ("x = f(i for i in y)", "i for i in y"),
        ("x = ()", ""),
        ("x = (a, (b))", "a, (b)"),
    ],
)
def test_parentheses_are_no_part_of_a_node(text: str, shown: str) -> None:
    [code] = codes_of(text)
    [node] = [item for item in code.order if isinstance(item, (ast.Tuple, ast.GeneratorExp))]
    start, end = code.span(node)
    assert text[start:end] == shown


def test_only_the_header_of_a_compound_statement_is_its_code() -> None:
    text = "if a:\n    pass\nelif b(1):\n    # c()\n    d()\nelse:\n    e()\n"
    seen = {text[slice(*code.span(node))] for code in codes_of(text) for node in code.order if code.cst(node)}
    assert seen == {"a", "b(1)", "b", "1", "pass", "d()", "d", "e()", "e"}


def test_code_that_libcst_cannot_parse_has_no_nodes_of_it() -> None:
    [code] = codes_of(f"x = a({' + '.join(['b'] * 2_000)})")
    call = next(node for node in code.order if isinstance(node, ast.Call))
    assert code.cst(call) is None


# --- edits by visitors


def edited(text: str, change: Callable[[Any], StatementEdit], kind: type[ast.AST] = ast.Call) -> tuple[str, int]:
    """The text after a change of its outermost node of a kind, and how many edits make it."""
    for code in codes_of(text):
        node = next((node for node in code.order if isinstance(node, kind)), None)
        if node is not None:
            edits = change(node).edits(code)
            assert not overlap(edits)
            for edit in reversed(edits):
                text = text[: edit.start] + edit.content + text[edit.end :]
            return text, len(edits)
    raise AssertionError(text)


class Renamed(StatementEdit):
    """Another method, which also gets one more argument."""

    def leave_Call(self, _: Any, call: cst.Call) -> cst.Call:
        function = cst.ensure_type(call.func, cst.Attribute).with_changes(attr=cst.Name("full"))
        return call.with_changes(func=function, args=[*call.args, cst.Arg(cst.Integer("1"))])


@pytest.mark.parametrize(
    ("text", "expected", "count"),
    [
        ("y = paddle.ones(x)\n", "y = paddle.full(x, 1)\n", 2),
        ("if paddle.ones(x):\n    pass\n", "if paddle.full(x, 1):\n    pass\n", 2),
        ("def f(a=p.ones(x)):\n    pass\n", "def f(a=p.full(x, 1)):\n    pass\n", 2),
        (
            "for i in y:\n    match p.ones(x):\n        case 1:\n            g(i)\n",
            "for i in y:\n    match p.full(x, 1):\n        case 1:\n            g(i)\n",
            2,
        ),
        (
            "match y:\n  case 1:\n    g(\n)\n    h\n  case a if p.ones(x):\n    g(a)\n",
            "match y:\n  case 1:\n    g(\n)\n    h\n  case a if p.full(x, 1):\n    g(a)\n",
            2,
        ),
        ("@p.ones(x)\ndef f():\n    pass\n", "@p.full(x, 1)\ndef f():\n    pass\n", 2),
        ("s = f'{p.ones(x)}'\n", "s = f'{p.full(x, 1)}'\n", 2),
        ("s = '学习率 🚀'; y = p.ones(x)\n", "s = '学习率 🚀'; y = p.full(x, 1)\n", 2),
        ("y = p.ones(\r\n    x)\r\n", "y = p.full(\r\n    x, 1)\r\n", 2),
        ("y = p.ones()\n", "y = p.full(1)\n", 1),  # only a bracket is between the two
    ],
)
def test_a_visitor_changes_only_the_words_that_differ(text: str, expected: str, count: int) -> None:
    assert edited(text, Renamed) == (expected, count)


@pytest.mark.parametrize(
    ("text", "other", "expected"),
    [
        ("y = f(a)\n", "f(a).detach()", "y = f(a).detach()\n"),
        ("y = (f(a))\n", "a or b", "y = (a or b)\n"),  # its brackets stay
        ("y = f(  # why\n    a, b)\n", "g(b)", "y = g(  # why\n    b)\n"),
        ("y = f(  # why\n    a)\n", "a", "y = f(  # why\n    a)\n"),  # nothing could keep the comment
        ("y = f(a, b)\n", "g(b)", "y = g(b)\n"),
        ("y = f(a)\n", "g(\n    a)", "y = g(\n    a)\n"),
        ("y = f(a)\n", "lambda: 0 0", "y = f(a)\n"),  # no expression
    ],
)
def test_another_expression_keeps_what_is_around_it(text: str, other: str, expected: str) -> None:
    assert edited(text, lambda node: Instead(node, other))[0] == expected


def test_a_new_row_ends_as_the_rows_of_the_file() -> None:
    text = "def f():\r\n    y = g(a)\r\n"
    assert edited(text, lambda node: Instead(node, "g(\r\n        a)"))[0] == "def f():\r\n    y = g(\r\n        a)\r\n"


def test_two_changes_of_one_statement_go_together() -> None:
    text = "y = f(a, g(b))\n"
    [code] = codes_of(text)
    outer, inner = (node for node in code.order if isinstance(node, ast.Call))
    edits = [*Instead(outer.func, "h").edits(code), *Instead(inner.args[0], "c").edits(code)]
    assert [(edit.start, edit.end, edit.content) for edit in edits] == [(4, 5, "h"), (11, 12, "c")]


def test_code_that_libcst_cannot_parse_is_not_changed() -> None:
    text = f"x = a({' + '.join(['b'] * 2_000)})\n"
    assert edited(text, Renamed) == (text, 0)


@pytest.mark.parametrize(
    ("text", "at", "expected"),
    [
        ("f(a, b)\n", 0, "f(b)\n"),
        ("f(a, b)\n", 1, "f(a)\n"),
        ("f(a)\n", 0, "f()\n"),
        ("f(a, b,)\n", 1, "f(a,)\n"),
        ("f(\n    a,\n    b,\n)\n", 0, "f(\n    b,\n)\n"),
        ("f(\n    a,\n    b,\n)\n", 1, "f(\n    a,\n)\n"),
        ("f(\n    a,  # one\n    b)\n", 0, "f(\n    # one\n    b)\n"),
        ("f(\n    a,  # one\n    b)\n", 1, "f(\n    a,  # one\n    )\n"),
        ("f(\n    a,  # one\n    b,\n)\n", 1, "f(\n    a,  # one\n)\n"),
        ("f(a=1, b=(2))\n", 1, "f(a=1)\n"),
    ],
)
def test_an_argument_goes_with_its_comma_and_leaves_comments(text: str, at: int, expected: str) -> None:
    def without(call: ast.Call) -> StatementEdit:
        return WithoutArgument(call, [*call.args, *(item.value for item in call.keywords)][at])

    assert edited(text, without)[0] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f()\n", "f(n=1)\n"),
        ("f(a)\n", "f(a, n=1)\n"),
        ("f(a,)\n", "f(a, n=1,)\n"),
        ("f(a, b\n  )\n", "f(a, b, n=1\n  )\n"),
        ("f(\n    a\n)\n", "f(\n    a,\n    n=1\n)\n"),
        ("f(\n    a,\n)\n", "f(\n    a,\n    n=1,\n)\n"),
        ("f(\n    a,  # one\n)\n", "f(\n    a,  # one\n    n=1,\n)\n"),
        ("f(\n    a  # one\n)\n", "f(\n    a,  # one\n    n=1\n)\n"),
        ("f(\n    a,\n    b)\n", "f(\n    a,\n    b,\n    n=1)\n"),
        ("f(\r\n    a,\r\n)\r\n", "f(\r\n    a,\r\n    n=1,\r\n)\r\n"),
    ],
)
def test_an_argument_is_added_as_the_last_one_is_written(text: str, expected: str) -> None:
    assert edited(text, lambda call: WithArgument(call, "n=1"))[0] == expected


def found(text: str) -> list[Finding]:
    """The findings of all rules."""
    settings = Settings(join_lines=False, select=("ALL",), min_confidence=Confidence.LOW, min_impact=ImpactLevel.LOW)
    return engine.check(sources(text), settings)


def test_a_sum_is_read_where_the_loop_reads_it() -> None:
    text = """
        import paddle
        import paddle.nn.functional as F

        def train(model, loader, optimizer, log_steps):
            total = 0.0
            for step, (x, y) in enumerate(loader):
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                optimizer.step()
                optimizer.clear_grad(set_to_zero=False)
                total += loss.item()
                if step % log_steps == 0:
                    mean = total / log_steps
                    show(mean)
                    total = 0.0
        """
    [finding] = found(text)
    assert finding.fix is not None
    assert "float(total)" in {edit.content for edit in finding.fix.edits}


def test_log_rows_that_stand_together_get_one_guard() -> None:
    body = """
        accuracy = 0.5
        print("a", step)
        print("b", step)
        print("c",
              step)
        lr = optimizer.get_lr()
        print("d", step)
        lr = 0.1
        """
    first, second, third, fourth = found(in_step(body))
    assert first.fix == second.fix == third.fix != fourth.fix


def test_a_block_that_a_deletion_empties_keeps_a_pass() -> None:
    body = """
        import gc
        if step > 5:
            gc.collect()
            paddle.device.cuda.empty_cache()
        if step > 6:
            gc.collect()
            step += 1
        """
    deleted = [finding.fix.edits[-1].content for finding in found(in_step(body)) if finding.fix]
    assert deleted == ["", "pass", ""]


@pytest.mark.parametrize(
    ("branch", "title"),
    [
        ("scale = loss * 2", "choose on the device with `paddle.where`"),
        ("scale = loss * 2\n    other = 1", "choose on the device, with `paddle.where` or `.clip`"),
        (
            "with model:\n        scale = loss * 2",
            "decide by something that the host knows without a read, such as a shape, or compute both sides",
        ),
    ],
)
def test_what_a_branch_does_decides_what_is_shown(branch: str, title: str) -> None:
    body = f"scale = loss\nif loss > 3:\n    {branch}\nscale = scale * 2\n"
    [fix] = [finding.fix for finding in found(in_step(body)) if finding.code == "PPF203"]
    assert fix is not None
    assert fix.message == title


def test_a_loop_that_is_moved_leaves_its_strings() -> None:
    text = """
        import paddle
        import paddle.nn.functional as F

        def fit(model, loader, test_loader, optimizer):
            for x, y in loader:
                F.cross_entropy(model(x), y).backward()
                optimizer.step()
                optimizer.clear_grad(set_to_zero=False)
            model.eval()
            for x, y in test_loader:
                name = '''
                a'''
                shape = (1,
                         2)
                hits = (model(x).argmax(-1) == y).sum()
            model.train()
        """
    [finding] = [item for item in found(text) if item.code == "PPF601"]
    assert finding.fix is not None
    lines = sources(text)[PATH].lines
    moved = [lines.line(lines.position(edit.start)[0]).strip()[:6] for edit in finding.fix.edits]
    assert moved == ["for x,", "name =", "shape ", "2)", "hits ="]


# --- when LibCST is loaded

CHECKS = """
import sys
from perflint.run import engine
from perflint.rules import load_checks
from perflint.configuration.settings import Settings
from perflint.text.source import Source

load_checks()
print("libcst" in sys.modules)
text = open(sys.path[0] + "/train.py").read()
found = engine.check({"train.py": Source("train.py", text)}, Settings(join_lines=False), jobs=1)
print([finding.code for finding in found])
print("libcst" in sys.modules)
"""

MODEL = """
import paddle

class Net(paddle.nn.Layer):
    def forward(self, x):
        return x
"""


LOADER = in_step("pass") + "\n\nimport paddle.io\nloader = paddle.io.DataLoader(data, shuffle=True)\n"


@pytest.mark.parametrize(
    ("text", "codes", "is_needed"),
    [
        (LOADER, "['PPF101']", True),  # an argument is added
        (in_step("paddle.device.synchronize()"), "['PPF204']", False),
        (MODEL, "[]", False),
    ],
)
def test_rules_load_libcst_only_for_what_they_edit_with_it(
    text: str, codes: str, is_needed: bool, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(text)
    code = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\n{CHECKS}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout + done.stderr[-300:]).split("\n") == ["False", codes, str(is_needed), ""]
