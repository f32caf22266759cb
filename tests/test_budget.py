"""Budgets of steps, and loops and functions that a comment calls sync-free: PPF004, and what ``perflint step`` says."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest

from perflint.cli import main
from perflint.configuration.settings import Budgets, Settings
from perflint.findings import Confidence, Finding
from perflint.flow.resolving import opened
from perflint.output.step_text import sync_words
from perflint.run import engine
from perflint.run.session import Session
from perflint.trace.budget import SyncVerdict, sync_free, verdicts_of
from tests.cli_runs import Output, write
from tests.git_runs import commit, start
from tests.support import Files, in_step, sources

CODE = "PPF004"
HELPER = """\
import paddle


def record(loss, losses):
    losses.append(loss.item())
"""


def found(files: Files, budget: object = (), **options: object) -> list[Finding]:
    """The findings about budgets and comments."""
    settings = Settings(select=(CODE,), budget=dict(budget), **options)  # type: ignore[call-overload, arg-type]
    return engine.check(sources(files), settings)


def messages(files: Files, budget: object = (), **options: object) -> list[str]:
    return [finding.message for finding in found(files, budget, **options)]


# -- budgets --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("x = loss.item()\n", "waits"),
        ("x = paddle.to_tensor([step])\n", "copies"),
        ("print(step)\n", "logs"),
        ("paddle.save(model.state_dict(), 'x')\n", "saves"),
        ("paddle.distributed.all_reduce(loss)\n", "collectives"),
    ],
)
def test_each_kind_has_a_limit(body: str, name: str) -> None:
    text = in_step(body * 2)
    assert messages(text, {name: 2}) == []
    (message,) = messages(text, {name: 1})
    assert message.startswith("`for step, (x, y) in enumerate(loader)`: each step has 2 ")
    assert "its budget is 1: line 12 `" in message
    assert ", line 13 `" in message


def test_without_a_limit_there_is_none() -> None:
    assert messages(in_step("print(loss.item())\n")) == []
    assert messages(in_step("print(loss.item())\n"), {"saves": 0, "logs": 1}) == []


def test_what_not_each_step_does_is_not_counted_and_of_alternatives_the_most() -> None:
    text = in_step(
        """\
        if step % 100 == 0:
            print(loss.item())
        if x.shape[0] > 3:
            a = x.numpy()
            b = y.numpy()
        else:
            a = x.numpy()
        """
    )
    assert messages(text, {"waits": 2, "logs": 0}) == []
    (message,) = messages(text, {"waits": 1})
    assert "each step has 2 waits for the device" in message


def test_the_finding_is_at_the_loop_and_names_what_is_in_another_file() -> None:
    files = {"train.py": "from helper import record\n" + in_step("record(loss, [])\n"), "helper.py": HELPER}
    (finding,) = found(files, {"waits": 0})
    text = files["train.py"]
    assert (finding.path, text[finding.start : finding.end]) == ("train.py", "for step, (x, y) in enumerate(loader)")
    assert finding.message.endswith("each step has 1 wait for the device, its budget is 0: helper.py:5 `loss.item()`.")
    assert [(place.path, place.line) for place in finding.related] == [("helper.py", 5), ("train.py", 13)]
    assert finding.impact is None  # no least impact hides it


def test_a_comment_silences_it_at_the_loop_alone() -> None:
    text = in_step("x = loss.item()\n")
    loop = "enumerate(loader):"
    assert messages(text.replace(loop, f"{loop}  # noqa: {CODE}"), {"waits": 0}) == []
    assert len(messages(text.replace("item()\n", f"item()  # noqa: {CODE}\n"), {"waits": 0})) == 1


def test_budgets_of_files_and_of_the_programs_that_load_them() -> None:
    engine_text = in_step("x = loss.item()\n")
    files = {"tools/train.py": "from lib.engine import train\n\ntrain(1, 2, 3, 4)\n", "lib/engine.py": engine_text}
    table = {"waits": 0, "tools/*.py": {"waits": 1}}
    assert messages(files, table) == []
    assert len(messages(files, {"tools/*.py": {"waits": 0}})) == 1
    assert len(messages(files, {"lib/": {"waits": 0}})) == 1
    assert messages(files, {"other/": {"waits": 0}}) == []


def test_the_last_table_that_fits_wins() -> None:
    budgets = Budgets({"waits": 3, "a.py": {"waits": 2, "logs": 1}, "*.py": {"waits": 1}})
    assert budgets.of(["a.py"]) == {"waits": 1, "logs": 1}
    assert budgets.of(["b.txt"]) == {"waits": 3}


# -- sync-free ------------------------------------------------------------------------------------------------------

FREE = "  # perflint: sync-free"
LOOP = "enumerate(loader):"


def verdicts(files: Files) -> list[SyncVerdict]:
    """The verdicts about all comments of a project."""
    project = opened(sources(files))
    return [verdict for file in project.files.values() for verdict in verdicts_of(file)]


def free(body: str) -> str:
    """A step loop that a comment calls sync-free."""
    return in_step(body).replace(LOOP, LOOP + FREE)


def test_a_loop_that_waits_is_reported_through_calls() -> None:
    files = {"train.py": "from helper import record\n" + free("record(loss, [])\n"), "helper.py": HELPER}
    (finding,) = found(files)
    assert "is marked sync-free, but it waits for the device: helper.py:5 `loss.item()`" in finding.message
    assert finding.confidence is Confidence.HIGH
    assert ("helper.py", 5) in [(place.path, place.line) for place in finding.related]


def test_a_loop_that_does_not_wait_is_proved() -> None:
    text = free("if step % 10 == 0:\n    print(loss.item())\n").replace("model(x)", "x + 1")
    assert found(text) == []
    (verdict,) = verdicts(text)
    assert verdict.is_proved
    assert sync_words(verdict) == "proved; 1 wait at some steps"


def test_a_test_that_may_come_out_differently_is_no_excuse() -> None:
    (finding,) = found(free("if y.shape[0] > step:\n    x = loss.item()\n"))
    assert "it waits for the device: line 13" in finding.message


def test_calls_that_could_not_be_followed_are_doubts() -> None:
    text = free("hook(loss)\n").replace("optimizer, args", "optimizer, args, hook")
    assert found(text) == []  # nothing is known to wait
    (verdict,) = verdicts(text)
    assert (verdict.is_kept, verdict.is_proved) == (True, False)
    assert sync_words(verdict) == "proved, except 2 calls that could not be followed"  # the model and the hook
    (finding,) = found(text, min_confidence=Confidence.LOW)
    assert finding.confidence is Confidence.LOW
    assert "these calls could: line 8 `model(x)`, line 12 `hook(loss)`" in finding.message


def test_functions_are_judged_by_the_calls_of_steps() -> None:
    text = """\
        import paddle
        import paddle.nn.functional as F


        def show(value):  # perflint: sync-free
            return float(value)


        def size(value):  # perflint: sync-free
            return float(len(value))


        def train(model, loader, optimizer):
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                show(loss)
                size([1])
        """
    assert [finding.message.partition(" is marked")[0] for finding in found(text)] == ["`def show`"]
    assert [verdict.is_proved for verdict in verdicts(text)] == [False, True]


def test_a_forward_pass_and_a_function_that_no_step_runs() -> None:
    text = """\
        import paddle


        class Net(paddle.nn.Layer):
            def forward(self, x):  # perflint: sync-free
                if (x > 0).any():
                    return x * 2
                return x


        def alone(x):  # perflint: sync-free
            y = paddle.ones([2])
            return y.numpy()


        def train(loader, optimizer):
            net = Net()
            for x, y in loader:
                loss = paddle.mean(net(x) - y)
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
        """
    rows = [verdict.waits[0].event.row for verdict in verdicts(text)]
    assert rows == [6, 13]


@pytest.mark.parametrize(
    ("comment", "count"),
    [
        ("# perflint: sync-free", 1),
        ("#perflint:sync-free - for the benchmark", 1),
        ("# perflint: sync-freely", 0),
        ("# not perflint: sync-free", 0),
        ("# perflint: sync", 0),
    ],
)
def test_which_comments_count(comment: str, count: int) -> None:
    project = opened(sources(in_step("pass\n").replace(LOOP, f"{LOOP}  {comment}")))
    assert len(sync_free(project.files["train.py"])) == count


def test_a_comment_anywhere_else_says_nothing() -> None:
    text = in_step("pass" + FREE + "\n") + f"x = '{FREE}'\n{FREE.strip()}\ny = 1\n"
    project = opened(sources(text))
    assert sync_free(project.files["train.py"]) == ()


def test_a_header_of_several_rows() -> None:
    text = in_step("pass\n").replace("enumerate(loader):", f"enumerate(\n        loader\n    ):{FREE}")
    (claim,) = sync_free(opened(sources(text)).files["train.py"])
    assert claim.row == 7


# -- commands -------------------------------------------------------------------------------------------------------


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start(tmp_path / "repository", monkeypatch)


@pytest.mark.usefixtures("repository")
def test_the_step_says_what_is_kept(capsys: Output) -> None:
    Path("perflint.toml").write_text("[budget]\nwaits = 0\nlogs = 3\n")
    write(
        train="from helper import record\n" + free("record(loss, [])\n"),
        helper=HELPER.replace("losses):", f"losses):{FREE}"),
    )
    assert main(["step", "train.py"]) == 0
    lines = capsys.readouterr().out.splitlines()[-3:]
    assert lines == [
        "Budget: 1 of 0 waits for the device, 0 of 3 log lines: too many waits.",
        "train.py:8, loop: sync-free: not true, it waits for the device at 1 place.",
        "helper.py:4, record: sync-free: not true, it waits for the device at 1 place.",
    ]
    assert main(["step", "--output-format", "json", "train.py"]) == 0
    (program,) = json.loads(capsys.readouterr().out)["programs"]
    (step,) = program["steps"]
    assert step["promises"]["budget"]["waits"] == {"limit": 0, "count": 1}
    assert [each["waits"] for each in step["promises"]["sync_free"]] == [[{"path": "helper.py", "row": 5}]] * 2


@pytest.mark.usefixtures("repository")
def test_a_check_fails_and_each_format_has_the_finding(capsys: Output) -> None:
    write(train=in_step("x = loss.item()\n"))
    command = ["check", "-q", "--select", CODE, "--config", "budget={waits=0}"]
    assert main(command) == 1
    assert "each step has 1 wait for the device, its budget is 0" in capsys.readouterr().out
    assert main([*command, "--config", "budget={waits=1}"]) == 0
    assert capsys.readouterr().out == ""
    for form in ("json", "sarif", "github", "gitlab", "junit", "rdjson", "concise"):
        assert main([*command, "--output-format", form]) == 1
        assert CODE in capsys.readouterr().out, form


def errors(text: str, capsys: Output) -> list[str]:
    Path("perflint.toml").write_text(dedent(text))
    assert main(["check", "."]) == 2
    return [line.partition(": budget: ")[2] for line in capsys.readouterr().err.splitlines()]


@pytest.mark.usefixtures("repository")
def test_mistakes_in_a_budget_are_told_together(capsys: Output) -> None:
    text = """\
        [budget]
        wait = 2
        logs = -1
        saves = true
        "" = {}
        "tools/*.py" = { copys = 1, logs = "few" }
        """
    most = "expected a whole number of at least 0 and at most 1000000"
    assert errors(text, capsys) == [
        "wait: there is no such key; did you mean waits?",
        f"logs: found -1 (a whole number), {most}",
        f"saves: found true (a boolean), {most}",
        '"" is not a pattern; write it as in a .gitignore file',
        '"tools/*.py": copys: there is no such key; did you mean copies?',
        f'"tools/*.py": logs: found "few" (a string), {most}',
    ]
    (problem,) = errors("budget = 3\n", capsys)
    assert problem.startswith("found 3 (a whole number), expected a table with waits, copies")


@pytest.mark.usefixtures("repository")
def test_a_changed_call_that_goes_over_the_budget_is_shown_for_a_revision(capsys: Output) -> None:
    Path("perflint.toml").write_text("[budget]\nwaits = 0\n")
    write(train="from helper import record\n" + in_step("pass\n"), helper=HELPER)
    commit()
    write(train="from helper import record\n" + in_step("record(loss, [])\n"))
    assert main(["check", "-q", "--select", CODE, "--changed-since", "HEAD"]) == 1
    assert "helper.py:5 `loss.item()`" in capsys.readouterr().out
    commit()
    assert main(["check", "-q", "--select", CODE, "--changed-since", "HEAD"]) == 0


NET = """\
import paddle


class Plain(paddle.nn.Layer):
    def forward(self, x):
        return x * 2


class Careful(paddle.nn.Layer):
    def forward(self, x):
        if (x > 0).any():
            x = x * 2
        return x
"""


@pytest.mark.usefixtures("repository")
def test_a_finding_on_an_unchanged_line_is_shown_if_a_change_brings_it_into_a_step(capsys: Output) -> None:
    """No place of the finding has changed: the loop, the call of the model and the test are what they were."""
    train = "from net import Careful, Plain\n" + in_step("pass\n").replace(
        "    for step", "    model = Plain()\n    other = Careful()\n    for step"
    )
    write(train=train, net=NET)
    commit()
    command = ["check", "-q", "--select", "PPF203", "--output-format", "json", "--changed-since", "HEAD"]
    assert main(command) == 0
    capsys.readouterr()
    write(train=train.replace("model = Plain()", "model = Careful()"))
    assert main(command) == 1
    (shown,) = json.loads(capsys.readouterr().out)
    assert (Path(shown["filename"]).name, shown["location"]["row"]) == ("net.py", 11)
    (place,) = [each for each in shown["related"] if "brings it into the step" in each["message"]]
    assert (Path(place["filename"]).name, place["row"]) == ("train.py", 11)


@pytest.mark.usefixtures("repository")
def test_a_test_that_is_gone_brings_a_line_into_each_step(capsys: Output) -> None:
    before = in_step("if step % 50 == 0:\n    x = 1\n    total = loss.item()\n")
    write(train=before)
    commit()
    write(train=before.replace("step % 50 == 0", "True"))
    assert main(["check", "-q", "--select", "PPF201", "--changed-since", "HEAD"]) == 1


def test_a_session_says_the_same_after_edits() -> None:
    """An edit of the helper changes what is said at the loop, which is in another file."""
    settings = Settings(select=(CODE,), budget={"waits": 0})
    files = {"train.py": "from helper import record\n" + in_step("record(loss, [])\n"), "helper.py": HELPER}
    session = Session(sources(files), settings, ["helper.py"])
    texts = ["# a new row\n" + HELPER, HELPER.replace("loss.item()", "loss"), HELPER]
    for text in (HELPER, *texts, HELPER.replace("losses):", f"losses):{FREE}")):
        files["helper.py"] = text
        session.edit("helper.py", text)
        session.catch_up()
        assert session.findings() == engine.check(sources(files), settings)
