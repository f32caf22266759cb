"""``context``: files that are read so that those named are understood, and that are not reported themselves."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from perflint.cli import main
from perflint.commands import watch
from perflint.run import cache, engine
from tests.cli_runs import Output, pipe

TRAIN = """\
import paddle
from sub.helpers import note


def train(model, loader, optimizer):
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        note(loss)
        print(loss.item())
"""
HELPERS = """\
import paddle


def note(loss):
    return loss.item()
"""
WHOLE = ["sub/helpers.py:5 PPF201", "train.py:11 PPF201", "train.py:12 PPF202"]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A step loop at the top that makes a helper hot below; the top is the current directory."""
    place = tmp_path / "project"
    (place / "sub").mkdir(parents=True)
    (place / "perflint.toml").touch()
    (place / "train.py").write_text(TRAIN)
    (place / "sub" / "helpers.py").write_text(HELPERS)
    monkeypatch.chdir(place)
    return place


def found(capsys: Output, *arguments: str) -> list[dict[str, Any]]:
    """What a check reports, as JSON."""
    status = main(["check", "--output-format", "json", *arguments])
    captured = capsys.readouterr()
    assert captured.err == ""
    findings: list[dict[str, Any]] = json.loads(captured.out)
    assert status == (1 if findings else 0)
    return findings


def places(findings: list[dict[str, Any]]) -> list[str]:
    """``path:row CODE`` of each finding, below the current directory."""
    return [f"{os.path.relpath(item['filename'])}:{item['location']['row']} {item['code']}" for item in findings]


def configured(text: str = 'context = ["."]\n') -> None:
    Path("perflint.toml").write_text(text)


# --- which findings


def test_alone_the_helper_is_not_hot(capsys: Output) -> None:
    assert found(capsys, "sub/helpers.py") == []


@pytest.mark.parametrize("name", ["train.py", "sub/helpers.py", "sub"])
def test_what_is_reported_is_what_a_whole_check_reports_there(name: str, capsys: Output) -> None:
    whole = found(capsys, ".")
    assert places(whole) == WHOLE
    expected = [item for item in whole if Path(item["filename"]).is_relative_to(Path(name).absolute())]
    assert expected
    assert found(capsys, "--context", ".", name) == expected


def test_several_contexts_and_a_file_as_one(capsys: Output) -> None:
    Path("unused").mkdir()
    assert places(found(capsys, "--context", "unused", "--context", "train.py", "sub")) == ["sub/helpers.py:5 PPF201"]
    assert found(capsys, "--context", "unused", "sub") == []


def test_the_configuration_names_it_from_its_own_directory(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    configured()
    assert places(found(capsys, "sub/helpers.py")) == ["sub/helpers.py:5 PPF201"]
    monkeypatch.chdir("sub")
    findings = found(capsys, "helpers.py")
    assert places(findings) == ["helpers.py:5 PPF201"]
    assert "the loop at ../train.py:6" in findings[0]["message"]


def test_the_command_line_outdoes_the_configuration(capsys: Output) -> None:
    configured()
    assert found(capsys, "--no-context", "sub/helpers.py") == []
    assert found(capsys, "--context", "sub", "sub/helpers.py") == []
    Path("perflint.toml").write_text("")
    assert found(capsys, "--context", ".", "--no-context", "sub/helpers.py") == []


def test_excluded_files_are_no_context_and_are_checked_where_they_are_named(capsys: Output) -> None:
    configured('context = ["."]\nexclude = ["sub"]\n')
    assert places(found(capsys, "train.py")) == ["train.py:12 PPF202"]
    assert places(found(capsys, "sub/helpers.py")) == ["sub/helpers.py:5 PPF201"]
    assert found(capsys, "-q", "--force-exclude", "sub/helpers.py") == []


def test_what_is_excluded_is_not_read_for_others(capsys: Output) -> None:
    configured('context = ["."]\nexclude = ["train.py"]\n')
    assert found(capsys, "sub/helpers.py") == []


def test_files_of_the_context_that_cannot_be_read_or_parsed_are_not_reported(capsys: Output) -> None:
    configured()
    Path("binary.py").write_bytes(b"\0")
    Path("broken.py").write_text("def (\n")
    assert places(found(capsys, "sub/helpers.py")) == ["sub/helpers.py:5 PPF201"]
    assert places(found(capsys, "binary.py", "broken.py")) == ["binary.py:1 PPF003", "broken.py:1 PPF001"]


def test_a_context_that_is_missing_is_an_error_that_says_who_named_it(capsys: Output) -> None:
    assert main(["check", "--context", "gone", "train.py"]) == 2
    message = capsys.readouterr().err
    assert "context (command line): gone does not exist" in message
    configured('context = ["gone"]\n')
    assert main(["check", "train.py"]) == 2
    assert f"context ({Path('perflint.toml').resolve()}): gone does not exist" in capsys.readouterr().err


def test_the_configuration_is_that_of_all_that_is_read(capsys: Output) -> None:
    Path("sub/perflint.toml").write_text('ignore = ["PPF201"]\n')
    assert found(capsys, "sub/helpers.py", "--context", "sub") == []
    assert places(found(capsys, "sub/helpers.py", "--context", ".")) == ["sub/helpers.py:5 PPF201"]


def test_config_shows_it(capsys: Output) -> None:
    configured()
    assert main(["config"]) == 0
    assert f'context = ["."]  # {Path("perflint.toml").resolve()}' in capsys.readouterr().out.splitlines()


# --- one file under several names


def test_a_file_is_shown_as_it_was_named(project: Path, capsys: Output) -> None:
    configured()
    Path("link.py").symlink_to("sub/helpers.py")
    Path("there").symlink_to("sub")
    for name in ("./sub/helpers.py", "sub/../sub/helpers.py", str(project / "sub/helpers.py"), "link.py"):
        assert main(["check", "--output-format", "concise", name]) == 1
        shown = capsys.readouterr().out
        assert shown.startswith(f"{Path(name)}:5:12: PPF201 "), name
        assert "the loop at train.py:6" in shown
    assert places(found(capsys, "there")) == ["there/helpers.py:5 PPF201"]


def test_a_file_named_twice_is_one(capsys: Output) -> None:
    configured()
    assert len(found(capsys, "sub/helpers.py", "./sub/helpers.py", str(Path("sub/helpers.py").absolute()))) == 1


def test_frames_and_fixes_show_the_text_of_the_file_as_named(capsys: Output) -> None:
    configured()
    name = str(Path("sub/helpers.py").absolute())
    assert main(["check", name]) == 1
    shown = capsys.readouterr().out
    assert f"{name}:5:12" in shown
    assert "5 |     return loss.item()" in shown


# --- options


def test_only_the_files_named_count(capsys: Output) -> None:
    assert main(["check", "--context", ".", "sub/helpers.py", "--output-format", "concise"]) == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith("Found 1 finding in 1 file")
    assert main(["check", "--context", ".", "sub/helpers.py", "--statistics"]) == 1
    assert capsys.readouterr().out.split()[:2] == ["1", "PPF201"]
    Path("clean.py").write_text("x = 1\n")
    assert main(["check", "--context", ".", "clean.py"]) == 0
    assert capsys.readouterr().out == (
        "No findings in 1 file. "
        "3 findings are in files that were only read: sub/helpers.py, train.py (to see them: perflint check).\n"
    )


def test_only_the_files_named_are_fixed_and_the_check_after_it_sees_all(capsys: Output) -> None:
    configured()
    name = str(Path("train.py").absolute())
    assert main(["check", "--diff", "--unsafe-fixes", name]) == 1
    why, *lines = capsys.readouterr().out.splitlines()
    assert why.startswith(f"# {name}:12 PPF202: ") and lines[:2] == [f"--- {name}", f"+++ {name}"]
    assert main(["check", "--fix", "--unsafe-fixes", "--output-format", "concise", name]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith(f"{name}:11:9: PPF201 ")  # known from the helper, which is read at each round
    assert shown[1:] == [
        "Fixed:",
        f"  {name}:12 PPF202: log every 10th step",
        "Found 2 findings in 1 file (1 fixed, 1 remaining). "
        "1 finding is in a file that was only read: sub/helpers.py (to see it: perflint check).",
    ]
    assert "if step % 10 == 0:" in Path("train.py").read_text()
    assert Path("sub/helpers.py").read_text() == HELPERS


def test_files_of_the_context_are_not_fixed(capsys: Output) -> None:
    assert main(["check", "--fix", "--context", ".", "sub"]) == 1
    assert "Found 1 finding in 1 file (0 fixed, 1 remaining)." in capsys.readouterr().out
    assert Path("train.py").read_text() == TRAIN


def test_a_fix_through_a_link_changes_the_file_itself(capsys: Output) -> None:
    configured()
    Path("sub/link.py").symlink_to("../train.py")
    assert main(["check", "--fix", "--unsafe-fixes", "sub/link.py"]) == 1
    assert "sub/link.py:11:9" in capsys.readouterr().out
    assert Path("sub/link.py").is_symlink()
    assert "if step % 10 == 0:" in Path("train.py").read_text()


# --- standard input


def piped(text: str, monkeypatch: pytest.MonkeyPatch, capsys: Output, name: str, *more: str) -> list[dict[str, Any]]:
    pipe(monkeypatch, text.encode())
    return found(capsys, "-", "--stdin-filename", name, *more)


@pytest.mark.parametrize("absolute", [False, True])
def test_what_is_piped_stands_for_the_file_of_its_name(
    absolute: bool, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    configured()
    name = str(Path("sub/helpers.py").absolute()) if absolute else "sub/helpers.py"
    edited = HELPERS.replace("\n\ndef", "\n# another line\n\ndef")
    findings = piped(edited, monkeypatch, capsys, name)
    assert places(findings) == ["sub/helpers.py:6 PPF201"]
    assert piped(edited, monkeypatch, capsys, name, "--no-context") == []
    assert places(piped(TRAIN, monkeypatch, capsys, name)) == ["sub/helpers.py:12 PPF202"]


def test_a_new_file_can_be_piped(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    configured()
    Path("train.py").write_text(TRAIN.replace("sub.helpers", "sub.new"))
    assert places(piped(HELPERS, monkeypatch, capsys, "sub/new.py")) == ["sub/new.py:5 PPF201"]


def test_what_is_piped_and_cannot_be_read_is_reported(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    configured()
    pipe(monkeypatch, b"\0")
    assert [item["code"] for item in found(capsys, "-", "--stdin-filename", "train.py")] == ["PPF003"]


# --- the cache


def test_a_whole_check_and_one_in_its_context_share_what_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    found(capsys, "--context", ".", "train.py")
    monkeypatch.setattr(engine, "check_projects", None)  # nothing may be checked again
    assert places(found(capsys, ".")) == WHOLE
    assert places(found(capsys, "--context", ".", "sub")) == ["sub/helpers.py:5 PPF201"]
    configured()
    assert places(found(capsys, "sub")) == ["sub/helpers.py:5 PPF201"]


def test_projects_of_the_context_that_nobody_asks_about_are_not_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    Path("other").mkdir()
    Path("other/README.md").touch()
    Path("other/loop.py").write_text(TRAIN.replace("from sub.helpers import note", "note = str"))
    checked: list[str] = []
    real = engine.check_projects

    def watched(projects: list[dict[str, Any]], *rest: Any, **options: Any) -> Any:
        checked.extend(path for project in projects for path in project)
        return real(projects, *rest, **options)

    monkeypatch.setattr(engine, "check_projects", watched)
    assert places(found(capsys, "--context", ".", "sub")) == ["sub/helpers.py:5 PPF201"]
    assert sorted(checked) == ["sub/helpers.py", "train.py"]
    assert [item for item in places(found(capsys, ".")) if item.startswith("other")] != []
    assert sorted(checked) == ["other/loop.py", "sub/helpers.py", "train.py"]


# --- --watch


def test_a_watch_sees_changes_in_the_context(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    configured()
    # From the second change of a file on, a session is asked.
    texts = [TRAIN.replace("note(loss)", "pass"), TRAIN, "# one line\n" + TRAIN]
    acts = iter([act for text in texts for act in (text, None)])

    def sleep(seconds: float) -> None:
        text = next(acts, "")
        if text == "":
            raise KeyboardInterrupt
        if text is not None:
            Path("train.py").write_text(text)

    clock = watch.Clock(sleep, lambda: 0.0, lambda: "12:00:00")
    monkeypatch.setattr(watch, "Clock", lambda: clock)
    assert main(["check", "--watch", "--output-format", "concise", "sub"]) == 0
    shown = [line.partition(" (1 more")[0] for line in capsys.readouterr().out.splitlines()]
    costs = "`loss.item()` copies a tensor to the host and waits for the device"
    hot = f"sub/helpers.py:5:12: PPF201 [s] {costs} at each call"
    others = "in a file that was only read: train.py"
    assert [line for line in shown if line] == [
        f"{hot} reached from the loop at train.py:6 through train.py:11",
        f"Found 1 finding in 1 file. 2 findings are {others} (to see them: perflint check).",
        "12:00:00 changed: train.py",
        f"No findings in 1 file. 1 finding is {others} (to see it: perflint check).",
        "0 new, 1 gone:",
        "  - sub/helpers.py:5 PPF201",
        "12:00:00 changed: train.py",
        f"{hot} reached from the loop at train.py:6 through train.py:11",
        f"Found 1 finding in 1 file. 2 findings are {others} (to see them: perflint check).",
        "1 new, 0 gone:",
        "  + sub/helpers.py:5 PPF201",
        "12:00:00 changed: train.py",
        f"{hot} reached from the loop at train.py:7 through train.py:12",
        f"Found 1 finding in 1 file. 2 findings are {others} (to see them: perflint check).",
    ]
