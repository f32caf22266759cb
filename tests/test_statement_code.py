"""The code of a statement: where its nodes are in the file, and edits of statements with others around them."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import libcst as cst
import pytest

from perflint.configuration.settings import Settings
from perflint.findings import Confidence, Finding, ImpactLevel
from perflint.lint.statement_code import StatementCode
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
    assert seen == {"a", "b(1)", "b", "1", "d()", "d", "e()", "e"}


def test_code_that_libcst_cannot_parse_has_no_nodes_of_it() -> None:
    [code] = codes_of(f"x = a({' + '.join(['b'] * 2_000)})")
    call = next(node for node in code.order if isinstance(node, ast.Call))
    assert code.cst(call) is None


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
