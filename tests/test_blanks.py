"""Statements that LibCST does not see: which they are, that nothing moves, and that no finding or fix misses them."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from textwrap import dedent

import libcst as cst
import pytest

from perflint.configuration.settings import Settings
from perflint.findings import Confidence, Finding, ImpactLevel
from perflint.lint import units
from perflint.lint.units import blanked, blanks
from perflint.run import engine
from perflint.text.source import Source
from tests.support import PATH, in_step, sources
from tests.test_units import TEXTS


def left(text: str) -> str:
    """What is left of a text whose rows marked with ``#?`` are asked about, each run of what is not as ``0``."""
    text = dedent(text)
    source = Source("a.py", text)
    rows = [row for row in range(1, source.lines.rows + 1) if source.lines.line(row).endswith("#?")]
    result = blanked(text, 0, blanks(ast.parse(text).body, rows, source))
    assert len(result) == len(text)
    ast.parse(result)
    return re.sub("0+", "0", result)


def expect_left(text: str, expected: str) -> None:
    assert left(text) == dedent(expected)


def test_what_is_asked_about_stays_with_the_headers_around_it() -> None:
    expect_left(
        """
        import a
        # about b
        b = [
            1,
        ]
        @decorate(b)
        class C(B):
            x = 1

            @decorate
            def f(self, a=(1, 2)):  # f
                '''Text
                of two rows.'''
                for i in a:
                    y = i

                    z = i  #?
                    # odd
                    g(i)
                    if z:
                        h()
                else:
                    g(None)
                return y

        def k():
            g()
        """,
        """
        0
        @decorate(b)
        class C(B):
            0

            @decorate
            def f(self, a=(1, 2)):  # f
                0
                for i in a:
                    0

                    z = i  #?
                    # odd
                    0
                else:
                    0
                0

        0
        """,
    )


def test_every_kind_of_block() -> None:
    expect_left(
        """
        async def f():
            async with a as b, c:
                d()
                while e:
                    try:
                        f = 1
                    except (G, H) as i:
                        j = 1
                        k = 1
                    except L:
                        raise
                    else:
                        m = 1  #?
                    finally:
                        n = 1
                else:
                    o = 1
                    p = 1
            match q:
                case [r, *_] if s:
                    t = 1
                    u = 1  #?
                case {"v": 1}:
                    v = 1
            async for w in x:
                y = 1; await z
            return [
                1
            ]
        """,
        """
        async def f():
            async with a as b, c:
                0
                while e:
                    try:
                        0
                    except (G, H) as i:
                        0
                    except L:
                        0
                    else:
                        m = 1  #?
                    finally:
                        0
                else:
                    0
            match q:
                case [r, *_] if s:
                    0
                    u = 1  #?
                case {"v": 1}:
                    0
            0
        """,
    )


def test_an_elif_keeps_its_header() -> None:
    expect_left(
        """
        if a:
            b = 1
        elif c:
            d = 1  #?
        elif e:
            f = 1
            g = 1
        else:
            if h:
                i = 1
        """,
        """
        if a:
            0
        elif c:
            d = 1  #?
        elif e:
            0
        else:
            0
        """,
    )


def test_rows_of_several_statements_stay_whole() -> None:
    expect_left(
        """
        a = 1; b = 2
        c = 3; d = [
            4]; e = 5;  #?
        f = 6; g = 7;
        if h: i = 8; j = 9
        if k: l = 8; m = 9  #?
        if n: \\
            o = 1; p = 2;
        """,
        """
        0
        c = 3; d = [
            4]; e = 5;  #?
        0
        if k: l = 8; m = 9  #?
        0
        """,
    )


def test_a_decorator_in_parentheses_is_left_alone() -> None:
    expect_left(
        """
        @(  # not @this
            decorate
        )
        def f():
            g = 1
        h = 1  #?
        @ decorate
        def i():
            j = 1
        """,
        """
        @(  # not @this
            decorate
        )
        def f():
            g = 1
        h = 1  #?
        0
        """,
    )
    expect_left("@a(1)  #?\n@b\ndef f():\n    c = 1\n", "@a(1)  #?\n@b\ndef f():\n    0\n")


def test_calls_beside_a_call_stay() -> None:
    expect_left(
        """
        a = 1
        b(1)
        (c.d)(2)  #?
        e.f(g)(3)
        h = b(4)
        b(5)
        """,
        """
        0
        b(1)
        (c.d)(2)  #?
        e.f(g)(3)
        0
        """,
    )
    expect_left(
        "p.add_argument('a')\np.add_argument('b')  #?\np.add_argument('c')\n",
        "0\np.add_argument('b')  #?\n0\n",
    )


def test_uses_of_a_sum_stay_in_its_loop() -> None:
    expect_left(
        """
        def f():
            total, kept = 0, []
            for epoch in epochs:
                x = total
                subtotal, totals = 1, 2
                for batch in loader:
                    total += f(batch)  #?
                    if batch:
                        y = 1
                        z = f'{total}'
                    else:
                        y = 2
                    with total as y:
                        y = 3
                    @register(total)
                    def g():
                        y = 4
                y = kept
            y = total
        """,
        """
        def f():
            0
            for epoch in epochs:
                x = total
                0
                for batch in loader:
                    total += f(batch)  #?
                    if batch:
                        0
                        z = f'{total}'
                    else:
                        0
                    with total as y:
                        0
                    @register(total)
                    def g():
                        0
                0
            0
        """,
    )
    expect_left(
        "try:\n    for a in b:\n        n += a  #?\n    c = 1\nexcept E:\n    d = 1\n    f(n)\nfinally:\n    g = n\n",
        "try:\n    for a in b:\n        n += a  #?\n    0\nexcept E:\n    0\n    f(n)\nfinally:\n    g = n\n",
    )
    expect_left(
        "while a:\n    kept.append(b)  #?\n    c = 1\n    d = len(kept)\n",
        "while a:\n    kept.append(b)  #?\n    0\n    d = len(kept)\n",
    )
    for other in ("n -= f(b)", "n.extend(b)", "n[0] += b", "n.a.append(b)", "append(n)"):
        assert left(f"while a:\n    {other}  #?\n    c = n\n") == f"while a:\n    {other}  #?\n    0\n"


def test_strings_of_several_rows_stay_in_a_loop_that_is_asked_about() -> None:
    text = "for a in b:{}\n    c = 1\n    d = '''\n'''\n    e = (1,\n         2)\n    if a:\n        f = 'g'\n"
    assert left(text.format("  #?")) == ("for a in b:  #?\n    0\n    d = '''\n'''\n    0\n    if a:\n        0\n")
    assert left(text.format("") + "    h = 1  #?\n") == "for a in b:\n    0\n    h = 1  #?\n"


def test_the_ends_of_branches_stay_where_a_test_is_asked_about() -> None:
    expect_left(
        """
        for a in b:
            if c:  #?
                d = 1
                continue
            elif e:
                f = 1
                break
            else:
                g = 1
            if h and (
                    i):  #?
                j = 1
            else:
                k = 1
                m = 1
        """,
        """
        for a in b:
            if c:  #?
                0
                continue
            elif e:
                0
            else:
                0
            if h and (
                    i):  #?
                j = 1
            else:
                0
                m = 1
        """,
    )


ODD = {
    **TEXTS,
    "form feeds": "def f():\n    a(1)\n\x0c\n    b = c(2)\n\x0c    d = 1\n    \x0c\n    e(3)\n",
    "tabs": "def f():\n\tif a:\n\t\tb = c(1)\n\t\td = e(\n\t2)\n\telif f:\n\t\tg(3); h = 1; i(4)\n\treturn j(5)\n",
    "crlf": "def f():\r\n    a = '''\r\n'''; b(1)\r\n    c = 1 # d\r\n\r\n    e(2)\r\n",
    "cr": "def f():\r    a = 1\r    b(1)\r    c = 1\r",
    "wide": "def f():\n    学 = '学'; b('ä')\n    学 = '🚀'; c('学')  # 学\n    return 学('🚀')\n",
    "continued": "def f():\n    if a: \\\n        b(1)\n    c = \\\n  d(2)\n    e = 1 \\\n\n    g(3)\n",
    "comments": "def f():\n  # a\n    b = 1\n# c\n    d(2)\n      # e\n    g = 1\n  # h\n    i(3)\n    # j\n",
    "nested": "class A:\n    class B:\n        @a\n        @ b(1)\n        def f(self):\n            c = 1\n"
    "            def g():\n                d(2)\n                return e\n            return g(3)\n",
}


def calls(parsed: units.ParsedUnit) -> set[tuple[int, int]]:
    return {parsed.span(node) for node in parsed.spans if isinstance(node, cst.Call)}


@pytest.mark.parametrize("name", ODD)
def test_what_stays_is_where_it_was(name: str) -> None:
    source = Source("a.py", ODD[name])
    tree = ast.parse(source.text)
    whole = set().union(*(calls(units.parse(source, unit)) for unit in units.units_of(tree)))
    for row in {node.lineno for node in ast.walk(tree) if isinstance(node, ast.stmt)}:
        found = set()
        for unit in units.chosen(units.units_of(tree), [row]):
            found |= calls(units.parse(source, unit))
        assert found <= whole
        assert found >= {span for span in whole if source.lines.position(span[0])[0] == row} - _of_headers(tree, source)


def _of_headers(tree: ast.Module, source: Source) -> set[tuple[int, int]]:
    """Calls on the row of a class that is cut into its methods: nobody walks them."""
    return {
        (source.lines.offset(node.lineno, node.col_offset), source.lines.offset(node.end_lineno, node.end_col_offset))
        for owner in ast.walk(tree)
        if isinstance(owner, ast.ClassDef)
        for base in owner.bases
        for node in ast.walk(base)
        if isinstance(node, ast.Call) and node.end_lineno is not None and node.end_col_offset is not None
    }


def test_a_unit_is_parsed_whole_where_nothing_says_what_is_asked() -> None:
    source = Source("a.py", "def f():\n    a(1)\n    b = 1\n    c = 1\n")
    [unit] = units.units_of(ast.parse(source.text))
    assert units.parse(source, unit).module.code == source.text
    [asked] = units.chosen([unit], [2])
    assert units.parse(source, asked).module.code == f"def f():\n    a(1)\n    {'0' * 15}\n"


def test_a_unit_is_parsed_whole_where_the_rest_of_it_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source("a.py", "def f():\n    a(1)\n    b = c(2)\n")
    [unit] = units.units_of(ast.parse(source.text))
    monkeypatch.setattr(units, "blanks", lambda *_: [(4, 7)])
    assert units.parse(source, replace(unit, rows=(2,))).module.code == source.text


def found(text: str) -> list[Finding]:
    """The findings of all rules, which must be the same, fixes and all, where LibCST sees everything."""
    settings = Settings(join_lines=False, select=("ALL",), min_confidence=Confidence.LOW, min_impact=ImpactLevel.LOW)
    findings = engine.check(sources(text), settings)
    assert findings == engine.check(sources(text), settings, gated=False)
    return findings


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
