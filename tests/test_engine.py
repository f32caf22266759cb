"""The engine from sources to findings, on good and on bad input."""

from __future__ import annotations

import re
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from perflint.configuration.settings import Settings
from perflint.findings import Finding, ImpactLevel, Level
from perflint.lint import registry
from perflint.run import discovery, engine
from perflint.text.source import Source
from tests.support import PATH, check, expect_marked, in_step, places

ALL = Settings(join_lines=False, select=("ALL",), min_impact=ImpactLevel.LOW)
LOADER = "import paddle\nloader = paddle.io.DataLoader(dataset, shuffle=True)\n"


def texts(files: dict[str, str] | str) -> list[str]:
    """The reported text of each finding, as the file has it."""
    given = {PATH: files} if isinstance(files, str) else files
    found = engine.check({path: Source(path, text) for path, text in given.items()}, ALL)
    return [given[item.path][item.start : item.end] for item in found]


def position(finding: Finding, text: str) -> tuple[int, int]:
    return Source(PATH, text).lines.position(finding.start)


# --- bad input


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("x = 1\ndef f(:\n    pass\n", 2),
        ("import paddle\n\n\nprint 'a'\n", 4),
        ("def f():\npass\n", 2),
        ("x = (1,\ny = 2\n", 1),
        ("x = '''abc\n\n", 1),
        ("  x = 1\n", 1),
        ("if x:\n\ty\n        z\n", 3),
        ("x = 1\n$\n", 2),
        ("损失 = '学习率' + \n", 1),
        ("x = 0777\n", 1),
        ("\ufeff\ufeffx = 1\n", 1),
        ("return = 1", 1),
        ("def f(a, a=1, b): pass\n", 1),
        ("f(a for a in b, c)\n", 1),
        ("x = f'{a'\n", 1),
        ("try:\n    pass\nx = 1\n", 3),
        ("x = 1 +\n", 1),
        ("class A:", 1),
        ("x = 'a\ny = 1\n", 1),
        ("a = 1\x00\n", 1),
    ],
)
def test_a_syntax_error_is_one_finding_with_its_line_and_hides_no_other_file(text: str, row: int) -> None:
    sources = {"bad.py": Source("bad.py", text), "good.py": Source("good.py", LOADER)}
    found = engine.check(sources, ALL)
    assert [(item.path, item.code) for item in found] == [("bad.py", "PPF001"), ("good.py", "PPF101")]
    assert position(found[0], text)[0] == row
    assert "\n" not in found[0].message


def test_a_syntax_error_can_be_left_out() -> None:
    assert places("def f(:\n", "PPF1") == []
    assert places("# perflint: skip-file\ndef f(:\n") == []


def test_unreadable_files_are_findings_and_the_others_are_read(tmp_path: Path) -> None:
    (tmp_path / "null.py").write_bytes(b"x = 1\0\n")
    (tmp_path / "bytes.py").write_bytes(b"x = '\xff\xfe'\n")
    (tmp_path / "cookie.py").write_bytes(b"# coding: klingon\n")
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "good.py").write_text(LOADER)
    paths = [tmp_path / name for name in ("null.py", "bytes.py", "cookie.py", "folder.py", "missing.py", "good.py")]
    sources, unreadable = discovery.read_all(paths)
    assert list(sources) == [str(tmp_path / "good.py")]
    assert [(item.path, item.code) for item in unreadable] == [(str(path), "PPF003") for path in paths[:-1]]
    for item, word in zip(unreadable, ("null byte", "decode", "klingon", "", "No such file"), strict=True):
        assert word in item.message
        assert "\n" not in item.message
    assert [item.code for item in engine.check(sources, ALL)] == ["PPF101"]


@pytest.mark.parametrize("opening", ["(", "[", "{", "f(", "-", "not ", "lambda: ", "a if b else ", "a["])
def test_ten_thousand_deep(opening: str) -> None:
    closing = {"(": ")", "[": "]", "{": "}", "f(": ")", "a[": "]"}.get(opening, "")
    text = f"x = {opening * 10_000}1{closing * 10_000}\n"
    sources = {"deep.py": Source("deep.py", text), "good.py": Source("good.py", LOADER)}
    found = [(item.path, item.code) for item in engine.check(sources, ALL)]
    assert found in ([("deep.py", "PPF001"), ("good.py", "PPF101")], [("good.py", "PPF101")])


CHAINS = [
    ("1", "+1"),
    ("'a'", " + loss"),
    ("loss", " and step"),
    ("a", ".b"),
    ("a", ".b()"),
    ("a", "[0]"),
    ("loss", ".any()"),
    ("step % 2", " == 1"),
]
LONG = ((".b()", 800), (".any()", 800))
"""Half a minute each: they are evaluated again for each call in them."""


@pytest.mark.parametrize(
    ("pieces", "count"),
    [
        pytest.param(pieces, count, marks=[pytest.mark.slow] if (pieces[1], count) in LONG else [])
        for pieces in CHAINS
        for count in (200, 800, 2_000, 20_000)
    ],
)
def test_long_chains(pieces: tuple[str, str], count: int) -> None:
    first, rest = pieces
    chain = first + rest * count
    text = in_step(f"value = {chain}\nloss = {chain}\nif {chain}:\n    helper({chain})\nmeter.update(loss.item())\n")
    text += f"\n\ndef helper(x):\n    self.x = {chain}\n    return {chain}\n\n\n{LOADER}"
    last = text.count("\n")
    found = [item for item in places(text) if item[2] not in ("PPF203", "PPF913")]  # a long test is one too; unread
    assert found in (
        [(PATH, found[0][1], "PPF001")],
        [(PATH, last, "PPF101")],
        [(PATH, 16, "PPF201"), (PATH, last, "PPF101")],
    )


def test_a_long_elif_chain() -> None:
    chain = "".join(f"elif step == {n}:\n    meter.update({n})\n" for n in range(1, 600))
    text = in_step(f"if args.a:\n    meter.update(0)\n{chain}")
    assert places(f"{text}\n\n{LOADER}")[-1][2] == "PPF101"


@pytest.mark.parametrize("attribute", ["find", "find_at"])
def test_a_rule_that_cannot_follow_code_so_deep_leaves_the_others_theirs(
    attribute: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(asked: object) -> list[object]:
        return endless(asked)

    text = f"{in_step('meter.update(loss.item())')}\n\n{LOADER}"
    before = places(text)
    other: dict[str, Any] = {attribute: endless}
    changed = [
        replace(each, **other) if isinstance(getattr(each, attribute), FunctionType) else each
        for each in registry.checks
    ]
    assert changed != registry.checks
    monkeypatch.setattr(registry, "checks", changed)
    registry._chosen.cache_clear()
    try:
        assert {code for _, _, code in before} == {"PPF201", "PPF101"}
        assert places(text) == before
    finally:
        registry._chosen.cache_clear()


def test_deep_indentation() -> None:
    body = (
        "".join(f"{'    ' * depth}if args.a{depth}:\n" for depth in range(80))
        + "    " * 80
        + "meter.update(loss.item())\n"
    )
    [(_, row, code)] = places(in_step(body))
    assert (row, code) == (92, "PPF201")


@pytest.mark.parametrize("text", ["", "\n", "\n\n\n", "# only a comment", "'''only a text'''", "\x0c\n", "pass"])
def test_files_with_nothing_in_them(text: str) -> None:
    assert places(text) == []


def test_nothing_to_check() -> None:
    assert engine.check({}, ALL) == []


def test_what_python_says_of_the_checked_code_is_not_said_again() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert places(in_step(r"print('\d', loss, 1 is 1, '\ä')")) == [(PATH, 12, "PPF202")]


def test_text_that_is_no_unicode() -> None:
    assert [code for _, _, code in places("x = '\udc80'\n")] in (["PPF001"], [])


# --- where findings stand


def test_the_range_of_a_finding_is_the_expression_itself() -> None:
    text = in_step(
        """
        meter.update( (  loss.item() ) , n = float(loss) )
        values = [loss.numpy()[0], *loss.tolist()]
        """
    )
    assert texts(text) == ["loss.item()", "float(loss)", "loss.numpy()", "loss.tolist()"]
    assert texts(LOADER) == ["paddle.io.DataLoader(dataset, shuffle=True)"]
    assert texts("import paddle\npaddle.io.DataLoader(dataset, num_workers = 0 , shuffle=True)\n") == [
        "num_workers = 0"
    ]


@pytest.mark.parametrize(
    "line",
    [
        "meter['损失'].update(loss.item(), '学习率 🚀', float(loss))",
        "名 = '🚀'; meter.update('ä', loss.item(), '学习率'); 值 = float(loss)",
        "\tmeter.update(loss.item(), float(loss))".strip("\t"),
        "meter.update(x\u0301, loss.item(), float(loss))",
    ],
)
def test_columns_count_characters(line: str) -> None:
    text = in_step(line)
    found = check(text, "PPF201")
    row = text.split("\n")[11]
    assert [position(item, text) for item in found] == [
        (12, row.index("loss.item()") + 1),
        (12, row.index("float(loss)") + 1),
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends(end: str) -> None:
    text = (in_step("meter.update(loss.item())\nprint(step,\n      loss)\n") + LOADER).replace("\n", end)
    found = check_as_is(text)
    assert [(item.code, position(item, text)) for item in found] == [
        ("PPF201", (12, 22)),
        ("PPF202", (13, 9)),
        ("PPF101", (16, 10)),
    ]


def check_as_is(text: str) -> list[Finding]:
    return engine.check({PATH: Source(PATH, text)}, ALL)


def test_tabs_and_form_feeds() -> None:
    text = in_step("meter.update(loss.item())\n").replace("    ", "\t")
    assert [position(item, text) for item in check_as_is(text)] == [(12, 16)]
    text = "\x0c" + in_step("meter.update(loss.item())\n\x0c\n\x0cmeter.update(loss.item())\n")
    assert texts(text) == ["loss.item()", "loss.item()"]
    text = in_step("meter.update('\x0b\x1c\u2028\x85', loss.item())\nmeter.update(loss.item())\n")
    assert [position(item, text)[0] for item in check_as_is(text)] == [12, 13]


def test_byte_order_marks_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "bom.py"
    path.write_bytes(b"\xef\xbb\xbf" + LOADER.encode())
    sources, unreadable = discovery.read_all([path])
    assert not unreadable
    [found] = engine.check(sources, ALL)
    assert sources[str(path)].lines.position(found.start) == (2, 10)


def test_several_statements_on_a_row() -> None:
    text = in_step(
        "a = 1; print(step); meter.update(loss.item()); b = 2\nif args.x: meter.update(loss.item()); print(loss)\n"
    )
    assert texts(text) == ["print(step)", "loss.item()", "loss.item()", "print(loss)"]


def test_headers_of_compound_statements() -> None:
    expect_marked(
        in_step(
            """
            if loss.item() > 1:  #: PPF201
                pass
            elif loss.item() > 2:  #: PPF201
                pass
            elif args.c:
                meter.update(loss.item())  #: PPF201
            else:
                meter.update(loss.item())  #: PPF201
            for value in loss.tolist():  #: PPF201
                pass
            while loss.item() > 3:  #: PPF201
                break
            with scope(loss.item()) as a, scope(float(loss)) as b:  #: PPF201 PPF201
                pass
            match loss.item():  #: PPF201
                case 1:
                    pass
            assert loss.item() < 5, "too much"  #: PPF201
            return_value = yield_ = loss.item()  #: PPF201
            del cache[loss.item()]  #: PPF201
            """
        ),
        "PPF2",
    )


def test_every_kind_of_expression() -> None:
    expect_marked(
        in_step(
            """
            if (value := loss.item()) > 1:  #: PPF201
                pass
            a = [v.item() for v in (loss, x)]  #: PPF201
            b = {k: loss.item() for k in "ab" if k}  #: PPF201
            c = (loss.item() for _ in range(3))  #: PPF201
            d = {loss.item()}  #: PPF201
            e = x[loss.item() :, int(loss)]  #: PPF201 PPF201
            f = f"{loss.item():>{width}} {'a' if loss.item() else step!r}"  #: PPF201 PPF201
            g = -loss.item() ** 2  #: PPF201
            h = lambda: loss.item()
            j = 1 + \\
                loss.item()  #: PPF201
            k = (loss  #: PPF201
                 .item())
            l = (yield loss.item())  #: PPF201
            m = x if loss.item() else y  #: PPF201
            n = not loss.item() and step  #: PPF201
            o = x[..., None][loss.item()][0].attribute  #: PPF201
            p = call(*[loss.item()], **{"a": float(loss)})  #: PPF201 PPF201
            """
        ),
        "PPF201",
    )


@pytest.mark.skipif(sys.version_info < (3, 12), reason="quotes nest in f-strings from Python 3.12 on")
def test_quotes_nested_in_f_strings() -> None:
    text = in_step("""name = f'{loss.item():.2f} {f'{args['a']} {float(loss)}'} {'\\n'.join(['a'])}'\n""")
    assert texts(text) == ["loss.item()", "float(loss)"]


def test_async_code_is_step_code_too() -> None:
    expect_marked(
        """
        import paddle

        async def train(model, loader, optimizer, queue):
            async for x in loader:
                async with lock:
                    loss = await model(x)
                loss.backward()
                optimizer.step()
                await queue.put(loss.item())  #: PPF201
        """
    )


def test_decorators_and_defaults_are_not_step_code() -> None:
    expect_marked(
        in_step(
            """
            @register(loss.item())
            def closure(value=loss.item()):
                return loss.item()

            class Local:
                value = loss.item()

                def method(self):
                    return loss.item()
            """
        )
    )


def test_f_strings() -> None:
    expect_marked(
        in_step(
            """
            name = f"step {step}"
            name = f"loss {loss}"  #: PPF202
            name = f'{loss.item():.{digits}f} {{loss}} {"a"}'  #: PPF201
            name = f"{loss=}"  #: PPF202
            name = rf"{loss!r:>10}\\d" "more"  #: PPF202
            name = (
                f"{step}"
                f"{loss}"  #: PPF202
            )
            """
        )
    )


# --- settings and order


def test_findings_come_in_order_of_path_and_place() -> None:
    files = {"b.py": LOADER * 2, "a.py": LOADER}
    assert places(files) == [("a.py", 2, "PPF101"), ("b.py", 2, "PPF101"), ("b.py", 4, "PPF101")]


def test_the_same_however_many_processes() -> None:
    paths = [f"p{n}/train.py" for n in range(40)]
    files = {path: Source(path, in_step("print(loss.item())") + LOADER) for path in paths}
    expected = engine.check(files, ALL)
    assert len(expected) == 80
    assert engine.check(files, ALL, jobs=2) == expected


def test_progress_counts_to_the_end() -> None:
    for jobs in (1, 2):
        paths = [f"p{n}/train.py" if jobs > 1 else f"m{n}.py" for n in range(30)]
        files = {path: Source(path, LOADER) for path in paths}
        seen: list[tuple[int, int]] = []
        engine.check(files, ALL, jobs=jobs, progress=lambda *counts, to=seen: to.append(counts))
        assert [done for done, _ in seen] == sorted(done for done, _ in seen)
        assert {total for _, total in seen} == {60}
        assert seen[-1] == (60, 60)
        if jobs == 1:  # with more, the work on a project counts when it is done
            assert len({done for done, _ in seen} & {*range(30)}) > 10  # the bar moves before the first check


def test_selecting_one_rule_does_not_change_what_it_says() -> None:
    text = in_step("print(loss.item())\nmeter.update(loss.item())\nprint(step)\n") + LOADER
    every = check(text)
    for code in ("PPF101", "PPF201", "PPF202", "PPF405"):
        assert [item.code for item in check(text, code)] == [code]
        assert [item.fix for item in check(text, code)] == [item.fix for item in every if item.code == code]


def test_rules_that_are_off_by_default_stay_off() -> None:
    text = "import paddle\nfor epoch in range(3):\n    paddle.save(model.state_dict(), 'a')\n"
    assert places(text) == [(PATH, 3, "PPF402")]
    assert engine.check({PATH: Source(PATH, text)}, Settings(join_lines=False)) == []


def test_per_file_ignores_noqa_and_skip_file() -> None:
    settings = Settings(join_lines=False, select=("ALL",), per_file_ignores={"old/*": ("PPF1",)}, root=Path.cwd())
    files = {
        "old/a.py": LOADER,
        "b.py": LOADER.replace("\n", "  # noqa: PPF101\n"),
        "c.py": f"# perflint: skip-file\n{LOADER}",
        "d.py": LOADER,
    }
    found = engine.check({path: Source(path, text) for path, text in files.items()}, settings)
    assert [item.path for item in found] == ["d.py"]


def test_levels_can_be_moved() -> None:
    def level(**options: tuple[str, ...]) -> Level:
        [found] = engine.check({PATH: Source(PATH, LOADER)}, Settings(join_lines=False, select=("ALL",), **options))  # type: ignore[arg-type]
        assert found.fix is not None
        return found.fix.level

    assert level() is Level.UNSAFE
    assert level(extend_safe_fixes=("PPF101",)) is Level.SAFE


def test_settings_reach_the_fixes() -> None:
    text = in_step("print(step)") + LOADER
    contents = {
        edit.content.strip()
        for item in check(text, default_workers=6, log_interval=25)
        for edit in (item.fix.edits if item.fix else ())
    }
    assert ", num_workers=6" in contents
    assert any(re.match(r"if step % 25 == 0:", content) for content in contents)
