"""Values that stand in configuration files: where they are found, and what rules and traces make of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflint import cli
from perflint.configuration.settings import Settings as Chosen
from perflint.findings import Confidence, Finding
from perflint.inputs.input_files import read_inputs
from perflint.inputs.setting_files import Setting, SettingFiles, rows_of
from perflint.run import engine
from perflint.text.source import Source

YAML = """\
# how to train
Global: &all
  steps: 10   # a comment
  name: "small"
  text: several words
Train:
  - loader:
      num_workers: 0
      shared: ~
  - {amp: true, size: 3e-4}
empty:
next: 'O1'
"""


def test_the_rows_of_yaml() -> None:
    assert list(rows_of(YAML)) == [
        Setting(3, ("Global", "steps"), "10"),
        Setting(4, ("Global", "name"), "small"),
        Setting(8, ("Train", "loader", "num_workers"), "0"),
        Setting(9, ("Train", "loader", "shared"), "~"),
        Setting(12, ("next",), "O1"),
    ]


def test_the_rows_of_json_and_of_mappings_in_one_row() -> None:
    text = '{\n  "train": {\n    "workers": 4,\n    "log": {"every": 10, "name": "a"}\n  },\n  "seed": 1\n}\n'
    assert list(rows_of(text)) == [
        Setting(3, ("train", "workers"), "4"),
        Setting(4, ("train", "log", "every"), "10"),
        Setting(4, ("train", "log", "name"), "a"),
        Setting(6, ("seed",), "1"),
    ]


def test_settings_are_found_by_all_their_keys() -> None:
    settings = SettingFiles(
        {"a.yml": rows_of("Train:\n  workers: 0\nEval:\n  workers: 2\n"), "b.yml": rows_of("workers: 8\n")}
    )
    assert [(path, each.row) for path, each in settings.at(("Train", "workers"))] == [("a.yml", 2)]
    assert [(path, each.row) for path, each in settings.at((None, "workers"))] == [("a.yml", 2), ("a.yml", 4)]
    assert [(path, each.row) for path, each in settings.at(("workers",))] == [("b.yml", 1)]
    assert settings.at(("Train", None)) == []
    assert settings.has_parts(("Eval",))
    assert settings.has_parts((None,))
    assert not settings.has_parts(("Eval", "workers"))
    assert settings.values("workers") == {0, 2, 8}


# -- a training whose loader is set by a file --------------------------------------------------------------------------

TRAIN = """\
import sys

import cv2
import paddle
import yaml
{imports}
from paddle.io import DataLoader, Dataset


class Photos(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __getitem__(self, i):
        return cv2.imread(self.paths[i])

    def __len__(self):
        return len(self.paths)

{classes}
def make_loader(config, mode, paths):
    part = {part}
    return DataLoader(Photos(paths), batch_size=64, shuffle=mode == "Train", num_workers={workers})


def main(paths, model, optimizer):
    with open(sys.argv[1]) as file:
        config = {load}
    loader = make_loader(config, "Train", paths)
    for x in loader:
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()


if __name__ == "__main__":
    main(find(), make(), make_optimizer())
"""
PARTS = {
    "imports": "",
    "classes": "",
    "part": 'config[mode]["loader"]',
    "workers": 'part["num_workers"]',
    "load": "yaml.safe_load(file)",
}
NONE = "Train:\n  loader:\n    num_workers: 0\nEval:\n  loader:\n    num_workers: 2\n"
FOUR = NONE.replace("0", "4")


def _findings(folder: Path, files: dict[str, str], code: str = "PPF101", **parts: str) -> list[Finding]:
    text = TRAIN.format(**{**PARTS, **parts})
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content)
    path = str(folder / "train.py")
    chosen = Chosen(select=(code,), min_confidence=Confidence.LOW, inputs=read_inputs([path], folder))
    return engine.check({path: Source(path, text)}, chosen)


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"workers": 'part.get("num_workers", 4)'},
        {"part": 'config[mode].get("loader", {})'},
        {"part": 'config.get("Train")["loader"]', "workers": 'part.get("num_workers")'},
        {"part": "config.Train.loader", "workers": "part.num_workers", "load": "EasyDict(yaml.safe_load(file))"},
        {
            "classes": "class AttrDict(dict):\n    def __getattr__(self, key):\n        return self[key]\n\n",
            "part": "config.Train.loader",
            "workers": "part.num_workers",
            "load": "AttrDict(yaml.load(file, Loader=yaml.Loader))",
        },
        {"classes": "def load(file):\n    read = yaml.safe_load(file)\n    return read\n\n", "load": "load(file)"},
        {"load": "CfgNode.load_cfg(file)", "imports": "from yacs.config import CfgNode"},
        {"part": 'config[mode]["loader"].copy()', "workers": 'part.pop("num_workers", 4)'},
    ],
)
def test_a_file_that_sets_no_workers(tmp_path: Path, parts: dict[str, str]) -> None:
    (found,) = _findings(tmp_path, {"small.yml": NONE}, **parts)
    assert found.message.startswith("`num_workers: 0` at small.yml:3 uses no worker processes")
    assert "set it to 4 there" in found.message
    assert found.confidence is Confidence.MEDIUM
    assert [(each.path, each.line) for each in found.related if each.message == "sets it"] == [("small.yml", 3)]
    assert found.fix is not None
    assert not found.fix.edits  # the value stands in another file


@pytest.mark.parametrize(
    ("files", "parts"),
    [
        ({}, {}),
        ({"large.yml": FOUR}, {}),
        ({"flat.yml": "num_workers: 0\n"}, {}),  # another value of that name
        ({"other.yml": NONE.replace("Train", "Test")}, {}),
        ({"small.yml": NONE}, {"load": "make_config(file)", "imports": "from other import make_config"}),
        ({"small.yml": NONE}, {"workers": 'part["threads"]'}),
        ({"small.yml": NONE}, {"workers": '4 or part["num_workers"]'}),
    ],
)
def test_what_no_file_sets_to_none(tmp_path: Path, files: dict[str, str], parts: dict[str, str]) -> None:
    assert _findings(tmp_path, files, **parts) == []


def test_a_configuration_that_is_only_read_if_a_path_is_given(tmp_path: Path) -> None:
    load = "given\n        if isinstance(given, str):\n            config = yaml.safe_load(file)"
    (found,) = _findings(tmp_path, {"small.yml": NONE}, load=load, imports="from other import given")
    assert found.message.startswith("`num_workers: 0` at small.yml:3 uses")


@pytest.mark.parametrize(
    "change", ['config["Train"]["loader"]["num_workers"] = 8', "config.Train.loader.num_workers = 8"]
)
def test_what_the_code_sets_itself_is_uncertain(tmp_path: Path, change: str) -> None:
    load = f"yaml.safe_load(file)\n    if len(sys.argv) > 2:\n        {change}"
    (found,) = _findings(tmp_path, {"small.yml": NONE}, load=load)
    assert found.confidence is Confidence.LOW


def test_a_file_that_differs_from_others(tmp_path: Path) -> None:
    (found,) = _findings(tmp_path, {"configs/small.yml": NONE, "configs/large.yml": FOUR, "configs/tiny.json": "{}"})
    assert found.confidence is Confidence.MEDIUM  # whoever trains with the small one has no workers
    assert "at configs/small.yml:3 uses" in found.message


def test_several_files_that_agree_are_counted(tmp_path: Path) -> None:
    files = {f"configs/{name}.yml": NONE for name in "abc"}
    (found,) = _findings(tmp_path, files)
    assert "at configs/a.yml:3 and 2 more places uses" in found.message
    assert found.confidence is Confidence.MEDIUM


def test_a_file_that_turns_shared_memory_off(tmp_path: Path) -> None:
    workers = '4, use_shared_memory=part.get("use_shared_memory", True)'
    text = FOUR.replace("num_workers: 4\n", "num_workers: 4\n    use_shared_memory: false\n")
    (found,) = _findings(tmp_path, {"small.yml": text}, "PPF102", workers=workers)
    assert found.message.startswith("`use_shared_memory: false` at small.yml:4 makes the workers send every batch")
    assert _findings(tmp_path, {"small.yml": FOUR}, "PPF102", workers=workers) == []


SHOWN = """\
import sys

import paddle
import yaml


def main(loader, model, optimizer):
    config = yaml.safe_load(open(sys.argv[1]))
    measures = config["Global"]["metric_in_training"]
    for step, (x, y) in enumerate(loader):
        out = model(x)
        loss = (out - y).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        if measures:
            history.append(out.numpy())


if __name__ == "__main__":
    main(load(), make(), make_optimizer())
"""


@pytest.mark.parametrize(("value", "confident"), [("false", False), ("true", True)])
def test_code_that_every_file_switches_off_is_no_default_finding(tmp_path: Path, value: str, confident: bool) -> None:
    (tmp_path / "train.yml").write_text(f"Global:\n  metric_in_training: {value}\n")
    path = str(tmp_path / "train.py")
    chosen = Chosen(select=("PPF201",), min_confidence=Confidence.LOW, inputs=read_inputs([path], tmp_path))
    found = engine.check({path: Source(path, SHOWN)}, chosen)
    assert [each.confidence > Confidence.LOW for each in found] == ([True] if confident else [False])


@pytest.mark.parametrize(
    ("files", "confident"),
    [
        ({"a": "Global:\n  metric_in_training: false\n"}, False),
        ({"a": "Global:\n  metric_in_training: false\n", "b": "Global:\n  steps: 4\n"}, True),
        ({"a": "Global:\n  metric_in_training: false\n", "b": "steps: 4\n"}, False),  # no configuration of it
    ],
)
def test_the_fallback_counts_where_a_file_lacks_the_key(tmp_path: Path, files: dict[str, str], confident: bool) -> None:
    for name, text in files.items():
        (tmp_path / f"{name}.yml").write_text(text)
    path = str(tmp_path / "train.py")
    chosen = Chosen(select=("PPF201",), min_confidence=Confidence.LOW, inputs=read_inputs([path], tmp_path))
    text = SHOWN.replace('["metric_in_training"]', '.get("metric_in_training", True)')
    found = engine.check({path: Source(path, text)}, chosen)
    assert [each.confidence > Confidence.LOW for each in found] == [confident]


def test_the_report_names_the_row_that_switches_waits_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.yml").write_text("Global:\n  metric_in_training: false\n")
    (tmp_path / "train.py").write_text(SHOWN.replace("loss.backward()", "loss.backward(); seen.append(float(loss))"))
    monkeypatch.chdir(tmp_path)
    cli.main(["check", ".", "--isolated", "--no-cache"])
    shown = capsys.readouterr().out
    assert "Assumes: `measures` at train.py:16 stays as train.yml:2 sets it" in shown


def test_a_trace_names_the_rows_that_set_the_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "small.yml").write_text(NONE)
    (tmp_path / "train.py").write_text(TRAIN.format(**PARTS))
    monkeypatch.chdir(tmp_path)
    cli.main(["step", ".", "--isolated"])
    shown = capsys.readouterr().out
    assert "DataLoader at train.py:23, 0 workers (small.yml:3): a thread of the training process loads them." in shown
    assert "Verdict: likely bound by loading" in shown
