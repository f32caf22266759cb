"""``perflint check --watch``, with a clock that edits files instead of waiting."""

from __future__ import annotations

import atexit
import gc
import os
import queue
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perflint import cli
from perflint.cli import main
from perflint.commands import watch
from perflint.commands.watch import Clock, Kept, changes, described
from perflint.findings import Checked, Finding
from perflint.index.project import Project
from perflint.output.console import Console
from perflint.output.summary import News
from perflint.run import discovery, engine
from perflint.run.session import Session
from perflint.text.source import Source
from tests.output_samples import report

ROOT = Path(__file__).resolve().parents[1]
Act = Callable[[], object]
Output = pytest.CaptureFixture[str]


def trainer(call: str) -> str:
    """A training script whose step loop ends with a call."""
    return f"""\
import gc
import time
import paddle


def train(model, loader, optimizer):
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        {call}
"""


SLEEPS, COLLECTS, CLEAN = trainer("time.sleep(0.01)"), trainer("gc.collect()"), trainer("pass")


def nothing() -> None:
    """The files stay as they are while the watch waits."""


def write(path: str, text: str) -> Act:
    return lambda: Path(path).write_text(text, encoding="utf-8")


def gone(path: str) -> Act:
    return lambda: Path(path).unlink()


def both(*acts: Act) -> Act:
    return lambda: [act() for act in acts]


@pytest.fixture
def watching(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, list[float]]]:
    """Runs a watch in a directory of its own: something happens at each wait, and Ctrl-C at the last.

    Gives the exit status and the seconds that were waited for.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "perflint.toml").touch()

    def run(*acts: Act, arguments: Iterable[str] = ()) -> tuple[int, list[float]]:
        left, waited = iter(acts), list[float]()

        def sleep(seconds: float) -> None:
            waited.append(seconds)
            act = next(left, None)
            if act is None:
                raise KeyboardInterrupt
            act()

        monkeypatch.setattr(watch, "Clock", lambda: Clock(sleep, lambda: 0.0, lambda: "12:00:00"))
        status = main(["check", "--watch", "--output-format", "concise", *arguments])
        return status, waited

    return run


Watching = Callable[..., tuple[int, list[float]]]


def shown(output: str) -> list[str]:
    """The lines of an output without the sentences of the rules, and without what is new and gone."""
    return [" ".join(line.split()[:2]) if ": PPF" in line else line for line in without_news(output)]


def without_news(output: str) -> list[str]:
    """The lines of an output without what is new and gone."""
    return [line for line in output.splitlines() if not re.match(r"\d+ new, \d+ gone:$|  [-+] ", line)]


# --- what is shown


def test_a_change_is_checked_and_shown_with_the_time(watching: Watching, capsys: Output) -> None:
    write("train.py", SLEEPS)()
    assert watching(write("train.py", COLLECTS), nothing, write("train.py", CLEAN), nothing)[0] == 0
    out, err = capsys.readouterr()
    assert shown(out) == [
        "train.py:12:9: PPF705",
        "Found 1 finding in 1 file.",
        "",
        "12:00:00 changed: train.py",
        "train.py:12:9: PPF704",
        "Found 1 finding in 1 file (1 fixable with --fix --unsafe-fixes).",
        "",
        "12:00:00 changed: train.py",
        "No findings in 1 file.",
    ]
    assert err == "Watching for changes; press Ctrl-C to stop.\n"


def test_what_is_new_and_gone_is_said_after_a_change(watching: Watching, capsys: Output) -> None:
    write("train.py", SLEEPS)()
    below = SLEEPS.replace("import gc\n", "import gc\nimport os\n")
    watching(
        write("train.py", COLLECTS), nothing, write("train.py", SLEEPS), nothing, write("train.py", below), nothing
    )
    news = [line for line in capsys.readouterr().out.splitlines() if line.startswith(("  ", "1 new"))]
    assert news == [
        *("1 new, 1 gone:", "  + train.py:12 PPF704", "  - train.py:12 PPF705"),
        *("1 new, 1 gone:", "  + train.py:12 PPF705", "  - train.py:12 PPF704"),
    ]  # and none for the finding that has moved to row 13


def test_only_the_first_of_many_new_findings_are_named() -> None:
    news = News()
    assert news.since(report()) == []
    source = "".join(f"f{number}()\n" for number in range(7))
    found = [Finding("PPF201", "a.py", 5 * number, 5 * number + 4, "m") for number in range(7)]
    lines = news.since(report(*found, source=source))
    assert lines == ["7 new, 0 gone:", *(f"  + a.py:{row} PPF201" for row in range(1, 6)), "  + 2 more"]
    assert news.since(replace(report(), is_complete=False)) == []
    assert news.since(report(*found, source=source)) == []


def test_the_screen_is_cleared_on_a_terminal_alone(
    watching: Watching, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("train.py", CLEAN)()
    watching(write("train.py", SLEEPS), nothing)
    assert "\x1b" not in capsys.readouterr().out
    monkeypatch.setattr(watch, "takes_codes", lambda stream: True)
    watching(write("train.py", CLEAN), nothing)
    first, second = capsys.readouterr().out.split("\x1b[H\x1b[2J")[1:]
    assert "Found 1 finding" in first
    assert second == "12:00:00 changed: train.py\nNo findings in 1 file.\n0 new, 1 gone:\n  - train.py:12 PPF705\n"


def test_nothing_is_shown_while_nothing_changes(watching: Watching, capsys: Output) -> None:
    write("train.py", CLEAN)()
    assert watching(nothing, nothing, nothing) == (0, [watch.PAUSE] * 4)
    assert capsys.readouterr().out == "No findings in 1 file.\n"


def test_files_that_come_and_go(watching: Watching, capsys: Output) -> None:
    write("a.py", CLEAN)()
    watching(both(write("b.py", SLEEPS), write("notes.txt", "")), nothing, gone("a.py"), nothing)
    assert [line for line in shown(capsys.readouterr().out) if "12" in line] == [
        "12:00:00 new: b.py",
        "b.py:12:9: PPF705",
        "12:00:00 gone: a.py",
        "b.py:12:9: PPF705",
    ]


def test_a_save_in_several_writes_is_seen_once(watching: Watching, capsys: Output) -> None:
    write("train.py", CLEAN)()
    _, waited = watching(
        write("train.py", SLEEPS[:30]), write("train.py", SLEEPS[:60]), write("train.py", SLEEPS), nothing
    )
    assert waited == [watch.PAUSE, *[watch.SETTLED] * 3, watch.PAUSE]
    assert shown(capsys.readouterr().out)[1:4] == ["", "12:00:00 changed: train.py", "train.py:12:9: PPF705"]


def test_a_file_that_is_saved_by_replacing_it_was_never_gone(watching: Watching, capsys: Output) -> None:
    write("train.py", CLEAN)()
    watching(gone("train.py"), write("train.py", SLEEPS), nothing)
    assert "12:00:00 changed: train.py\n" in capsys.readouterr().out


def test_what_never_settles_is_checked_all_the_same(watching: Watching, capsys: Output) -> None:
    write("train.py", CLEAN)()
    growing = [write("train.py", SLEEPS + "#" * count) for count in range(watch._MOST_LOOKS + 1)]
    watching(*growing)
    assert "12:00:00 changed: train.py\n" in capsys.readouterr().out


def test_quiet_shows_findings_alone(watching: Watching, capsys: Output) -> None:
    write("train.py", CLEAN)()
    watching(write("train.py", SLEEPS), nothing, arguments=["--quiet"])
    out, err = capsys.readouterr()
    assert (shown(out), err) == (["train.py:12:9: PPF705"], "")


def test_changes_are_described_on_one_line() -> None:
    before = dict.fromkeys("abcdefgh", (1, 1, 1))
    after = dict.fromkeys("abcdefg", (2, 1, 1)) | {"x": (1, 1, 1)}
    what = changes(before, after)
    assert what == {"changed": list("abcdefg"), "new": ["x"], "gone": ["h"]}
    assert described(what) == "changed: a, b, c, d, e and 2 more; new: x; gone: h"
    assert changes(before, dict(before)) == {}


# --- what is done


def test_only_what_has_changed_is_read_again(
    watching: Watching, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    reads: list[list[str]] = []
    read_all = discovery.read_all

    def recorded(paths: Iterable[Path]) -> tuple[dict[str, Source], list[Finding]]:
        paths = list(paths)
        reads.append([str(path) for path in paths])
        return read_all(paths)

    monkeypatch.setattr(discovery, "read_all", recorded)
    write("a.py", CLEAN)()
    write("b.py", SLEEPS)()
    watching(write("a.py", COLLECTS), nothing)
    assert reads == [["a.py"], ["b.py"], ["a.py"]]
    assert shown(capsys.readouterr().out)[-3:-1] == ["a.py:12:9: PPF704", "b.py:12:9: PPF705"]


def test_files_that_are_gone_are_forgotten(tmp_path: Path) -> None:
    paths = [tmp_path / "a.py", tmp_path / "b.py"]
    for path in paths:
        path.write_text("x = 1\n", encoding="utf-8")
    kept = Kept()
    assert list(kept.read_all(paths)[0]) == [str(path) for path in paths]
    assert list(kept.read_all(paths[1:])[0]) == [str(paths[1])]
    assert list(kept._read) == paths[1:]


@pytest.mark.usefixtures("watching")
def test_looking_takes_a_small_part_of_the_time() -> None:
    write("train.py", CLEAN)()
    moments = iter([0.0, 2.0, 5.0, 5.01])  # a look that takes two seconds, and one that takes a hundredth
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 3:
            raise KeyboardInterrupt

    options = cli.parse(["check", "--watch", "--quiet"])
    status = watch.run(options, lambda *_: 0, Console(), Clock(sleep, lambda: next(moments)))
    assert (status, waited) == (0, [watch.PAUSE, 18.0, watch.PAUSE])


@pytest.mark.usefixtures("watching")
def test_garbage_is_collected_and_memory_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    write("train.py", CLEAN)()
    closed: list[Project] = []

    def interrupt(_: float) -> None:
        assert gc.isenabled()
        raise KeyboardInterrupt

    monkeypatch.setattr(Project, "close", lambda project: closed.append(project))
    monkeypatch.setattr(watch, "Clock", lambda: Clock(interrupt))
    monkeypatch.setattr(atexit, "register", lambda function: None)  # this process does not end after it
    monkeypatch.setattr(sys, "argv", ["perflint", "check", "--watch"])
    assert main() == 0
    assert len(closed) == 1


# --- what is checked


HELPER = """\
def log(loss):
    return {}
"""
CALLER = trainer("log(loss)").replace("import paddle\n", "import paddle\nfrom helper import log\n")


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The files of each check of everything."""
    found: list[list[str]] = []
    check_projects = engine.check_projects

    def recorded(projects: list[dict[str, Source]], *arguments: Any, **options: Any) -> list[Checked]:
        found.append([path for project in projects for path in project])
        return check_projects(projects, *arguments, **options)

    monkeypatch.setattr(engine, "check_projects", recorded)
    return found


def last_shown(output: str) -> list[str]:
    """What was shown at the last check, under the line that tells the change."""
    lines = output.splitlines()
    return lines[max(index for index, line in enumerate(lines) if line.startswith("12:00:00")) + 1 :]


def test_a_file_that_changes_again_is_checked_with_its_callers_alone(
    watching: Watching, checks: list[list[str]], capsys: Output
) -> None:
    """The session is made ready by the first change of a file; all findings are shown as by a check of everything."""
    write("helper.py", HELPER.format("loss"))()
    write("train.py", CALLER)()
    write("other.py", SLEEPS)()
    edits = [write("helper.py", HELPER.format(f"loss{read}")) for read in (" + 1", ".item()", " + 2", ".numpy()")]
    watching(*(act for edit in edits for act in (edit, nothing)), arguments=["."])
    assert len(checks) == 2
    found = last_shown("\n".join(without_news(capsys.readouterr().out)))
    assert [" ".join(line.split()[:2]) for line in found[:3]] == [
        "helper.py:2:12: PPF201",
        "other.py:12:9: PPF705",
        "train.py:13:9: PPF201",
    ]
    assert main(["check", "--output-format", "concise", "--no-cache", "."]) == 1
    assert capsys.readouterr().out.splitlines() == found


def test_any_other_change_is_checked_with_everything(
    watching: Watching, checks: list[list[str]], capsys: Output
) -> None:
    write("helper.py", HELPER.format("loss"))()
    write("train.py", CALLER)()
    changes_of_other_kinds = [
        write("helper.py", HELPER.format("loss + 1")),  # the first change of this file
        write("train.py", CALLER.replace("log(loss)", "log(loss + 1)")),  # and of this one
        write("helper.py", "def log(loss:\n"),
        write("new.py", SLEEPS),
        gone("new.py"),
        write("perflint.toml", 'ignore = ["PPF705"]\n'),
    ]
    watching(*(act for edit in changes_of_other_kinds for act in (edit, nothing)), arguments=["--no-cache", "."])
    assert len(checks) == 1 + len(changes_of_other_kinds)
    assert "helper.py:1:8: PPF001" in capsys.readouterr().out


def test_edits_go_on_after_any_other_change(watching: Watching, checks: list[list[str]], capsys: Output) -> None:
    write("helper.py", HELPER.format("loss"))()
    write("train.py", CALLER)()
    edits = [write("helper.py", HELPER.format(f"loss{read}")) for read in (" + 1", ".item()", " + 2", ".numpy()")]
    acts = (edits[0], write("helper.py", "def log(loss:\n"), edits[1], write("new.py", SLEEPS), edits[2], edits[3])
    watching(*(act for edit in acts for act in (edit, nothing)), arguments=["--no-cache", "."])
    assert len(checks) == 4  # at first, after the first edit, the broken text and the new file
    found = last_shown("\n".join(without_news(capsys.readouterr().out)))
    assert main(["check", "--output-format", "concise", "--no-cache", "."]) == 1
    assert capsys.readouterr().out.splitlines() == found


def test_many_files_that_change_at_once_are_no_edits(
    watching: Watching, checks: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.setattr(watch, "MOST_FILES", 1)
    write("helper.py", HELPER.format("loss"))()
    write("train.py", CALLER)()
    one, two = write("helper.py", HELPER.format("loss + 1")), write("train.py", SLEEPS)
    three = both(write("helper.py", HELPER.format("loss.item()")), write("train.py", CALLER))
    watching(*(act for edit in (one, two, three) for act in (edit, nothing)), arguments=["--no-cache", "."])
    assert len(checks) == 4
    assert "helper.py:2:12: PPF201" in "\n".join(last_shown(capsys.readouterr().out))


def test_files_that_are_too_many_for_a_session_are_checked(
    watching: Watching, checks: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_MOST_CHARACTERS", 10)
    write("train.py", CLEAN)()
    watching(*(act for text in (SLEEPS, COLLECTS, SLEEPS) for act in (write("train.py", text), nothing)))
    assert len(checks) >= 2
    assert checks[1] == ["train.py"]


def test_a_session_that_fails_is_left(
    watching: Watching, checks: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("it cannot be done")

    monkeypatch.delenv("PERFLINT_DEBUG", raising=False)
    monkeypatch.setattr(Session, "catch_up", fail)
    write("train.py", CLEAN)()
    edits = [write("train.py", text) for text in (SLEEPS, COLLECTS, trainer("time.sleep(1)"))]
    watching(*(act for edit in edits for act in (edit, nothing)), arguments=["--no-cache"])
    assert len(checks) == 4
    assert last_shown(capsys.readouterr().out)[0].startswith("train.py:12:9: PPF705")


# --- the configuration


def test_the_configuration_is_watched(watching: Watching, capsys: Output) -> None:
    write("train.py", SLEEPS)()
    watching(write("perflint.toml", 'ignore = ["PPF705"]\n'), nothing)
    assert shown(capsys.readouterr().out)[-2:] == ["12:00:00 changed: perflint.toml", "No findings in 1 file."]


def test_a_new_configuration_is_noticed(watching: Watching, capsys: Output) -> None:
    Path("perflint.toml").unlink()
    write("train.py", SLEEPS)()
    write("other.py", SLEEPS)()
    watching(write("pyproject.toml", '[tool.perflint]\nexclude = ["other.py"]\n'), nothing, arguments=["."])
    assert shown(capsys.readouterr().out)[-3:-1] == [
        "12:00:00 new: pyproject.toml; gone: other.py",
        "train.py:12:9: PPF705",
    ]


def test_a_configuration_that_says_the_same_is_no_change(watching: Watching, capsys: Output) -> None:
    write("train.py", CLEAN)()
    watching(write("perflint.toml", "# nothing\n"), nothing, write("pyproject.toml", "[project]\n"), nothing)
    assert capsys.readouterr().out == "No findings in 1 file.\n"


def test_a_configuration_that_cannot_be_used_is_shown_until_it_can(watching: Watching, capsys: Output) -> None:
    write("train.py", SLEEPS)()
    watching(
        *(write("perflint.toml", 'ignore = ["PPF99", "PPF998"]\n'), nothing),
        *(write("train.py", COLLECTS), nothing),
        *(write("perflint.toml", ""), nothing),
    )
    out, err = capsys.readouterr()
    assert [line for line in shown(out) if "12" in line] == [
        "train.py:12:9: PPF705",
        "12:00:00 changed: perflint.toml",
        "12:00:00 changed: train.py",
        "12:00:00 changed: perflint.toml",
        "train.py:12:9: PPF704",
    ]
    errors = [line for line in err.splitlines() if "PPF99" in line]
    assert len(errors) == 4
    assert all(line.startswith("perflint: ") for line in errors)


def test_the_configuration_that_is_named_is_watched(watching: Watching, capsys: Output) -> None:
    write("train.py", SLEEPS)()
    write("own.toml", "")()
    acts = write("perflint.toml", 'ignore = ["PPF705"]\n'), nothing, write("own.toml", 'ignore = ["PPF7"]\n'), nothing
    watching(*acts, arguments=["--config", "own.toml"])
    assert [line for line in capsys.readouterr().out.splitlines() if "12:00" in line] == ["12:00:00 changed: own.toml"]


def test_no_configuration_is_watched_where_none_is_read(watching: Watching, capsys: Output) -> None:
    write("train.py", CLEAN)()
    watching(write("perflint.toml", 'ignore = ["PPF705"]\n'), nothing, arguments=["--isolated"])
    assert capsys.readouterr().out == "No findings in 1 file.\n"


# --- errors on the way


def test_a_syntax_error_is_shown(watching: Watching, capsys: Output) -> None:
    write("train.py", CLEAN)()
    watching(write("train.py", "def train(:\n"), nothing, write("train.py", SLEEPS), nothing)
    lines = shown(capsys.readouterr().out)
    assert "train.py:1:11: PPF001" in lines
    assert "train.py:12:9: PPF705" in lines


def test_a_file_that_vanishes_before_it_is_read(
    watching: Watching, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    write("a.py", CLEAN)()
    python_files, looks = discovery.python_files, iter(range(100))

    def vanishing(*arguments: object, **options: object) -> discovery.Found:
        found = python_files(*arguments, **options)  # type: ignore[arg-type]
        if next(looks) == 4:  # the first look and check, two looks at the change, and this check
            Path("b.py").unlink()
        return found

    monkeypatch.setattr(discovery, "python_files", vanishing)
    watching(write("b.py", SLEEPS), nothing, nothing, nothing)
    assert [line for line in shown(capsys.readouterr().out) if "b.py" in line] == [
        "12:00:00 new: b.py",
        "b.py:1:1: PPF003",
        "12:00:00 gone: b.py",
    ]


def test_a_named_file_may_go_and_come_back(watching: Watching, capsys: Output) -> None:
    write("train.py", SLEEPS)()
    watching(gone("train.py"), nothing, write("train.py", COLLECTS), nothing, arguments=["train.py"])
    out, err = capsys.readouterr()
    assert [line for line in shown(out) if "12" in line] == [
        "train.py:12:9: PPF705",
        "12:00:00 gone: train.py",
        "12:00:00 new: train.py",
        "train.py:12:9: PPF704",
    ]
    assert "perflint: train.py does not exist" in err


def test_a_rule_that_fails_does_not_end_it(watching: Watching, monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    monkeypatch.delenv("PERFLINT_DEBUG", raising=False)
    write("train.py", CLEAN)()
    read_all = discovery.read_all

    def failing(paths: Iterable[Path]) -> tuple[dict[str, Source], list[Finding]]:
        sources, unreadable = read_all(paths)
        if any("FAIL" in source.text for source in sources.values()):
            raise ValueError("it cannot be done")
        return sources, unreadable

    monkeypatch.setattr(discovery, "read_all", failing)
    assert watching(write("train.py", "FAIL\n"), nothing, write("train.py", SLEEPS), nothing)[0] == 0
    out, err = capsys.readouterr()
    assert "internal error: ValueError: it cannot be done" in err
    assert shown(out)[-2] == "train.py:12:9: PPF705"
    monkeypatch.setenv("PERFLINT_DEBUG", "1")
    with pytest.raises(ValueError, match="it cannot be done"):
        watching(write("train.py", "FAIL\n"), nothing)


# --- what it cannot do


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--fix"], "--fix"),
        (["--diff"], "--diff"),
        (["--timing"], "--timing"),
        (["--output-file", "found.txt"], "--output-file"),
        (["--output-format", "json"], "--output-format"),
        (["--output", "json:gone/found.json"], "no directory gone"),
        (["-"], "standard input"),
        (["--stdin-filename", "a.py"], "standard input"),
        (["gone.py"], "gone.py"),
        (["--select", "PPF99"], "PPF99"),
    ],
)
def test_what_cannot_work_exits_2_with_one_sentence(
    arguments: list[str], word: str, watching: Watching, capsys: Output
) -> None:
    assert watching(arguments=arguments) == (2, [])
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("perflint: ")
    assert err.count("\n") == 1
    assert word in err


# --- all of it


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is no signal that can be sent there")
def test_an_edit_and_ctrl_c_in_a_process(tmp_path: Path) -> None:
    train = tmp_path / "train.py"
    train.write_text(SLEEPS, encoding="utf-8")
    command = [sys.executable, "-m", "perflint", "check", "--watch", "--isolated", "--output-format", "concise", "."]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        said = lines_of(process.stdout)
        assert wait_for(said, "Found 1 finding")[0].startswith("train.py:12:9: PPF705")
        wait_for(lines_of(process.stderr), "Watching")  # from here on every change is seen
        train.write_text(COLLECTS, encoding="utf-8")
        lines = wait_for(said, "Found 1 finding")
        assert lines[1].endswith(" changed: train.py\n")
        assert lines[2].startswith("train.py:12:9: PPF704")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0
    finally:
        process.kill()
        process.wait()


def lines_of(stream: Iterable[str]) -> Iterator[str]:
    """The lines of a stream as they come. Raises queue.Empty if none comes for a long time."""
    found: queue.Queue[str] = queue.Queue()

    def follow() -> None:
        for line in stream:
            found.put(line)

    threading.Thread(target=follow, daemon=True).start()
    while True:
        yield found.get(timeout=60)


def wait_for(lines: Iterator[str], beginning: str) -> list[str]:
    """The next lines, up to one that begins so."""
    found: list[str] = []
    while not found or not found[-1].startswith(beginning):
        found.append(next(lines))
    return found
