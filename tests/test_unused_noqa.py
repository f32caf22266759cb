"""PPF002: which codes in ``# noqa`` comments are reported, what the fix leaves of them, and what stays unjudged."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from perflint.cli import main
from perflint.configuration.settings import Settings
from perflint.findings import Confidence, Finding, ImpactLevel, Level
from perflint.fix.fixer import fix_all
from perflint.run import engine
from perflint.run.session import Session
from perflint.text.source import Source
from tests.cli_runs import Output, write
from tests.support import in_step

ALL = Settings(join_lines=False, select=("ALL",), whole_project=True, min_impact=ImpactLevel.LOW)


def unused(files: dict[str, str] | str, settings: Settings = ALL) -> list[str]:
    """What each PPF002 points at, as text."""
    texts = {"train.py": files} if isinstance(files, str) else files
    sources = {path: Source(path, text) for path, text in texts.items()}
    found = [item for item in engine.check(sources, settings) if item.code == "PPF002"]
    return [texts[item.path][item.start : item.end] for item in found]


def fixed(text: str) -> str:
    outcome = fix_all({"train.py": Source("train.py", text)}, only_unused, Level.SAFE)
    assert outcome.settled
    assert not outcome.rejected
    return outcome.changed["train.py"].text if outcome.changed else text


def only_unused(sources: Mapping[str, Source]) -> list[Finding]:
    return [item for item in engine.check(sources, ALL) if item.code == "PPF002"]


# --- what is reported


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("x = 1  # noqa: PPF201\n", ["PPF201"]),
        ("x = 1  # NoQA:PPF201\n", ["PPF201"]),
        ("x = 1  # noqa: PPF201,PPF202\n", ["PPF201,PPF202"]),
        ("x = 1  # noqa: PPF201, E501, PPF202\n", ["PPF201, E501, PPF202"]),
        ("x = 1  # noqa: PPF2\n", ["PPF2"]),
        ("x = 1  # noqa: PPF999\n", ["PPF999"]),
        ("x = 1  # noqa: PPF2011\n", ["PPF2011"]),
        ("x = 1  # type: ignore  # noqa: PPF201\n", ["PPF201"]),
        ("x = '''\n'''  # noqa: PPF201\n", ["PPF201"]),
        ("# noqa: PPF201\nx = 1\n", ["PPF201"]),
        # Not ours, not a list, not a comment, or not what flake8 reads.
        ("x = 1  # noqa\n", []),
        ("x = 1  # noqa: E501\n", []),
        ("x = 1  # noqa: PPFX1\n", []),
        ("x = 1  # noqa: ppf201\n", []),
        ("x = 1  # noqa : PPF201\n", []),
        ("x = 1  #noqa: PPF201\n", []),
        ("x = '# noqa: PPF201'\n", []),
        ("def f():\n    '''Write `# noqa: PPF201` behind it.'''\n", []),
        ("x = '# noqa: PPF1', 1  # noqa: PPF201\n", []),
        ("x = 1  # noqa: E501 # noqa: PPF201\n", []),
        # Nothing that a comment could silence, or would want to be asked of itself.
        ("x = 1  # noqa: PPF001\n", []),
        ("x = 1  # noqa: PPF0\n", []),
        ("x = 1  # noqa: PPF002\n", []),
        ("x = 1  # noqa: PPF201, PPF002\n", []),
        # A blanket comment silences PPF002 as well, a code of another rule does not.
        ("x = 1  # noqa: PPF201 PPF405\n", ["PPF201 PPF405"]),
        # Words that look like codes end the list.
        ("x = 1  # noqa: PPF201 py37 W291\n", []),
        ("x = (\n", []),
        ("# flake8: noqa\nx = 1  # noqa: PPF201\n", []),
        ("# perflint: skip-file\nx = 1  # noqa: PPF201\n", []),
    ],
)
def test_what_is_reported(line: str, expected: list[str]) -> None:
    assert unused("import paddle\n" + line) == expected


USED = [
    "print(loss.item())  # noqa: PPF202\n",
    "print(loss.item())  # noqa: PPF2\n",
    "print(  # noqa: PPF202\n    'loss',\n    loss.item(),\n)\n",
    "print(\n    'loss',\n    loss.item(),\n)  # noqa: PPF202\n",
    "print(\n    'loss',\n    loss.item(),  # noqa: PPF202\n)\n",
    "print(\n    'loss',  # noqa: PPF202\n    loss.item(),\n)\n",
    "if (\n    loss > 2\n):  # noqa: PPF203\n    raise ValueError\n",
    "print(loss.item(), '''\n''')  # noqa: PPF202\n",
    "total += \\\n    loss.item()  # noqa: PPF201\n",
    "total += (\n    loss.item()  # noqa: PPF201\n)\n",
]


@pytest.mark.parametrize("body", USED)
def test_a_comment_that_silences_something_is_not_reported(body: str) -> None:
    assert engine.check({"train.py": Source("train.py", in_step(body))}, ALL) == []
    loose = body.replace("# noqa: ", "# noqa: PPF405, ")
    assert unused(in_step(loose)) == ["PPF405"]
    assert fixed(in_step(loose)) == in_step(body)


def test_it_speaks_once_the_line_is_gone() -> None:
    assert unused(in_step("print(loss)  # noqa: PPF405\n")) == ["PPF405"]
    assert unused(in_step("x = dict(\n    a=step,  # noqa: PPF201\n    b=loss.item(),\n)\n")) == ["PPF201"]


def test_messages() -> None:
    def message(codes: str) -> str:
        text = f"import paddle\nx = 1  # noqa: {codes}\n"
        (found,) = engine.check({"train.py": Source("train.py", text)}, ALL)
        return found.message

    end = "; remove it, or it will hide later findings."
    assert message("PPF201") == f"This `# noqa` names PPF201, which silences nothing here{end}"
    assert message("PPF201,PPF2") == f"This `# noqa` names PPF201 and PPF2, which silence nothing here{end}"
    assert message("PPF99") == f"This `# noqa` names PPF99, which is the code of no rule{end}"
    both = "PPF201 and PPF202, which silence nothing here and PPF98 and PPF99, which are codes of no rule"
    assert message("PPF99, PPF201, E501, PPF98, PPF202").startswith("This `# noqa` names PPF201 and PPF202, which")
    assert sorted(message("PPF99, PPF201, PPF98, PPF202")) == sorted(f"This `# noqa` names {both}{end}")


# --- the fix


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("x = 1  # noqa: PPF201\n", "x = 1\n"),
        ("x = 1 \t # noqa: PPF201 \n", "x = 1\n"),
        ("x = 1  # noqa: PPF201", "x = 1"),
        ("x = 1  # noqa: PPF201\r\n", "x = 1\r\n"),
        ("x = 1  # noqa: PPF201, \n", "x = 1\n"),
        ("x = 1  # noqa: PPF201 - it steers the loop\n", "x = 1\n"),
        ("x = 1  # noqa: PPF201 (short run)\n", "x = 1\n"),
        ("x = 1  # noqa: PPF201 the sum of all\n", "x = 1  # the sum of all\n"),
        ("x = 1  # noqa: PPF201 # pylint: disable=C\n", "x = 1  # pylint: disable=C\n"),
        ("x = 1  # noqa: PPF201 - short # pylint: disable=C\n", "x = 1  # pylint: disable=C\n"),
        ("x = 1  # type: ignore  # noqa: PPF201\n", "x = 1  # type: ignore\n"),
        ("x = 1  # the sum # noqa: PPF201 - short\n", "x = 1  # the sum\n"),
        ("x = 1  # noqa: E501, PPF201\n", "x = 1  # noqa: E501\n"),
        ("x = 1  # noqa: PPF201, E501 - long\n", "x = 1  # noqa: E501 - long\n"),
        ("x = 1  # noqa:E501,PPF201,W291\n", "x = 1  # noqa:E501,W291\n"),
        ("x = 1  # noqa: PPF201 E501 PPF405 W291 PPF202\n", "x = 1  # noqa: E501 W291\n"),
        ("x = 1  # noqa: E501, PPF201, long\n", "x = 1  # noqa: E501, long\n"),
        ("  \n    # noqa: PPF201\nx = 1\n", "  \nx = 1\n"),
        ("x = 1\n# noqa: PPF201", "x = 1\n"),
        ("# noqa: PPF201 the sum\nx = 1\n", "# the sum\nx = 1\n"),
        ("x = f(\n    # noqa: PPF201\n    1,\n)\n", "x = f(\n    1,\n)\n"),
        ("x = '損失'  # noqa: PPF201\n", "x = '損失'\n"),
        # Without it, the second would be read, and silence every tool.
        ("x = 1  # noqa: PPF201 # noqa\n", "x = 1  # noqa: PPF201 # noqa\n"),
    ],
)
def test_fix(line: str, expected: str) -> None:
    assert fixed("import paddle\n" + line) == "import paddle\n" + expected


# --- what is not known


DYNAMIC = """\
import paddle


class {name}(paddle.nn.Layer):
    def forward(self, x, mask):
        return paddle.masked_select(x, mask).sum()  # noqa: PPF207


def train(loader, optimizer):
    model = {name}()
    for x, mask in loader:
        loss = model(x, mask).sum()
        loss.backward()
        optimizer.step()
"""
BODY = in_step("x = 1  # noqa: PPF201\ny = 1  # noqa: PPF2\nz = 1  # noqa: PPF999\n")


def test_a_rule_that_is_not_selected_may_need_its_comment() -> None:
    assert unused(BODY) == ["PPF201", "PPF2", "PPF999"]
    # All rules that PPF2 means are on by default.
    assert unused(BODY, Settings(join_lines=False, whole_project=True)) == ["PPF201", "PPF2", "PPF999"]
    assert unused(BODY, Settings(join_lines=False, select=("PPF002",), whole_project=True)) == ["PPF999"]
    assert unused(BODY, Settings(join_lines=False, select=("PPF201",), whole_project=True)) == []


def test_a_rule_that_is_ignored_for_the_file_may_need_its_comment(tmp_path: Path) -> None:
    ignoring = Settings(
        join_lines=False, root=tmp_path, select=("ALL",), per_file_ignores={"train.py": ("PPF201",)}, whole_project=True
    )
    path = str(tmp_path / "train.py")
    assert unused({path: BODY}, ignoring) == ["PPF999"]
    assert unused({str(tmp_path / "other.py"): BODY}, ignoring) == ["PPF201", "PPF2", "PPF999"]


def test_a_part_of_a_project_may_lack_what_a_finding_rests_on() -> None:
    assert unused(BODY, Settings(join_lines=False, select=("ALL",))) == ["PPF999"]


def test_a_file_that_does_not_parse_may_hold_the_loop() -> None:
    assert unused({"train.py": BODY, "broken.py": "import paddle\nx = (\n"}) == ["PPF999"]
    assert unused({"train.py": BODY, "other.py": "import paddle\n"}) == ["PPF201", "PPF2", "PPF999"]


@pytest.mark.parametrize(("name", "confidence"), [("Loss", Confidence.MEDIUM), ("MaxIoUAssigner", Confidence.LOW)])
def test_a_finding_that_is_too_unsure_to_be_shown_needs_its_comment(name: str, confidence: Confidence) -> None:
    # What picks samples by name is there to make sizes that depend on values: without the comment nobody is shown it,
    # and its row is not even parsed.
    text = DYNAMIC.format(name=name)
    loud = {"train.py": Source("train.py", text.replace("  # noqa: PPF207", ""))}
    lowest = Settings(join_lines=False, select=("PPF207",), min_confidence=Confidence.LOW)
    assert [item.confidence >= confidence for item in engine.check(loud, lowest)] == [True]
    assert bool(engine.check(loud, Settings(join_lines=False, select=("PPF207",)))) is (confidence is Confidence.MEDIUM)
    assert unused(text) == []
    assert unused(text.replace("paddle.masked_select(x, mask)", "mask")) == ["PPF207"]


def test_a_reason_that_is_an_excuse_keeps_its_comment() -> None:
    loader = "from paddle.io import DataLoader\nloader = DataLoader(data, num_workers=0)"
    assert unused(f"{loader}\n") == []
    assert [item.code for item in engine.check({"a.py": Source("a.py", f"{loader}\n")}, ALL)] == ["PPF101"]
    assert unused(f"{loader}  # noqa: PPF101 - workers deadlock here\n") == []
    assert unused("import paddle\nx = 1  # noqa: PPF101\n") == ["PPF101"]
    assert unused("import paddle\nx = 1  # noqa: PPF201 - workers deadlock here\n") == ["PPF201"]
    parallel = "import paddle\nmodel = paddle.DataParallel(model, find_unused_parameters=True)"
    assert [item.code for item in engine.check({"a.py": Source("a.py", f"{parallel}\n")}, ALL)] == ["PPF801"]
    assert unused(f"{parallel}  # noqa: PPF801 - needed\n") == []


def test_a_comment_can_be_kept() -> None:
    assert unused("import paddle\nx = 1  # noqa: PPF201, PPF002\n") == []
    (found,) = engine.check({"a.py": Source("a.py", "import paddle\nx = 1  # noqa: PPF201\n")}, ALL)
    assert found.code == "PPF002"


# --- the same everywhere


HELPER = "import paddle\n\n\ndef log(loss):\n    return loss.item()  # noqa: PPF201\n"
CALL = "log(loss)  # noqa: PPF201"
CALLER = in_step(f"{CALL}\n").replace("import numpy", "from helper import log\nimport numpy")


def test_the_caller_may_stand_in_another_file() -> None:
    assert unused({"train.py": CALLER, "helper.py": HELPER}) == []
    assert unused({"train.py": CALLER.replace(CALL, "pass"), "helper.py": HELPER}) == ["PPF201"]


def test_a_session_says_the_same_after_each_edit() -> None:
    texts = {"train.py": CALLER, "helper.py": HELPER}
    session = Session({path: Source(path, text) for path, text in texts.items()}, ALL, ["train.py", "helper.py"])
    assert [item.code for item in session.findings()] == []
    edits = [
        ("train.py", CALLER.replace(CALL, "pass")),
        ("helper.py", HELPER.replace("PPF201", "PPF202, PPF999")),
        ("train.py", CALLER),
        ("helper.py", HELPER.replace("return loss", "return (")),
        ("train.py", CALLER.replace(CALL, "x = 1  # noqa: PPF201")),
        ("helper.py", HELPER.replace("  # noqa: PPF201", "")),
        ("helper.py", HELPER),
    ]
    seen = set()
    for path, text in edits:
        texts[path] = text
        now = engine.check({path: Source(path, text) for path, text in texts.items()}, ALL)
        assert session.edit(path, text) == [item for item in now if item.path == path]
        session.catch_up()
        assert session.findings() == now
        seen |= {item.code for item in now}
    assert {"PPF001", "PPF002"} <= seen


@pytest.mark.usefixtures("real_workplace")
def test_only_a_run_over_the_whole_project_judges(capsys: Output) -> None:
    write(train=BODY)
    Path("sub").mkdir()
    Path("sub/other.py").write_text("import paddle\nx = 1  # noqa: PPF201\n")

    def reported(*arguments: str) -> list[str]:
        main(["check", "--select", "PPF0", "--extend-select", "PPF201", "--output-format", "concise", "-q", *arguments])
        return [line.split(" ")[0] for line in capsys.readouterr().out.splitlines()]

    assert reported() == ["sub/other.py:2:16:", "train.py:12:24:", "train.py:14:24:"]
    # A train.py elsewhere, or the files above, may call what stands here.
    assert reported("train.py") == ["train.py:14:24:"]
    assert reported("sub") == []
    assert reported("train.py", "sub") == ["train.py:14:24:"]
    assert reported("train.py", ".") == reported()
    Path("broken.py").write_bytes(b"\0")
    assert reported() == ["broken.py:1:1:", "train.py:14:24:"]


@pytest.mark.usefixtures("real_workplace")
def test_fix_takes_them_out(capsys: Output) -> None:
    write(train=BODY, used=in_step("print(loss.item())  # noqa: PPF202\n"))
    before = Path("used.py").read_text()
    assert main(["check", "--fix", "--select", "ALL"]) == 0
    assert Path("train.py").read_text() == in_step("x = 1\ny = 1\nz = 1\n")
    assert Path("used.py").read_text() == before
    assert capsys.readouterr().out.splitlines() == [
        "Fixed:",
        "  train.py:12, 13, 14 PPF002: remove the codes that silence nothing",
        "Found 3 findings in 1 of 2 files (3 fixed, 0 remaining).",
    ]
