"""A kind of file that only these tests declare, followed to the checks through all that a run may be.

The kind, the fact and the check below are all that it takes: nothing else in perflint knows of them.
"""

from __future__ import annotations

import ast
import json
import os
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perflint.cli import main
from perflint.configuration.settings import Settings
from perflint.findings import Checked
from perflint.flake8_run import Run
from perflint.index.project import FileIndex
from perflint.inputs import input_files
from perflint.inputs.input_files import InputFile, InputKind, patterns, read_inputs
from perflint.lint import registry
from perflint.lint.context import Context
from perflint.query import query
from perflint.rules import load_checks
from perflint.run import cache, engine
from perflint.run.processes import can_fork
from perflint.run.session import Session
from perflint.server.client import EditorSettings, Tell
from perflint.server.workspace import Configured
from tests.support import in_step, sources
from tests.test_server_workspace import Scene
from tests.test_watch import Watching, shown, watching, write

__all__ = ["watching"]

SLEEPS = in_step("time.sleep(0.01)").replace("import paddle\n", "import time\nimport paddle\n", 1)
SLOW, QUICK = '{"throttled": true}', '{"throttled": false}'


def _read(name: str, data: bytes) -> bool | None:
    found = json.loads(data).get("throttled")
    return found if isinstance(found, bool) else None


THROTTLED = InputKind("throttled", ("configs/**/*.json",), _read)


@query
def is_throttled(file: FileIndex) -> bool:
    """Whether a configuration next to a file says that its training waits on purpose."""
    files = next(file.project.inputs.around(THROTTLED, file.source.path), ())
    return any(each.said for each in files)


def meant(call: ast.Call, context: Context) -> None:
    """No call is reported in a file that waits on purpose."""
    if is_throttled(context.file):
        context.claim(call)


@pytest.fixture(autouse=True)
def declared(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    load_checks()
    monkeypatch.setattr(input_files, "KINDS", (*input_files.KINDS, THROTTLED))
    known = list(registry.checks)
    registry.rule(at=registry.At.STEP, calls=["sleep"])(meant)
    registry.replace_checks(registry.checks)
    yield
    registry.replace_checks(known)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a script that sleeps, as the current directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    (tmp_path / "setup.cfg").touch()
    (tmp_path / "configs" / "small").mkdir(parents=True)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "train.py").write_text(SLEEPS)
    return tmp_path


def say(place: Path, text: str | None) -> None:
    """Let the configuration say this, or be gone."""
    file = place / "configs" / "small" / "Train.JSON"
    if text is None:
        file.unlink()
    else:
        file.write_text(text)


CHANGES: tuple[tuple[str | None, list[str]], ...] = (
    (None, ["PPF705"]),
    (SLOW, []),
    (QUICK, ["PPF705"]),
    (SLOW + " ", []),
    (None, ["PPF705"]),
)
"""What the configuration says, one after the other, and what is found then; at first there is none."""


def follow(place: Path, found: Callable[[], list[str]]) -> None:
    """Compare what is found after each change, asked twice, so that whatever remembers answers once."""
    for number, (text, codes) in enumerate(CHANGES):
        if number:
            say(place, text)
        assert [found(), found()] == [codes, codes], (number, text)


def test_a_run_and_the_cache(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[object] = []
    plain = engine.check_projects

    def counted(*given: Any, **options: Any) -> list[Checked]:
        checked.append(given)
        return plain(*given, **options)

    monkeypatch.setattr(engine, "check_projects", counted)

    def found() -> list[str]:
        main(["check", "--output-format", "json", "--min-confidence", "low", "tools"])
        return [finding["code"] for finding in json.loads(capsys.readouterr().out)]

    follow(place, found)
    assert len(checked) == 3  # with no answer, with true, with false: the rest came from the cache


def test_standard_input(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def found() -> list[str]:
        monkeypatch.setattr("sys.stdin", Namespace(buffer=(place / "tools" / "train.py").open("rb")))
        main(["check", "--output-format", "json", "--stdin-filename", "tools/train.py", "-"])
        return [finding["code"] for finding in json.loads(capsys.readouterr().out)]

    follow(place, found)


def test_flake8(place: Path) -> None:
    options = Namespace(
        filenames=["tools/train.py"],
        stdin_display_name="stdin",
        disable_noqa=False,
        jobs=Namespace(is_auto=True),
        **dict.fromkeys(("select", "extend_select", "ppf_select", "ppf_ignore", "ppf_extend_select")),
        **dict.fromkeys(("ppf_min_confidence", "ppf_min_impact", "ppf_config", "ppf_isolated", "ppf_context")),
    )
    follow(place, lambda: [row[2].split()[0] for row in Run.of(options).found("tools/train.py", [])])


@pytest.mark.skipif(not can_fork(), reason="this system cannot fork")
def test_processes(place: Path) -> None:
    files = {f"tools/p{number}/train.py": SLEEPS for number in range(60)}

    def found() -> list[str]:
        settings = Settings(join_lines=False, inputs=read_inputs(files, place))
        return sorted({finding.code for finding in engine.check(sources(files), settings, jobs=2)})

    follow(place, found)


def test_a_session(place: Path) -> None:
    path = "tools/train.py"

    def found() -> list[str]:
        session = Session(
            {**sources({path: SLEEPS})}, Settings(join_lines=False, inputs=read_inputs([path], place)), [path]
        )
        session.edit(path, SLEEPS.replace("0.01", "0.02"))
        session.catch_up()
        return [finding.code for finding in session.findings()]

    follow(place, found)


@pytest.mark.parametrize("script", ["tools/train.py", "outside/train.py"])
def test_the_server(place: Path, script: str) -> None:
    scene = Scene(*([place] if script == "tools/train.py" else []))
    (place / script).parent.mkdir(exist_ok=True)
    follow(place, lambda: scene.show(place / script, SLEEPS))


def test_the_server_says_once_what_cannot_be_used(place: Path) -> None:
    scene = Scene(place)
    say(place, "{")
    for _ in range(2):
        assert scene.show(place / "tools" / "train.py", SLEEPS) == ["PPF705"]
    assert scene.told == [f"{place}/configs/small/Train.JSON is ignored: {_BROKEN}"]


_BROKEN = "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"


def test_an_editor_is_asked_to_watch_the_files() -> None:
    assert patterns()[-1] == "**/configs/**/*.json"
    assert "**/requirements/*.txt" in patterns()


def test_a_watch(watching: Watching, capsys: pytest.CaptureFixture[str]) -> None:
    Path("configs").mkdir()
    write("train.py", SLEEPS)()
    config = "configs/train.json"
    acts = (
        *(write(config, SLOW), lambda: None),
        *(write(config, f" {SLOW} "), lambda: None),  # says the same: nothing is shown
        *(Path(config).unlink, lambda: None),
    )
    assert watching(*acts)[0] == 0
    assert shown(capsys.readouterr().out) == [
        "train.py:13:9: PPF705",
        "Found 1 finding in 1 file.",
        "",
        "12:00:00 new: configs/train.json",
        "No findings in 1 file.",
        "",
        "12:00:00 gone: configs/train.json",
        "train.py:13:9: PPF705",
        "Found 1 finding in 1 file.",
    ]


def test_what_cannot_be_used_is_said_and_says_nothing(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    say(place, "{")
    (place / "configs" / "deep.json").write_text("[" * 100_000)
    (place / "configs" / "large.json").write_bytes(b" " * 1_000_001)
    (place / "configs" / "gone.json").symlink_to("nowhere")
    (place / "configs" / "folder.json").mkdir()
    assert main(["check", "--output-format", "concise", "tools"]) == 1
    out, err = capsys.readouterr()
    assert [line.split()[1] for line in out.splitlines()] == ["PPF705", "1"]
    deep, large, broken = err.splitlines()
    assert deep.startswith(f"warning: {place}/configs/deep.json is ignored: maximum recursion depth")
    assert large == f"warning: {place}/configs/large.json is ignored: it is larger than 1,000,000 bytes"
    assert broken == f"warning: {place}/configs/small/Train.JSON is ignored: {_BROKEN}"


def test_which_files_belong_to_a_checked_file(tmp_path: Path) -> None:
    for name in ("a/configs", "a/.hidden/configs", "a/b/configs/x/y", "configs"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "train.json").write_text(SLOW)
    (tmp_path / "a" / "setup.cfg").touch()
    (tmp_path / "a" / "configs" / "link").symlink_to(tmp_path / "configs")
    (tmp_path / "a" / "configs" / "other.json").write_text("{}")  # which says nothing
    paths = [str(tmp_path / "a/b/c/train.py")]
    inputs = read_inputs(paths, tmp_path / "elsewhere")
    assert list(inputs.around(THROTTLED, paths[0])) == [
        (InputFile("b/configs/x/y/train.json", True),),
        (InputFile("configs/train.json", True),),
    ]
    assert [os.path.relpath(file, tmp_path) for file in inputs.files] == [
        *("a/setup.cfg", "a/configs/other.json", "a/configs/train.json", "a/b/configs/x/y/train.json")
    ]


def test_a_file_is_read_again_only_where_its_content_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []

    def read(name: str, data: bytes) -> bytes:
        asked.append(data)
        return data

    monkeypatch.setattr(input_files, "KINDS", (InputKind("any", ("*.cfg",), read),))
    file = tmp_path / "a.cfg"
    for content in (b"1", b"1", b"2", b"1"):
        file.write_bytes(content)
        os.utime(file, (0, 0))
        inputs = read_inputs([str(tmp_path / "train.py")], tmp_path)
        assert inputs.said == {"any": {str(tmp_path): (InputFile("a.cfg", content),)}}
    assert asked == [b"1", b"2"]


def test_settings_differ_where_a_file_says_something_else(place: Path) -> None:
    told: list[str] = []
    configured = Configured(place / "tools", Tell(told.append, told.append))
    seen: list[Any] = []
    for text in (SLOW, f" {SLOW}", QUICK):
        say(place, text)
        configured.look(EditorSettings())
        seen.append(configured.settings)
    assert seen[0] == seen[1] != seen[2] == replace(seen[0], inputs=seen[2].inputs)
    assert told == []
