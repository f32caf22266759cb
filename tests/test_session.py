"""A session: what it says of an edited file against a check of everything from the start, over random edits."""

from __future__ import annotations

import gc
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from perflint import catalogue
from perflint.configuration.settings import Settings
from perflint.findings import Finding
from perflint.index.project import FileIndex
from perflint.run import engine
from perflint.run.session import Session
from perflint.syntax.scopes import Class, Scope
from perflint.text.source import Source
from tests.seeds import some
from tests.support import sources

SETTINGS = Settings(join_lines=False, select=("ALL",))
FILES = {
    "pkg/__init__.py": "",
    "pkg/model.py": """\
import paddle
import paddle.nn as nn
from pkg.utils import log_loss, Meter


class Base(nn.Layer):
    def forward(self, x):
        y = self.body(x)
        if y.sum() > 0:
            y = y + 1
        return self.head(y)

    def body(self, x):
        return x


class Net(Base):
    def __init__(self, width=100):
        super().__init__()
        self.fc = nn.Linear(16, width)
        self.out = nn.Linear(width, 10)

    def body(self, x):
        print(x.numpy())
        return self.fc(x)

    def head(self, x):
        return self.out(x)
""",
    "pkg/utils.py": """\
import paddle
import numpy as np


def log_loss(loss, step=0):
    print("loss", float(loss))
    return loss.item()


def helper(value):
    return value.numpy()


class Meter:
    def __init__(self):
        self.total = 0
        self.count = 0

    def update(self, value):
        self.total += value.item()
        self.count += 1

    def value(self):
        return self.total / self.count


def save(model, path):
    paddle.save(model.state_dict(), path)
""",
    "pkg/trainer.py": """\
import paddle
import paddle.nn.functional as F
from paddle.io import DataLoader
from pkg.utils import *
from pkg import utils
from pkg.registry import build, REGISTRY


class BaseTrainer:
    def __init__(self, model, optimizer, verbose=False, callbacks=None):
        self.model = model
        self.optimizer = optimizer
        self.verbose = verbose
        self.meter = Meter()
        self.callbacks = callbacks or []
        self.scaler = paddle.amp.GradScaler()

    def train(self, loader, epochs):
        for epoch in range(epochs):
            for step, batch in enumerate(loader):
                loss = self.train_step(batch)
                self.meter.update(loss)
                if step % 10 == 0:
                    print(loss.item())
                self.after(loss)
            utils.save(self.model, "last")

    def train_step(self, batch):
        x, y = batch
        with paddle.amp.auto_cast():
            out = self.model(x)
            loss = F.cross_entropy(out, y)
        loss.backward()
        self.optimizer.step()
        self.optimizer.clear_grad()
        return loss

    def after(self, loss):
        pass

    def evaluate(self, loader):
        self.model.eval()
        total = 0
        for x, y in loader:
            out = self.model(x)
            total += float(F.cross_entropy(out, y))
        return total


class LoudTrainer(BaseTrainer):
    def after(self, loss):
        if self.verbose:
            log_loss(loss)
        print(float(loss))
        helper(loss)
""",
    "pkg/registry.py": """\
REGISTRY = {}


def register(name):
    def wrap(cls):
        REGISTRY[name] = cls
        return cls
    return wrap


def build(name, *args):
    return REGISTRY[name](*args)
""",
    "train.py": """\
import paddle
import paddle.nn.functional as F
from paddle.io import DataLoader
from pkg.model import Net
from pkg.trainer import LoudTrainer, BaseTrainer
from pkg.utils import Meter, log_loss


def run(step_function, loader, hook=None):
    for batch in loader:
        loss = step_function(batch)
        if hook is not None:
            hook(loss)
        loss.item()


def main():
    paddle.distributed.init_parallel_env()
    net = paddle.DataParallel(Net(100))
    optimizer = paddle.optimizer.Adam(parameters=net.parameters())
    loader = DataLoader([], batch_size=2, num_workers=0)
    trainer = LoudTrainer(net, optimizer)
    trainer.train(loader, 3)
    meter = Meter()

    def step(batch):
        loss = net(batch).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        meter.update(loss)
        return loss

    run(step, loader, log_loss)
    for x, y in loader:
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        log_loss(loss)
        print(loss.numpy())
        if paddle.max(loss) > 1:
            break
    paddle.save(net.state_dict(), "net")


if __name__ == "__main__":
    main()
""",
}
STATEMENTS = (
    "x = 1",
    "loss.item()",
    "print(float(loss))",
    "self.meter.update(loss)",
    "log_loss(loss)",
    "return",
    "pass",
    "# note",
    "for batch in loader:",
    "if step % 10 == 0:",
    "helper(loss)",
    "loss.backward()",
    "optimizer.step()",
    "from pkg.utils import Meter",
    '"""',
    "self.verbose = True",
    "def after(self, loss):",
    "class Extra(Net):",
    '@register("net")',
    'paddle.save(net, "x")',
    "with paddle.no_grad():",
    "global x",
    "model.eval()",
    "y = x.numpy()",
    'paddle.set_device("cpu")',
)
NAMES = ("other", "update", "train_step", "Net", "forward", "helper")
_READS_ELSEWHERE = re.compile(r" \(\d+ more waits? in the same step: [^)]*\)")


def found_in(files: dict[str, Source], path: str) -> list[Finding]:
    """What a check of everything says of one file."""
    return [finding for finding in engine.check(files, SETTINGS) if finding.path == path]


def without_counts(findings: list[Finding]) -> list[Finding]:
    """Findings without how many other host reads their loop has: those in other files may be of the last full check."""
    return [replace(finding, message=_READS_ELSEWHERE.sub("", finding.message)) for finding in findings]


def edited(text: str, chance: random.Random) -> str:
    """The text after one random edit, which parses most of the time."""
    new = text
    for _ in range(20):
        new = _edited(text, chance)
        if _parses(new) or chance.random() < 0.08:
            break
    return new


def _edited(text: str, chance: random.Random) -> str:
    lines = text.splitlines(keepends=True) or [""]
    row = chance.randrange(len(lines))
    indent = lines[row][: len(lines[row]) - len(lines[row].lstrip())].rstrip("\r\n")
    kind = chance.choice(
        ("insert",) * 4 + ("delete", "delete", "repeat", "cut", "move", "rename", "indent", "number", "other")
    )
    if kind == "insert":
        lines.insert(row + chance.randrange(2), f"{indent}{chance.choice(STATEMENTS)}\n")
    elif kind == "delete":
        del lines[row]
    elif kind == "repeat":
        lines.insert(row, lines[row])
    elif kind == "cut":
        del lines[row : row + chance.randrange(1, 8)]
    elif kind == "move":
        lines.insert(chance.randrange(len(lines)), lines.pop(row))
    elif kind == "rename":
        name = chance.choice(re.findall(r"(?:def|class) (\w+)", text) or ["x"])
        return re.sub(rf"\b{name}\b", chance.choice(NAMES), text, count=chance.choice((0, 1)))
    elif kind == "indent":
        lines[row] = lines[row][4:] if lines[row].startswith("    ") else "    " + lines[row]
    elif kind == "number":
        return re.sub(r"\d+", lambda _: str(chance.choice((0, 1, 10, 64, 100))), text)
    else:
        return chance.choice(("", text.replace("\n", "\r\n"), text.replace("(", "((", 1)))
    return "".join(lines)


def _parses(text: str) -> bool:
    try:
        compile(text, "text", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


def random_edits(files: dict[str, Source], chance: random.Random) -> Iterator[str]:
    """Edits the files, one at a time; their paths."""
    path = chance.choice(list(FILES))
    for _ in range(25):
        if chance.random() < 0.2:
            path = chance.choice(list(FILES))
        text = files[path].text
        if len(text) < 100 or chance.random() < 0.15:
            text = FILES[path]  # mend what the edits have broken
        files[path] = Source(path, edited(text, chance))
        yield path


@pytest.mark.parametrize("seed", some(range(8), always=4))
def test_an_edit_says_what_a_full_check_says(seed: int) -> None:
    chance = random.Random(seed)
    files = {path: Source(path, text) for path, text in FILES.items()}
    session = Session(files, SETTINGS)
    for path in random_edits(files, chance):
        assert without_counts(session.edit(path, files[path].text)) == without_counts(found_in(files, path))
        if chance.random() < 0.1:
            assert session.settle() == engine.check(files, SETTINGS)
    assert session.settle() == engine.check(files, SETTINGS)


@pytest.mark.parametrize("seed", some(range(8), always=4))
def test_after_catching_up_all_findings_are_those_of_a_full_check(seed: int) -> None:
    chance = random.Random(seed)
    files = {path: Source(path, text) for path, text in FILES.items()}
    session = Session(files, SETTINGS, [path for path in FILES if chance.random() < 0.5])
    for path in random_edits(files, chance):
        session.edit(path, files[path].text)
        if chance.random() < 0.75:
            session.catch_up()
            assert session.findings() == engine.check(files, SETTINGS)


def test_a_new_session_says_what_a_check_says() -> None:
    files = {path: Source(path, text) for path, text in FILES.items()}
    assert Session(files, SETTINGS).findings() == engine.check(files, SETTINGS)


@pytest.mark.parametrize("code", catalogue.shipped())
def test_a_session_for_one_rule_alone(code: str) -> None:
    settings = Settings(join_lines=False, select=(code,))
    files = {path: Source(path, text) for path, text in FILES.items()}
    session = Session(files, settings, ["train.py"])
    assert session.findings() == engine.check(files, settings)
    files["train.py"] = Source("train.py", FILES["train.py"].replace("log_loss(loss)", "loss.item()"))
    session.edit("train.py", files["train.py"].text)
    session.catch_up()
    assert session.findings() == engine.check(files, settings)


def test_other_files_are_checked_with_the_trees_of_those_that_stay() -> None:
    files = {path: Source(path, text) for path, text in FILES.items()}
    session = Session(files, SETTINGS, ["train.py"])
    files["pkg/added.py"] = Source("pkg/added.py", FILES["pkg/utils.py"])
    del files["pkg/registry.py"]
    session.update(files, ["pkg/trainer.py"])
    assert session.findings() == engine.check(files, SETTINGS)
    for path in ("train.py", "pkg/trainer.py"):
        files[path] = Source(path, FILES[path].replace("loss.backward()", "loss.item()"))
        session.edit(path, files[path].text)
    assert "pkg/__init__.py" not in session.catch_up()  # which everything would be, had they not been expected
    assert session.findings() == engine.check(files, SETTINGS)


def test_findings_are_those_of_the_last_edit() -> None:
    session = Session(sources({"a.py": "import paddle\n", "b.py": "import paddle\n"}), SETTINGS)
    session.edit("a.py", "def broken(:\n")
    assert [(finding.path, finding.code) for finding in session.findings()] == [("a.py", "PPF001")]
    session.edit("a.py", "import paddle\n")
    assert session.findings() == []


def caught_up(edits: dict[str, str], texts: dict[str, str] = FILES) -> list[str]:
    """The files that are checked again after edits of files that were going to be edited, all findings being right."""
    files = {path: Source(path, text) for path, text in texts.items()}
    session = Session(files, SETTINGS, edits)
    for path, text in edits.items():
        session.edit(path, text)
        files[path] = Source(path, text)
    found = session.catch_up()
    assert session.findings() == engine.check(files, SETTINGS)
    assert session.catch_up() == []
    return found


def test_another_file_is_found_by_catching_up() -> None:
    """What an edit changes in other files is not said before."""
    files = {path: Source(path, text) for path, text in FILES.items()}
    session = Session(files, SETTINGS)
    before = [finding for finding in session.findings() if finding.path == "pkg/utils.py"]
    quiet = FILES["pkg/trainer.py"].replace("self.meter.update(loss)", "pass")
    session.edit("pkg/trainer.py", quiet)
    assert [finding for finding in session.findings() if finding.path == "pkg/utils.py"] == before
    files["pkg/trainer.py"] = Source("pkg/trainer.py", quiet)
    assert session.catch_up() == [path for path in FILES if path != "pkg/trainer.py"]  # nobody has announced the edit
    assert session.findings() == engine.check(files, SETTINGS)
    assert session.settle() == engine.check(files, SETTINGS)


def test_a_change_in_a_helper_checks_its_callers_again_and_nothing_else() -> None:
    before = FILES["pkg/utils.py"]
    for old, new, callers in (
        ('print("loss", float(loss))\n    return loss.item()', "return loss", ["pkg/trainer.py", "train.py"]),
        # The advice about the reads that are left asks what the callers do with the values, so they are told again.
        ("self.total += value.item()", "self.total += 1", ["pkg/utils.py", "pkg/trainer.py", "train.py"]),
    ):
        assert caught_up({"pkg/utils.py": before.replace(old, new)}) == callers


def test_an_edit_that_concerns_nobody_else_checks_nothing_again() -> None:
    for path, old, new in (
        ("pkg/utils.py", "paddle.save(model", "paddle.save(1, model"),
        ("pkg/registry.py", "REGISTRY = {}", "REGISTRY = {}\nOTHER = 1"),
        ("pkg/trainer.py", "self.model.eval()", "self.model.eval()  # note"),
    ):
        assert caught_up({path: FILES[path].replace(old, new)}) == []


def test_rows_of_other_files_move_in_messages() -> None:
    """The way from a step loop, the place of a read and the host reads beside one are told by row."""
    for path in FILES:
        for text in (f"# note\n{FILES[path]}", FILES[path].replace("\n\n\n", "\n"), f"{FILES[path]}\n# note\n"):
            caught_up({path: text})


def test_several_edits_before_catching_up() -> None:
    model, utils = FILES["pkg/model.py"], FILES["pkg/utils.py"]
    caught_up(
        {
            "pkg/utils.py": utils.replace("return loss.item()", "return loss"),
            "train.py": f"# note\n{FILES['train.py']}",
            "pkg/model.py": model.replace("if y.sum() > 0:", "if y.sum() > 1:"),
        }
    )


def test_a_function_by_a_name_that_is_there_already() -> None:
    caught_up({"pkg/utils.py": FILES["pkg/utils.py"].replace("def log_loss", "def helper")})


def test_a_class_that_goes_and_comes_back() -> None:
    files = {path: Source(path, text) for path, text in FILES.items()}
    session, path = Session(files, SETTINGS, ["pkg/utils.py"]), "pkg/utils.py"
    for text in (FILES[path].replace("class Meter", "class Other"), FILES[path]):
        session.edit(path, text)
        session.catch_up()
        files[path] = Source(path, text)
        assert session.findings() == engine.check(files, SETTINGS)


def test_a_file_that_does_not_parse_beside_the_edited_one() -> None:
    texts = {**FILES, "pkg/broken.py": "def broken(:\n\n\nif __name__ == '__main__':\n    broken()\n"}
    caught_up({"pkg/utils.py": FILES["pkg/utils.py"] + "\n# note\n"}, texts)
    files = {path: Source(path, text) for path, text in texts.items()}
    session = Session(files, SETTINGS)
    assert "PPF001" in {finding.code for finding in session.settle()}


def test_everything_is_checked_while_an_edited_file_does_not_parse() -> None:
    assert caught_up({"pkg/utils.py": "def broken(:\n"}) == list(FILES)
    files = {path: Source(path, text) for path, text in FILES.items()}
    session, path = Session(files, SETTINGS, ["pkg/utils.py"]), "pkg/utils.py"
    session.edit(path, "def broken(:\n")
    session.catch_up()
    session.edit(path, FILES[path])
    assert session.catch_up() == []
    assert session.findings() == engine.check(files, SETTINGS)


def test_an_edit_may_decide_which_files_are_one_project(tmp_path: Path) -> None:
    texts = {str(tmp_path / name): text for name, text in FILES.items()}
    other = str(tmp_path / "other" / "loop.py")
    texts[other] = FILES["train.py"].replace("from pkg", "from another")
    files = {path: Source(path, text) for path, text in texts.items()}
    session = Session(files, SETTINGS, [other])
    files[other] = Source(other, FILES["train.py"])
    session.edit(other, FILES["train.py"])
    assert session.catch_up() == list(texts)
    assert session.findings() == engine.check(files, SETTINGS)


def test_a_file_that_is_new_leads_to_a_full_check() -> None:
    session = Session(sources({"a.py": "import paddle\n"}), SETTINGS)
    assert [finding.code for finding in session.edit("b.py", "def broken(:\n")] == ["PPF001"]


def test_edits_leave_nothing_behind() -> None:
    """The files, functions and classes of old texts are let go of."""
    files = {path: Source(path, text) for path, text in FILES.items()}
    session, path = Session(files, SETTINGS), "pkg/trainer.py"
    text = FILES[path]
    session.edit(path, text)
    counts: list[int] = []
    for number in range(50):
        inside = text.replace("loss.backward()", f"loss.backward()\n        value = {number}\n        loss.item()")
        session.edit(path, inside if number % 2 else f"def f{number}():\n    return {number}\n\n\n" + text)
        if number % 10 == 9:
            gc.collect()
            counts.append(sum(isinstance(item, (FileIndex, Scope, Class)) for item in gc.get_objects()))
    assert counts[-1] <= counts[0]
