"""Which programs a project has, how each is started, what it is for, and what it reaches; and what that hides."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from textwrap import dedent, indent

import pytest

from perflint.cli import main
from perflint.configuration.settings import Settings
from perflint.findings import Confidence, Finding, ImpactLevel
from perflint.flow.resolving import opened
from perflint.index.imports import Imports
from perflint.index.project import Place
from perflint.inputs.input_files import read_inputs
from perflint.inputs.launch_lines import LaunchLine, Started, launch_lines, lines_by_file
from perflint.run import engine
from perflint.trace.reached import starters
from perflint.trace.started import ONLY_TESTS, OPTIMIZES_AN_INPUT, ProgramPurpose, Programs, programs_of
from perflint.trace.step_trace import traces
from perflint.training.intent import optimizes_an_input
from tests.support import sources

READS = ("PPF201", "PPF202")
ENGINE = """\
import paddle


class Trainer:
    def train(self, model, loader, optimizer):
        for x in loader:
            loss = model(x).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            print(loss.item())
"""
MAIN = """\
import argparse
from engine import Trainer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="configs/a.yml")
    Trainer().train(None, [], None)


if __name__ == "__main__":
    main()
"""
ATTACK = """\
import paddle


def attack(model, picture):
    delta = paddle.to_tensor(picture, stop_gradient=False)
    optimizer = paddle.optimizer.Adam(0.01, parameters=[delta])
    for _ in range(100):
        loss = model(delta).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        print(loss.item())
"""


def found(files: Mapping[str, str], lines: Mapping[str, list[LaunchLine]] | None = None) -> Programs:
    project = opened(sources(files))
    return programs_of(project, traces(project), lines or {}, is_whole=True)


def told(files: Mapping[str, str], settings: Settings | None = None) -> list[Finding]:
    """The findings of a check that reads the whole project."""
    settings = settings or Settings(select=READS, min_impact=ImpactLevel.LOW, min_confidence=Confidence.LOW)
    return engine.check(sources(files), replace(settings, whole_project=True))


def test_a_script_with_what_it_reaches_in_another_file() -> None:
    (program,) = found({"engine.py": ENGINE, "train.py": MAIN}).programs
    assert (program.file.path, program.row, program.function) == ("train.py", 11, "")
    assert (program.purpose, program.settings) == (ProgramPurpose.TRAINS, ("configs/a.yml",))
    assert [(step.place.file.path, step.row) for step in program.steps] == [("engine.py", 6)]
    assert program.is_sure


def test_steps_come_in_the_order_in_which_the_program_gets_there() -> None:
    step = "    for x in loader:\n        loss = model(x)\n        loss.backward()\n        optimizer.step()\n"
    named = "model, loader, optimizer"
    both = f"def second({named}):\n{step}\n\ndef first({named}):\n{step}\n\n"
    code = f"import paddle\n\n\n{both}first(1, [], 2)\nsecond(1, [], 2)\n"
    (program,) = found({"train.py": code}).programs
    assert [each.place.scope.name for each in program.steps] == ["first", "second"]


@pytest.mark.parametrize(
    ("files", "why"),
    [
        (
            {"engine.py": ENGINE, "val.py": "from engine import Trainer\n\nprint(Trainer().evaluate())\n"},
            "nothing calls",
        ),
        (
            {
                "engine.py": ENGINE + "\n\ndef old():\n    Trainer().train(1, [], 2)\n",
                "val.py": "import engine\nprint(1)\n",
            },
            "only old leads to it",
        ),
    ],
)
def test_a_step_that_no_program_reaches(files: dict[str, str], why: str) -> None:
    programs = found(files)
    ((step, said),) = programs.unreached
    assert (step.row, [program.steps for program in programs.programs]) == (6, [()])
    assert said.startswith(why)
    assert told(files) == []


@pytest.mark.parametrize(
    "other",
    [
        "from engine import Trainer\n\nTrainer().train(None, [], None)\n",
        "import engine\n\ndef run(it):\n    it.train(1, [], 2)\n\nfor each in [engine.Trainer]:\n    run(each())\n",
        "import engine\n\n# engine.Trainer().train(None, [], None)\nprint(engine.Trainer())\n",
        "import sys\nimport engine\n\nprint(getattr(engine.Trainer(), {'a': 'train'}[sys.argv[1]]))\n",
    ],
    ids=["a call", "an unknown receiver", "a call in a comment", "a computed name"],
)
def test_code_that_a_program_may_reach_is_still_reported(other: str) -> None:
    assert [finding.confidence for finding in told({"engine.py": ENGINE, "run.py": other})] != []


BY_MODE = {
    "base.py": """\
import paddle


class Base(paddle.nn.Layer):
    def forward(self, *args, **kwargs):
        mode = kwargs.get("mode", "forward")
        if "mode" in kwargs:
            del kwargs["mode"]
        return getattr(self, "_" + mode)(*args, **kwargs)
""",
    "net.py": """\
from base import Base


class Net(Base):
    def _forward(self, x):
        return x * x.sum().item()
""",
    "train.py": """\
import paddle
from net import Net


def main(options):
    net, optimizer = Net() if options.net else None, paddle.optimizer.Adam()
    for x in paddle.io.DataLoader(options.data):
        loss = net(x).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()


if __name__ == "__main__":
    main(options)
""",
}


def test_what_a_step_certainly_runs_is_reached_by_its_program() -> None:
    settings = Settings(select=("PPF210",), min_impact=ImpactLevel.LOW)
    assert [finding.path for finding in told(BY_MODE, settings)] == ["net.py"]
    assert (
        told(BY_MODE | {"train.py": BY_MODE["train.py"].replace("    main(options)\n", "    pass\n")}, settings) == []
    )


def test_a_private_method_is_reached_through_its_callers_alone() -> None:
    """``__epoch`` is none of the methods between underscores that Python calls: creating a trainer does not run it."""
    trainer = ENGINE.replace(
        "def train(self, ", "def train(self, *given):\n        self.__epoch(*given)\n\n    def __epoch(self, "
    )
    other = "from engine import Trainer\n\ntrainer = Trainer()\ntrainer.prepare()\n"
    project = opened(sources({"engine.py": trainer, "main.py": MAIN, "prepare.py": other}))
    assert [path for trace in traces(project) for path in starters(trace.place)] == ["main.py"]


def test_a_library_is_used_by_unknown_programs() -> None:
    library = {"lib/__init__.py": "", "lib/engine.py": ENGINE + "\n\ndef fit():\n    Trainer().train(1, [], 2)\n"}
    (program,) = found(library).programs
    assert (program.function, [step.row for step in program.steps]) == ("fit", [6])
    assert len(told(library)) == 1


def test_a_part_of_a_project_says_nothing_about_who_calls_it() -> None:
    settings = Settings(select=READS, min_impact=ImpactLevel.LOW)
    files = {"engine.py": ENGINE, "val.py": "from engine import Trainer\n\nprint(Trainer().evaluate())\n"}
    assert len(engine.check(sources(files), settings)) == 1


def test_a_loop_that_optimizes_an_input_is_an_exercise() -> None:
    files = {"attack.py": f"{ATTACK}\n\nattack(None, [1.0])\n"}
    (program,) = found(files).programs
    (finding,) = told(files)
    assert program.purpose is ProgramPurpose.EXERCISE
    assert (finding.confidence, finding.message.endswith(OPTIMIZES_AN_INPUT)) == (Confidence.LOW, True)


@pytest.mark.parametrize("given", ["parameters=model.parameters()", "parameters=[*model.parameters(), delta]"])
def test_a_loop_that_trains_a_model_is_none(given: str) -> None:
    files = {"attack.py": f"{ATTACK}\n\nattack(None, [1.0])\n".replace("parameters=[delta]", given)}
    (finding,) = told(files)
    assert (finding.confidence > Confidence.LOW, found(files).programs[0].purpose) == (True, ProgramPurpose.TRAINS)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("delta = delta - 0.1 * delta.grad.sign()", True),
        ("step = delta.gradient()\ndelta = delta + step", True),
        ("for p in model.parameters():\n    p.set_value(p - 0.1 * p.grad)", False),
        ("total = loss", False),
    ],
)
def test_a_loop_without_an_optimizer_that_follows_a_gradient(body: str, expected: bool) -> None:
    steps = "        optimizer.step()\n        optimizer.clear_grad()\n"
    project = opened(sources(ATTACK.replace(steps, indent(f"{body}\n", " " * 8))))
    (file,) = project.files.values()
    (scope,) = file.scopes.module.functions.values()
    (loop,) = (each.node for each in scope.statements if isinstance(each.node, ast.For) and each.place is None)
    assert optimizes_an_input(Place(file, scope), loop) is expected


def test_code_that_only_tests_reach() -> None:
    case = "import unittest\nfrom engine import Trainer\n\n\nclass Case(unittest.TestCase):\n    def test_it(self):\n"
    files = {
        "engine.py": ENGINE,
        "checks.py": f"{case}        Trainer().train(None, [], None)\n",
        "val.py": "import engine\n\nprint(engine.Trainer())\n",
    }
    (finding,) = told(files)
    assert (finding.confidence, finding.message.endswith(ONLY_TESTS)) == (Confidence.LOW, True)


def test_syntax_errors_of_tests_are_not_reported() -> None:
    files = {"tests/test_a.py": "f(x=[1, y=2])\n", "a.py": "f(x=[1, y=2])\n"}
    found = engine.check(sources(files), Settings(select=("PPF001",)))
    assert [finding.path for finding in found] == ["a.py"]


# -- lines that start programs -----------------------------------------------------------------------------------------


def written(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
    return root


@pytest.mark.parametrize(
    ("line", "target", "settings"),
    [
        ("python tools/train.py", "tools/train.py", ()),
        ("CUDA_VISIBLE_DEVICES=0 python3 -u train.py --epochs 3 | tee log.py", "train.py", ()),
        ("python -m paddle.distributed.launch --gpus 0,1 train.py -c configs/a.yml", "train.py", ("configs/a.yml",)),
        ("$PYTHON train.py --config=a.yaml && python val.py", "train.py", ("a.yaml",)),
        ("fleetrun train.py", "train.py", ()),
    ],
)
def test_a_line_that_starts_a_script(tmp_path: Path, line: str, target: str, settings: tuple[str, ...]) -> None:
    found = launch_lines(written(tmp_path, {"run.sh": f"# train\n{line}\n"}))
    assert found == [LaunchLine("run.sh", 2, Started.SCRIPT, target, "", settings)]


@pytest.mark.parametrize(
    "line", ["python -c 'import train'", "pip install python train", "echo train.py", "python --version"]
)
def test_a_line_that_starts_nothing(tmp_path: Path, line: str) -> None:
    assert launch_lines(written(tmp_path, {"run.sh": f"{line}\n"})) == []


def test_lines_in_other_files(tmp_path: Path) -> None:
    notebook = {
        "cells": [{"cell_type": "markdown", "source": "x"}, {"cell_type": "code", "source": ["!python a.py\n"]}]
    }
    written(
        tmp_path,
        {
            "README.md": "```\npython tools/a.py \\\n    -c b.yml\n```\n",
            "tools/Makefile": "all:\n\tpython -m tools.a\n",
            ".github/workflows/ci.yml": "run: python tools/a.py\n",
            "configs/no.yml": "run: python tools/a.py\n",
            "pyproject.toml": '[project.scripts]\ntrain-it = "tools.a:main"\n',
            "tools/try.ipynb": json.dumps(notebook),
            "tools/a.py": "",
        },
    )
    found = lines_by_file(tmp_path, [str(tmp_path / "tools" / "a.py")])[str(tmp_path / "tools" / "a.py")]
    assert {(line.path, line.row, line.started.value, line.function) for line in found} == {
        ("README.md", 2, "script", ""),
        ("pyproject.toml", 2, "console script", "main"),
        ("tools/Makefile", 2, "module", ""),
        ("tools/try.ipynb", 1, "script", ""),
        (".github/workflows/ci.yml", 1, "script", ""),
    }


def test_functions_that_a_notebook_calls(tmp_path: Path) -> None:
    cell = {"cell_type": "code", "source": "from engine import Trainer\nTrainer().train(m, l, o)"}
    files = {"engine.py": ENGINE, "val.py": "from engine import Trainer\n\nprint(Trainer().evaluate())\n"}
    written(tmp_path, {**files, "try.ipynb": json.dumps({"cells": [cell]})})
    settings = Settings(select=READS, min_impact=ImpactLevel.LOW, min_confidence=Confidence.LOW)
    paths = {str(tmp_path / name): text for name, text in files.items()}
    assert told(paths, settings) == []
    assert len(told(paths, replace(settings, inputs=read_inputs(paths, tmp_path)))) == 1


def test_a_report_names_the_notebook_that_starts_a_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = {"cell_type": "code", "source": "from engine import Trainer\nTrainer().train(m, l, o)"}
    written(tmp_path, {"engine.py": ENGINE, "try.ipynb": json.dumps({"cells": [cell]}), "perflint.toml": ""})
    monkeypatch.chdir(tmp_path)
    main(["check"])
    assert capsys.readouterr().out.startswith("engine.py:6, started by try.ipynb: ")


# -- the command -------------------------------------------------------------------------------------------------------


def test_programs_with_their_steps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"engine.py": ENGINE, "train.py": MAIN, "run.sh": "python train.py -c configs/b.yml\n", "README": ""}
    again = "from engine import Trainer\n\nTrainer().train(None, [], None)\n"
    monkeypatch.chdir(written(tmp_path, {**files, "again.py": again}))
    assert main(["step", "--isolated"]) == 0
    first, *rest = capsys.readouterr().out.split("\n== ")
    assert first.splitlines()[:2] == ["== again.py (script, row 3), trains", "engine.py, Trainer.train"]
    assert rest == [
        "train.py (started by run.sh:1), trains; reads configs/a.yml, configs/b.yml by default\n"
        "engine.py:6, Trainer.train: as above\n"
    ]
    assert main(["step", "--isolated", "train.py"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "engine.py, Trainer.train"
    assert main(["step", "--isolated", "--output-format", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [(each["path"], each["purpose"], len(each["steps"])) for each in said["programs"]] == [
        ("again.py", "trains", 1),
        ("train.py", "trains", 1),
    ]
    assert said["programs"][1]["started_by"] == [{"path": "run.sh", "row": 1, "as": "script"}]
    assert said["programs"][1]["steps"][0]["as_above"] is True


def test_steps_that_no_program_reaches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    val = "from engine import Trainer\n\nprint(Trainer().evaluate())\n"
    monkeypatch.chdir(written(tmp_path, {"engine.py": ENGINE, "val.py": val, "README": ""}))
    assert main(["step", "--isolated"]) == 0
    assert capsys.readouterr().err == "No program reaches 1 more step: perflint step --unreached lists them.\n"
    assert main(["step", "--isolated", "--unreached"]) == 0
    assert capsys.readouterr().out == "engine.py:6, Trainer.train: nothing calls Trainer.train\n"


# What looks like a way to a step, or like training, and is none.

LOSS = """\
import paddle


class Loss(paddle.nn.Layer):
    def forward(self, x):
        return x[x > 0].mean()
"""
LOOP = """\
import paddle


def train(model, loader, optimizer):
    for x in loader:
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        print(loss.item())
"""
PREDICTS = (
    "import paddle\nfrom {imported}\n\nnet = paddle.nn.Linear(1, 1)\nnet.{call}\nprint(Loss()(paddle.rand([4])))\n"
)


def waits(files: Mapping[str, str]) -> list[tuple[str, str]]:
    """The waits in forward passes and steps that are not in doubt, by path."""
    chosen = Settings(select=("PPF201", "PPF202", "PPF207"), min_impact=ImpactLevel.LOW)
    return [(each.path, each.code) for each in told(files, replace(chosen, min_confidence=Confidence.MEDIUM))]


@pytest.mark.parametrize(
    ("call", "expected"),
    [("train()", 0), ("eval()", 0), ("train(True)", 0), ("train(net, [], None)", 1)],
)
def test_a_call_of_other_arguments_is_no_way_to_a_function(call: str, expected: int) -> None:
    program = f"import tools\n\nnet = tools.made()\nnet.{call}\n"
    made = "\n\ndef made():\n    return globals()\n"
    assert len(waits({"tools.py": LOOP + made.replace("globals()", "1"), "predict.py": program})) == expected


def test_the_function_of_a_project_named_eval_looks_nothing_up() -> None:
    tools = LOOP + "\n\ndef eval(model, loader):\n    return [model(x) for x in loader]\n"
    program = "from tools import eval\n\nMODE = 'train'\nprint(eval(print, []))\n"
    assert not waits({"tools.py": tools, "predict.py": program})
    assert waits({"tools.py": LOOP, "start.py": "import tools\n\nMODE = 'train'\nprint(getattr(tools, MODE))\n"})


@pytest.mark.parametrize(
    ("setup", "expected"),
    [
        ("from sklearn.preprocessing import LabelEncoder\nmodel = LabelEncoder()", 0),
        ("model = paddle.Model(Loss())", 1),
        ("from engines import build\nmodel = build()", 1),
    ],
)
def test_what_other_packages_fit_is_no_training(setup: str, expected: int) -> None:
    program = f"import paddle\nfrom net import Loss\n{setup}\nmodel.fit([1])\nprint(Loss()(paddle.rand([4])))\n"
    assert len(waits({"net.py": LOSS, "use.py": program})) == expected


def test_a_layer_that_only_programs_without_training_use() -> None:
    train = "from net import Other\nfrom loop import train\n\ntrain(Other(), [], None)\n"
    other = LOSS.replace("class Loss", "class Other")
    files = {"net.py": LOSS + other.partition("import paddle")[2], "loop.py": LOOP, "train.py": train}
    files["show.py"] = "import paddle\nfrom net import Loss\n\nprint(Loss()(paddle.rand([4])))\n"
    found_at = [path for path, code in waits(files) if code == "PPF207"]
    assert found_at == ["net.py"]
    files["train.py"] = train.replace("Other", "Loss")
    assert [path for path, code in waits(files) if code == "PPF207"] == ["net.py"]


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("from utils.seeds import seed\nfrom loop import train", 0),
        ("import sys\nsys.path.insert(0, '../common')\nfrom utils.seeds import seed\nfrom loop import train", 1),
        ("from utils import seed\nfrom loop import train", 1),
        ("from others.seeds import seed\nfrom loop import train", 1),
    ],
)
def test_an_import_from_below_a_file_fails(start: str, expected: int) -> None:
    program = f"{start}\n\nseed(1)\ntrain(print, [], None)\n"
    files = {"loop.py": LOOP, "utils.py": "def seed(number):\n    return number\n", "train.py": program}
    assert len(waits(files)) == expected
    assert waits({**files, "utils/__init__.py": "", "utils/seeds.py": "def seed(number): ...\n"})


def test_a_module_of_a_package_may_have_the_name_of_another_package() -> None:
    tools = "from paddle.nn import Linear\nfrom paddle.io import DataLoader\n\n" + LOOP
    files = {"d2l/__init__.py": "", "d2l/paddle.py": tools, "d2l/torch.py": "import torch\n"}
    assert waits({**files, "run.py": "from d2l.paddle import train\n\ntrain(print, [], None)\n"})


SETTINGS = "import importlib\n\n\ndef load({name}):\n    return importlib.import_module({value})\n"


@pytest.mark.parametrize(
    ("value", "is_named"),
    [("name", True), ("__name__", False), ("kind.__module__", False), ("START + name", False)],
)
def test_what_settings_may_name(value: str, is_named: bool) -> None:
    asking = 'START = "tables."\n' + SETTINGS.format(name="name, kind", value=value)
    files = {"app/run.py": "import build\n\nbuild.load('a', int)\n", "app/build.py": asking, "app/net.py": LOSS}
    files |= {"other/net.py": LOSS}
    project = opened(sources(files))
    imports = Imports.of(project)
    assert imports.by_settings(project.files["app/net.py"]) is is_named
    assert not imports.by_settings(project.files["other/net.py"])


NARROW = """\
import paddle


class Narrow(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.parts = paddle.nn.Sequential(paddle.nn.Linear(512, 300), paddle.nn.Linear(300, 512))

    def forward(self, x):
        return self.parts(x)
"""


@pytest.mark.parametrize(
    ("then", "expected"), [("train(Narrow(), [], None)", 2), ("print(Narrow()(paddle.rand([8, 512])))", 0)]
)
def test_the_width_of_a_layer_matters_where_something_trains(then: str, expected: int) -> None:
    step = LOOP.replace(
        "        loss = model(x).mean()\n", "        with paddle.amp.auto_cast():\n            loss = model(x).mean()\n"
    )
    program = f"import paddle\nfrom loop import train\nfrom net import Narrow\n\n{then}\n"
    settings = Settings(select=("PPF306",), min_impact=ImpactLevel.LOW, min_confidence=Confidence.MEDIUM)
    assert len(told({"net.py": NARROW, "loop.py": step, "use.py": program}, settings)) == expected


@pytest.mark.parametrize(("given", "expected"), [("methods", 1), ("net", 0)])
def test_a_function_that_a_program_looks_up_in_its_package(given: str, expected: int) -> None:
    program = f"import methods\n\nnet = methods.__doc__\nprint(getattr({given}, 'tra' + 'in')(print, [], None))\n"
    files = {"methods/__init__.py": "from methods.plain import train\n", "methods/plain.py": LOOP, "use.py": program}
    assert len(waits(files)) == expected


def test_a_backup_beside_a_program_is_in_doubt() -> None:
    program = LOOP + "\n\ntrain(print, [], None)\n"
    assert [path for path, _ in waits({"run.py": program, "run_bak.py": program})] == ["run.py"]
    assert [path for path, _ in waits({"run_bak.py": program})] == ["run_bak.py"]


def test_a_module_that_does_not_parse_and_that_nothing_imports() -> None:
    files = {"app/net.py": LOSS, "app/run.py": "from net import Loss\n\nprint(Loss())\n", "app/old.py": "def f(:\n"}
    assert not told(files, Settings(select=("PPF001",)))
    assert told({**files, "app/run.py": files["app/run.py"] + "import old\n"}, Settings(select=("PPF001",)))
    assert told({**files, "app/old.py": "def f(:\nif __name__ == '__main__':\n"}, Settings(select=("PPF001",)))


def test_a_file_beside_another_does_not_hide_a_module_of_python() -> None:
    files = {"net/typing.py": "Named = dict\n", "net/loop.py": "from typing import Any, Optional\n\n" + LOOP}
    files["run.py"] = "from net.loop import train\n\ntrain(print, [], None)\n"
    assert waits(files)
    lacking = files["net/loop.py"].replace("from typing", "from .typing")
    assert not waits({**files, "net/__init__.py": "", "net/loop.py": lacking})
