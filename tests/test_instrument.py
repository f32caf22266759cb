"""Ranges around the parts of training steps: where they go, that they change nothing, and that they come out again."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import pytest

from perflint.cli import main
from perflint.findings import Edit
from perflint.fix.fixer import spliced
from perflint.flow.resolving import opened
from perflint.ranges import inserting
from perflint.ranges.inserting import CannotPlace, CannotRemove, Instrumented, Recording, instrumented, removal
from perflint.text.source import Source
from tests.programs.frameworks import StandIn
from tests.programs.generator import program
from tests.programs.runner import run

HEAD = "import paddle\n\n\n"


def ranged(text: str, **others: str) -> Instrumented:
    """What is made of ``train.py`` in a project with other files."""
    sources = {"train.py": Source("train.py", text)}
    sources |= {f"{name}.py": Source(f"{name}.py", dedent(other)) for name, other in others.items()}
    return instrumented(opened(sources).files["train.py"], Recording())


def short(text: str) -> str:
    """A text with ranges, its object's code left out, and each of its calls as ``[name]``."""
    head, _, rest = text.partition(inserting.BEGIN)
    code = head + rest.partition(inserting.END + "\n")[2] if rest else text
    rows = []
    for row in code.splitlines():
        if inserting.NAME in row:
            call = row.strip().removesuffix(inserting.MARK).strip()
            what = "step" if call.endswith(".step()") else call[len(inserting.NAME) :].strip('()"')
            row = row[: len(row) - len(row.lstrip())] + f"[{what}]"
        rows.append(row)
    return "\n".join(rows) + "\n"


def placed(text: str, **others: str) -> str:
    return short(ranged(HEAD + dedent(text), **others).text).removeprefix(HEAD)


def test_a_loop_over_a_loader() -> None:
    got = placed(
        """\
        def train(model, loader, opt, loss_fn):
            for x, y in loader:
                x = x.astype("float32")
                out = model(x)
                loss = loss_fn(out, y)
                opt.clear_grad()
                # go backward
                loss.backward()
                opt.step()
                if loss > 9:
                    continue
                print(loss)
            return loss
        """
    )
    assert got == dedent(
        """\
        def train(model, loader, opt, loss_fn):
            [reader]
            for x, y in loader:
                [step]
                x = x.astype("float32")
                [forward]
                out = model(x)
                loss = loss_fn(out, y)
                [optimizer]
                opt.clear_grad()
                [backward]
                # go backward
                loss.backward()
                [optimizer]
                opt.step()
                []
                if loss > 9:
                    [reader]
                    continue
                print(loss)
                [reader]
            []
            return loss
        """
    )


def test_branches_with_and_without_amp() -> None:
    got = placed(
        """\
        def train(model, loader, opt, scaler, amp):
            for i, x in enumerate(loader):
                if amp:
                    with paddle.amp.auto_cast():
                        loss = model(x)
                    scaled = scaler.scale(loss)
                    scaled.backward()
                    scaler.step(opt)
                    scaler.update()
                elif i:
                    loss = model(x)
                    loss.backward(); opt.step()
                log(loss)
        """
    )
    assert got == dedent(
        """\
        def train(model, loader, opt, scaler, amp):
            [reader]
            for i, x in enumerate(loader):
                [step]
                if amp:
                    [forward]
                    with paddle.amp.auto_cast():
                        loss = model(x)
                    scaled = scaler.scale(loss)
                    [backward]
                    scaled.backward()
                    [optimizer]
                    scaler.step(opt)
                    scaler.update()
                elif i:
                    [forward]
                    loss = model(x)
                    [backward and optimizer]
                    loss.backward(); opt.step()
                []
                log(loss)
                [reader]
            []
        """
    )


def test_a_loop_that_draws_with_next_and_accumulates() -> None:
    got = placed(
        """\
        def train(model, batches, opt, steps):
            for step in range(steps):
                for _ in range(2):
                    x = next(batches)
                    loss = model(x)
                    loss.backward()
                    print(loss)
                opt.step()
                opt.clear_grad()
        """
    )
    assert got == dedent(
        """\
        def train(model, batches, opt, steps):
            for step in range(steps):
                [step]
                for _ in range(2):
                    [reader]
                    x = next(batches)
                    [forward]
                    loss = model(x)
                    [backward]
                    loss.backward()
                    []
                    print(loss)
                [optimizer]
                opt.step()
                opt.clear_grad()
                []
            []
        """
    )


def test_a_step_in_a_method_of_the_same_file() -> None:
    got = placed(
        """\
        class Trainer:
            def fit(self, loader):
                for batch in loader:
                    loss = self.step(batch)
                    self.log(loss)

            def step(self, batch):
                loss = self.model(batch)
                if loss.isnan():
                    return None
                loss.backward()
                self.opt.step()
                self.opt.clear_grad()
                return loss
        """
    )
    assert got == dedent(
        """\
        class Trainer:
            def fit(self, loader):
                [reader]
                for batch in loader:
                    [step]
                    loss = self.step(batch)
                    self.log(loss)
                    [reader]
                []

            def step(self, batch):
                [forward]
                loss = self.model(batch)
                if loss.isnan():
                    []
                    return None
                [backward]
                loss.backward()
                [optimizer]
                self.opt.step()
                self.opt.clear_grad()
                []
                return loss
        """
    )


STEP_ELSEWHERE = """\
    def one_step(model, opt, x):
        loss = model(x)
        loss.backward()
        opt.step()
        opt.clear_grad()
    """
LOOP_HERE = """\
    from steps import one_step

    def train(model, opt, loader):
        for x in loader:
            one_step(model, opt, x)
    """


def test_a_step_in_another_file_is_one_range_and_is_named() -> None:
    found = ranged(HEAD + dedent(LOOP_HERE), steps=STEP_ELSEWHERE)
    assert found.ranges == ["reader", "one_step"]
    assert found.elsewhere == ["steps.py"]


def test_a_file_with_the_step_alone_starts_no_profiler() -> None:
    found = ranged(dedent(STEP_ELSEWHERE), steps=LOOP_HERE)
    assert (found.loops, found.functions, found.ranges) == ([], [1], ["forward", "backward", "optimizer"])
    assert "Profiler(" not in found.text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def mean(values):\n    return sum(values)\n", "no training step"),
        (
            "import paddle\nmodel = paddle.Model(Net())\nmodel.prepare()\nmodel.fit(data)\n",
            "line 4 trains with paddle.Model.fit",
        ),
        (
            "import paddle\nfor x in loader: (model(x).backward(), opt.step())\n",
            "line 2: the loop's body is on the row",
        ),
        (
            "import paddle\npaddle.enable_static()\nopt.minimize(loss)\n"
            "for x in loader:\n    exe.run(program, feed=x, fetch_list=[loss])\n",
            "static graph",
        ),
    ],
)
def test_what_holds_no_step(text: str, says: str) -> None:
    with pytest.raises(CannotPlace, match=says):
        ranged(text)


STEP = "import paddle\nfor x in loader:\n\tloss = model(x)\n\tloss.backward()\n\topt.step()\n\topt.clear_grad()"


@pytest.mark.parametrize(
    "text",
    [
        STEP,
        STEP + "\n",
        STEP.replace("\n", "\r\n"),
        STEP.replace("\n", "\r\n") + "\r\n",
        '"""Über\n# not a comment"""\n' + STEP + "\n\telse_ = 'é'\nelse:\n\tpass  # end",
        "import paddle\nif True:\n    "
        + STEP.partition("\n")[2].replace("\t", "    ").replace("\n", "\n    ")
        + "\nelse:\n    pass\n",
    ],
)
def test_the_file_comes_back_byte_for_byte(text: str) -> None:
    found = ranged(text)
    assert found.text.count(inserting.MARK) >= 7
    assert spliced(found.text, 0, len(found.text), removal(found.text)) == text


def test_rows_that_a_formatter_has_broken_are_taken_out_too() -> None:
    text = f'def f():\n    {inserting.NAME}(\n        "reader"\n    )  {inserting.MARK}\n    return 1\n'
    assert spliced(text, 0, len(text), removal(text)) == "def f():\n    return 1\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"x = {inserting.NAME}\n", "line 1 uses"),
        (f"x = 1; {inserting.NAME}()\n", "line 1 uses"),
        (f"{inserting.BEGIN}\nx = 1\n", "line 1 begins code"),
        ("def f(:\n", "does not parse"),
    ],
)
def test_what_cannot_be_taken_out(text: str, says: str) -> None:
    with pytest.raises(CannotRemove, match=says):
        removal(text)


class _Watched(StandIn):
    """The stand-in, with the range that is open at each backward pass; the object's code is replaced by a probe."""

    def __init__(self) -> None:
        self.open: str | None = None
        self.at_backward: list[str | None] = []
        self.steps = 0

    def __call__(self, name: str | None = None) -> None:
        self.open = name

    def step(self) -> None:
        self.open = None
        self.steps += 1

    @contextmanager
    def running(self, on_backward: Callable[[], None], saved: Callable[[str], None]) -> Iterator[Callable[[], int]]:
        def both() -> None:
            self.at_backward.append(self.open)
            on_backward()

        with super().running(both, saved) as waits:
            yield waits


def test_made_up_programs_do_what_they_did_and_go_backward_in_its_range(monkeypatch: pytest.MonkeyPatch) -> None:
    with_ranges = backwards = 0
    of_one_file = (made for made in map(program, itertools.count(1)) if len(made.sources) == 1)
    for seed, made in enumerate(itertools.islice(of_one_file, 25)):
        text = made.sources[0].text
        try:
            found = ranged(text)
        except CannotPlace:
            continue
        assert spliced(found.text, 0, len(found.text), removal(found.text)) == text, seed
        watched, probe = _Watched(), ModuleType("ranges_probe")
        probe.__dict__[inserting.NAME] = watched
        monkeypatch.setitem(sys.modules, "ranges_probe", probe)
        start = found.text.index(inserting.BEGIN)
        end = found.text.index(inserting.END) + len(inserting.END)
        probed = spliced(
            found.text, 0, len(found.text), [Edit(start, end, f"from ranges_probe import {inserting.NAME}")]
        )
        before, after = run(made, StandIn()), run(made.having({made.sources[0].path: probed}), watched)
        assert after == before, seed
        assert {name for name in watched.at_backward if name is None or "backward" not in name} == set(), seed
        backwards += len(watched.at_backward)
        with_ranges += 1
    assert with_ranges >= 18 and backwards > 100


SCRIPT = """\
import numpy as np
import paddle
from paddle.io import DataLoader, Dataset

paddle.seed(0)
np.random.seed(0)


class Numbers(Dataset):
    def __len__(self):
        return 60

    def __getitem__(self, index):
        return np.full(8, index / 60, "float32"), np.int64(index % 2)


model = paddle.nn.Linear(8, 2)
optimizer = paddle.optimizer.Adam(parameters=model.parameters())
loss_fn = paddle.nn.CrossEntropyLoss()
for x, y in DataLoader(Numbers(), batch_size=5, shuffle=True):
    loss = loss_fn(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    print("loss", loss.numpy().tobytes().hex())
"""


def _losses(directory: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "train.py"], cwd=directory, check=True, capture_output=True, text=True, timeout=300
    )
    return [line for line in done.stdout.splitlines() if line.startswith("loss")]


def test_the_script_trains_to_the_same_losses_and_the_trace_has_the_ranges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("paddle")
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    before = _losses(tmp_path)
    assert main(["instrument", "--write", "--skip", "3", "--steps", "2", "train.py"]) == 0
    assert "steps 4 to 5" in capsys.readouterr().err
    assert _losses(tmp_path) == before
    (trace,) = (tmp_path / inserting.TRACES).glob("*.json")
    events = json.loads(trace.read_text())["traceEvents"]
    own = Counter(each["name"].partition("[")[0] for each in events if each.get("cat") == "PythonUserDefined")
    assert own == dict.fromkeys(("reader", "forward", "backward", "optimizer"), 2)
    assert main(["instrument", "--remove", "--write", "train.py"]) == 0
    assert script.read_text() == SCRIPT


def test_nvtx_on_a_paddle_without_it_says_so_and_trains_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Without Paddle: what is asked of it is one module, and whether that has the functions.
    (tmp_path / "paddle.py").write_text("class framework:\n    class core:\n        pass\n")
    loop = "for x in loader:\n    loss = model(x)\n    loss.backward()\n    opt.step()\n    opt.clear_grad()\n"
    text = instrumented(
        opened({"t.py": Source("t.py", "import paddle\n" + loop)}).files["t.py"], Recording(nvtx=True)
    ).text
    stubs = "from unittest.mock import MagicMock\nmodel, opt, loader = MagicMock(), MagicMock(), [1, 2]\n"
    (tmp_path / "train.py").write_text(stubs + text)
    done = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "this Paddle has no NVTX" in done.stderr


def test_nvtx_ranges_are_opened_and_closed_in_turn(tmp_path: Path) -> None:
    calls = (
        "class framework:\n    class core:\n        log = []\n"
        "        nvprof_nvtx_push = log.append\n        nvprof_nvtx_pop = lambda log=log: log.append('pop')\n"
        "        nvprof_start = lambda log=log: log.append('start')\n"
        "        nvprof_stop = lambda log=log: log.append('stop')\n"
    )
    (tmp_path / "paddle.py").write_text(calls)
    loop = "for x in loader:\n    loss = model(x)\n    loss.backward()\n    opt.step()\n"
    text = (
        "import paddle\nfrom unittest.mock import MagicMock\nmodel, opt, loader = MagicMock(), MagicMock(), [1, 2]\n"
        + loop
    )
    found = instrumented(opened({"t.py": Source("t.py", text)}).files["t.py"], Recording(1, 1, nvtx=True))
    (tmp_path / "train.py").write_text(found.text + "print(*paddle.framework.core.log)\n")
    done = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    step = "forward pop backward pop optimizer pop reader pop"
    assert done.stdout.split() == f"reader pop {step} start {step}".split()


def test_the_command_shows_and_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "train.py"
    script.write_text(HEAD + STEP + "\n")
    assert main(["instrument", "train.py"]) == 0
    shown = capsys.readouterr()
    assert f'+\t{inserting.NAME}("forward")' in shown.out and "--write" in shown.err
    assert script.read_text() == HEAD + STEP + "\n"
    assert main(["instrument", "--remove", "train.py"]) == 2
    assert "no ranges of perflint" in capsys.readouterr().err
    assert main(["instrument", "--write", "train.py"]) == 0
    assert main(["instrument", "--write", "train.py"]) == 2
    assert "already" in capsys.readouterr().err
    assert main(["instrument", "missing.py"]) == 2


def test_the_command_knows_the_project_around_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "README.md").touch()
    (tmp_path / "tools" / "train.py").write_text("import paddle\n" + dedent(LOOP_HERE).replace("steps", "lib.steps"))
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "steps.py").write_text(HEAD + dedent(STEP_ELSEWHERE))
    monkeypatch.chdir(tmp_path)
    assert main(["instrument", "tools/train.py"]) == 0
    assert "Parts of the step are in lib/steps.py" in capsys.readouterr().err
    assert main(["instrument", "lib/steps.py"]) == 0
    assert "The loop that calls them is in another file" in capsys.readouterr().err
