"""The flake8 plugin: which rules, where its settings stand, what it loads, and what it says when it cannot work."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from perflint import flake8_plugin, flake8_run, flake8_shared
from perflint.commands import check
from perflint.configuration.settings import Settings
from perflint.run import engine
from tests import corpus
from tests.flake8_runs import ROOT, loaded_by_flake8, plugin_path, rows, run_flake8, run_flake8_here

SAVES = """\
import paddle
from paddle.vision.models import resnet50


def train(loader):
    model = resnet50()
    optimizer = paddle.optimizer.SGD(parameters=model.parameters())
    for epoch in range(90):
        for x, y in loader:
            with paddle.amp.auto_cast():
                loss = paddle.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            print(loss.item())
        paddle.save(model.state_dict(), f"{epoch}.pdparams")
"""
Output = pytest.CaptureFixture[str]
LIGHT = {
    "perflint",
    "perflint.flake8_plugin",
    "perflint.flake8_shared",
    "perflint.files",
    "perflint.files.plain_files",
}
"""What flake8 loads of perflint at each start; it imports nothing that flake8 has not imported itself."""

ON, OFF = "train.py:15 PPF202", "train.py:16 PPF402"
"""What a rule finds that is on by default, and what one finds that is not."""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A training script in the current directory."""
    found = tmp_path / "project"
    found.mkdir()
    (found / "train.py").write_text(SAVES)
    monkeypatch.chdir(found)
    return found


# --- which rules


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], [ON]),
        (["--select=PPF"], [ON]),
        (["--select=P"], [ON]),
        (["--select=PPF4"], []),
        (["--select=PPF402"], [OFF]),
        (["--select=PPF,PPF402"], [ON, OFF]),
        (["--extend-select=PPF402"], [ON, OFF]),
        (["--select=PPF", "--ppf-extend-select=PPF402"], [ON, OFF]),
        (["--select=PPF", "--ppf-select=sync-save"], [OFF]),
        (["--select=PPF", "--ppf-ignore=PPF2"], []),
        (["--select=PPF", "--extend-ignore=PPF202"], []),
        (["--select=PPF402", "--ppf-select=PPF2"], [OFF]),
    ],
)
def test_rules(arguments: list[str], expected: list[str], tmp_path: Path, capsys: Output) -> None:
    told = run_flake8_here("--ignore=E,W,F,C", *arguments, "train.py", scratch=tmp_path, capsys=capsys)
    assert (rows(told.places), told.errors) == (expected, "")


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("setup.cfg", "[flake8]\nselect = PPF\nppf-extend-select = PPF402\n", [ON, OFF]),
        (".flake8", "[flake8]\nselect = PPF\nppf_ignore = PPF202\n", []),
        ("tox.ini", "[flake8]\nselect = PPF\nppf-config = ./sub/perflint.toml\n", [OFF]),
        (".flake8", "[flake8]\nselect = PPF\nper-file-ignores =\n    train.py: PPF202\n", []),
        ("perflint.toml", 'extend-select = ["PPF402"]\n', [ON, OFF]),
        ("pyproject.toml", '[tool.perflint.per-file-ignores]\n"train.py" = ["PPF2"]\n', []),
        ("pyproject.toml", '[tool.perflint]\nselect = ["PPF4"]\n', [OFF]),
    ],
)
def test_where_settings_stand(
    name: str, text: str, expected: list[str], place: Path, tmp_path: Path, capsys: Output
) -> None:
    (place / "sub").mkdir()
    (place / "sub/perflint.toml").write_text('select = ["PPF402"]\n')
    (place / name).write_text(text)
    select = () if text.startswith("[flake8]") else ("--select=PPF",)
    assert rows(run_flake8_here(*select, "train.py", scratch=tmp_path, capsys=capsys).places) == expected


def test_perflints_own_configuration_can_be_left_unread(place: Path, tmp_path: Path, capsys: Output) -> None:
    (place / "perflint.toml").write_text('ignore = ["PPF202"]\n')
    assert rows(run_flake8_here("--select=PPF", "train.py", scratch=tmp_path, capsys=capsys).places) == []
    told = run_flake8_here("--select=PPF", "--ppf-isolated", "train.py", scratch=tmp_path, capsys=capsys)
    assert rows(told.places) == [ON]


# --- what is loaded


@pytest.mark.parametrize("arguments", [["--select=F"], ["--ignore=PPF"], ["--select=E,F", "--ppf-select=ALL"]])
def test_where_no_rule_is_asked_for_nothing_is_loaded(arguments: list[str], place: Path, tmp_path: Path) -> None:
    (place / "perflint.toml").write_text("no configuration")
    ours = {name for name in loaded_by_flake8(*arguments, ".", scratch=tmp_path / "s") if "perflint" in name}
    assert ours == LIGHT


def test_a_file_that_can_hold_no_finding_loads_nothing(place: Path, tmp_path: Path) -> None:
    (place / "plain.py").write_text("x = 1\n")
    names = loaded_by_flake8("--select=PPF", "plain.py", scratch=tmp_path / "s")
    assert {name for name in names if "perflint" in name} == LIGHT
    assert not names & {"yaml", "libcst", "pathspec", "tomllib"}


@pytest.mark.parametrize("jobs", ["-j1", "-j2"])
def test_files_that_can_hold_no_finding_load_nothing(jobs: str, place: Path, tmp_path: Path) -> None:
    (place / "train.py").unlink()
    (place / ".venv").mkdir()
    (place / ".venv" / "paddle.py").write_text(SAVES)
    for name in "ab":
        (place / f"{name}.py").write_text("x = 1\n")
    names = loaded_by_flake8("--select=PPF", jobs, ".", scratch=tmp_path / "s")
    assert {name for name in names if "perflint" in name} == LIGHT


LOADS = """import paddle


def train(model, data, optimizer):
    for batch in paddle.io.DataLoader(data, batch_size=8):
        model(batch).backward()
        optimizer.step()
"""
"""The fix adds an argument to the call, which LibCST has to parse."""


def test_without_an_edit_libcst_is_not_loaded(place: Path, tmp_path: Path) -> None:
    (place / "plain.py").write_text("import paddle\n\n\ndef double(x):\n    return 2 * x.numpy()\n")
    (place / "perflint.toml").touch()
    names = loaded_by_flake8("--select=PPF", "-j1", "plain.py", scratch=tmp_path / "s")
    assert "perflint.run.engine" in names
    assert "libcst._nodes" not in names
    (place / "loads.py").write_text(LOADS)
    assert "libcst._nodes" in loaded_by_flake8("--select=PPF", "-j1", "loads.py", scratch=tmp_path / "s")


def test_without_the_word_paddle_there_is_nothing_to_find() -> None:
    plain = {path: source for path, source in corpus.sources().items() if "paddle" not in source.text}
    assert len(plain) > 20
    everything = Settings(join_lines=False, select=("ALL",), ignore=("PPF001",))
    assert [engine.check({path: source}, everything) for path, source in plain.items()] == [[]] * len(plain)
    assert engine.check(plain, everything) == []


# --- the processes of flake8


def test_processes_that_are_not_forked_read_what_the_first_has_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = argparse.Namespace(filenames=["train.py"], stdin_display_name="stdin")
    run = flake8_run.Run(options, ["train.py"], {str(Path("train.py").resolve()): [(1, 0, "PPF201 It waits.")]})
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv(flake8_shared.SHARED, f"8:{run.written()}")
    monkeypatch.setattr(flake8_run, "_check_paths", None)  # nothing may be checked again
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: SimpleNamespace(pid=8))
    again = flake8_run.Run.of(options)
    assert [list(row) for row in again.found("./train.py", [])] == [[1, 0, "PPF201 It waits."]]
    assert again.found("other.py", []) == ()


def test_another_process_or_other_paths_find_nothing_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[int] = []
    monkeypatch.setattr(flake8_run, "_check_paths", lambda options: found.append(1))
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: SimpleNamespace(pid=8))
    (tmp_path / "run.json").write_text('{"asked": ["a.py"], "rows": {}}')
    for variable in (f"7:{tmp_path}/run.json", f"8:{tmp_path}/run.json", f"8:{tmp_path}/gone.json", "8:", ""):
        monkeypatch.setenv(flake8_shared.SHARED, variable)
        flake8_run.Run.of(argparse.Namespace(filenames=["b.py"]))
    assert len(found) == 5


def test_processes_that_are_not_forked_know_that_there_is_nothing_to_find(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    Path("train.py").write_text("x = 1\n")
    monkeypatch.setattr(multiprocessing, "get_start_method", lambda allow_none: "spawn")
    monkeypatch.setenv(flake8_shared.SHARED, "")
    run_flake8_here("--select=PPF", "-j2", ".", scratch=tmp_path, capsys=capsys)  # one file: nothing is started
    assert os.environ[flake8_shared.SHARED] == f"{os.getpid()}:"
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: SimpleNamespace(pid=os.getpid()))
    monkeypatch.setattr(flake8_plugin, "_can_hold_any", None)  # nobody may look again
    assert run_flake8_here("--select=PPF", "-j2", ".", scratch=tmp_path, capsys=capsys).places == []


def test_a_program_that_hands_flake8_other_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    from flake8.api import legacy

    for path in plugin_path(tmp_path)[1:]:
        monkeypatch.syspath_prepend(path)
    guide = legacy.get_style_guide(select=["PPF"])
    Path("train.py").rename("run.py")
    assert guide.check_files(["run.py"]).total_errors == 1
    assert "run.py:15:13: PPF202" in capsys.readouterr().out


# --- what cannot work


@pytest.mark.parametrize(
    ("arguments", "text", "words"),
    [
        ([], 'select = ["PPF99"]\n', "perflint.toml:1: select: "),
        ([], "no configuration", "perflint.toml:1: not valid TOML"),
        ([], 'context = ["gone"]\n', "gone does not exist"),
        (["--ppf-select=PPF99"], "", "--ppf-select: "),
        (["--ppf-min-confidence=sure"], "", "--ppf-min-confidence: "),
        (["--ppf-config=gone.toml"], "", "gone.toml: cannot be read"),
        (["--ppf-config=perflint.toml", "--ppf-isolated"], "", "--ppf-isolated: "),
    ],
)
def test_a_configuration_that_cannot_be_used_ends_flake8_with_one_sentence(
    arguments: list[str], text: str, words: str, place: Path, tmp_path: Path, capsys: Output
) -> None:
    (place / "perflint.toml").write_text(text)
    told = run_flake8_here("--select=PPF", *arguments, "train.py", scratch=tmp_path, capsys=capsys)
    assert (told.status, told.places, told.errors) == (1, [], "")
    assert len(told.others) == 2
    assert told.others[1].startswith("perflint: ")
    assert words in told.others[1]


def test_all_mistakes_in_a_configuration_are_told(place: Path, tmp_path: Path, capsys: Output) -> None:
    (place / "perflint.toml").write_text("log-interval = 0\nmin-impact = 1\n")
    told = run_flake8_here("--select=PPF", "--ppf-select=PPF99", "train.py", scratch=tmp_path, capsys=capsys)
    assert (told.status, told.errors) == (1, "")
    starts = ["perflint.toml:1: log-interval: ", "perflint.toml:2: min-impact: ", "--ppf-select: "]
    assert all(start in line for line, start in zip(told.others[1:], starts, strict=True))
    assert all(line.startswith("perflint: ") for line in told.others[1:])


def test_a_configuration_that_cannot_be_used_where_there_are_processes(place: Path, tmp_path: Path) -> None:
    (place / "perflint.toml").write_text("no configuration")
    (place / "plain.py").write_text("x = 1\n")
    told = run_flake8("--select=PPF", "-j2", ".", scratch=tmp_path)
    assert (told.status, told.places, told.errors, len(told.others)) == (1, [], "", 2)


def test_a_bug_in_perflint_is_told_and_leaves_flake8_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    def fails(*_: object) -> None:
        raise ValueError("a rule fell over")

    monkeypatch.setattr(check, "look", fails)
    Path("more.py").write_text("import os\n")
    told = run_flake8_here("--select=PPF,F", ".", scratch=tmp_path, capsys=capsys)
    assert rows(told.places) == ["more.py:1 F401"]
    assert told.errors.count("perflint: internal error: ValueError: a rule fell over.") == 1


def test_the_page_names_the_options() -> None:
    names: list[str] = []
    manager = SimpleNamespace(add_option=lambda name, **_: names.append(name))
    flake8_plugin.Plugin.add_options(manager)
    page = (ROOT / "docs" / "flake8.md").read_text(encoding="utf-8")
    assert set(re.findall(r"--ppf-[a-z-]+", page)) == set(names)
    assert len(names) == 8
