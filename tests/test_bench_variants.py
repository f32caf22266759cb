"""Which states of a project ``perflint bench`` measures."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from perflint.bench.variants import Fixes, VariantFiles
from perflint.configuration.settings import Settings
from perflint.findings import Level
from perflint.run import engine
from perflint.text.source import Source

TWO = """\
import paddle
from paddle.io import DataLoader


def train(model, data, optimizer):
    total = 0.0
    seen = 0.0
    for x, y in DataLoader(data, batch_size=4):
        loss = paddle.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        total += loss.item()
        seen += loss.item()
    return total, seen
"""

APART = """\
def learn(model, data, optimizer):
    old = 0.0
    for x, y in DataLoader(data, batch_size=4):
        loss = paddle.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()

        # a loop of its own
        old += loss.item()
    return old


def train"""


BOTH = {Path("train.py"), Path("other.py")}


def fixes(root: Path, files: Collection[Path], level: Level = Level.SAFE, script: str = TWO) -> Fixes:
    texts = {"train.py": script, "other.py": TWO.replace("seen", "more")}
    sources = {str(root / name): Source(str(root / name), text) for name, text in texts.items()}
    return Fixes(sources, root, files, lambda current: engine.check(current, Settings(join_lines=False)), level)


def text(state: VariantFiles, name: str) -> str:
    return state.changed.get(Path(name), b"").decode()


def test_each_fix_alone(tmp_path: Path) -> None:
    mine = fixes(tmp_path.resolve(), {Path("train.py")}, script=TWO.replace("def train", APART))
    first, second = mine.each(mine.of_one_fix(mine.findings()))
    assert [first.name, second.name] == ["PPF201 train.py:14", "PPF201 train.py:26, train.py:27"]
    assert "old += loss.item()" not in text(first, "train.py")
    assert "seen += loss.item()" in text(first, "train.py")
    assert "old += loss.item()" in text(second, "train.py")
    assert "seen += loss.item()" not in text(second, "train.py")
    assert "total += loss.item()" not in text(second, "train.py")
    assert set(first.changed) == {Path("train.py")}


def test_all_fixes_in_the_files_that_run(tmp_path: Path) -> None:
    mine = fixes(tmp_path.resolve(), BOTH)
    whole = mine.together(mine.findings())
    assert whole.places == ["other.py:13", "other.py:14", "train.py:13", "train.py:14"]
    assert set(whole.changed) == BOTH
    assert "loss.item()" not in text(whole, "train.py") + text(whole, "other.py")


def test_fixes_in_other_files_are_counted(tmp_path: Path) -> None:
    mine = fixes(tmp_path.resolve(), {Path("train.py")})
    assert len(mine.findings()) == 2
    assert mine.elsewhere() == 2
    assert set(mine.together(mine.findings()).changed) == {Path("train.py")}


def test_the_level_decides_which_fixes_are_made(tmp_path: Path) -> None:
    safe, unsafe = (fixes(tmp_path.resolve(), {Path("train.py")}, level) for level in (Level.SAFE, Level.UNSAFE))
    assert [item.code for item in safe.findings()] == ["PPF201", "PPF201"]
    assert [item.code for item in unsafe.findings()] == ["PPF101", "PPF201", "PPF201"]
    assert safe.together([]).changed != unsafe.together([]).changed


def test_the_fixes_of_each_rule(tmp_path: Path) -> None:
    mine = fixes(tmp_path.resolve(), BOTH, Level.UNSAFE)
    loader, reads = mine.each(mine.of_one_rule(mine.findings()))
    assert [loader.name, reads.name] == ["PPF101", "PPF201"]
    assert loader.places == ["other.py:8", "train.py:8"]
    assert set(reads.changed) == set(loader.changed) == BOTH
    assert "num_workers" in text(loader, "other.py")
    assert "num_workers" not in text(reads, "other.py")
    assert "loss.item()" not in text(reads, "train.py")
    assert "loss.item()" in text(loader, "train.py")
