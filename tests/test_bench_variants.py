"""Which states of a project ``perflint bench`` measures."""

from __future__ import annotations

from pathlib import Path

from perflint import engine
from perflint.bench import workspace
from perflint.bench.variants import states
from perflint.findings import Level
from perflint.settings import Settings
from perflint.source import Source

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


def test_each_fix_alone_and_all_together(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    path = str(root / "train.py")
    found = states(
        {path: Source(path, TWO)}, root, lambda current: engine.check(current, Settings()), Level.SAFE, each=True
    )
    assert [state.name for state in found] == ["before", "PPF201 train.py:13", "PPF201 train.py:14", "all fixes"]
    before, first, second, whole = (state.changed.get(Path("train.py"), b"").decode() for state in found)
    assert before == ""
    assert "total += loss.item()" not in first
    assert "seen += loss.item()" in first
    assert "total += loss.item()" in second
    assert "seen += loss.item()" not in second
    assert "loss.item()" not in whole
    assert found[-1].places == ["train.py:13", "train.py:14"]


def test_without_a_fix_there_is_nothing(tmp_path: Path) -> None:
    path = str(tmp_path.resolve() / "train.py")
    assert states({path: Source(path, "x = 1\n")}, tmp_path, lambda current: [], Level.SAFE, each=True) == []


def test_what_a_copy_holds(tmp_path: Path) -> None:
    root, copy = tmp_path / "root", tmp_path / "copy"
    for place in ("a/b.py", ".git/config", "__pycache__/a.pyc", "small.txt", "large.py", "large.npy"):
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_bytes(b"#" * (workspace.LARGE if "large" in place else 1))
    (root / "images").mkdir()
    for number in range(workspace.MANY):
        (root / "images" / f"{number}.jpg").write_bytes(b"")
    linked = workspace.make(root, copy, {Path("a/b.py"): b"changed"})
    assert linked == ["images/", "large.npy"]
    assert sorted(path.name for path in copy.iterdir()) == ["a", "images", "large.npy", "large.py", "small.txt"]
    assert (copy / "a" / "b.py").read_bytes() == b"changed"
    assert (root / "a" / "b.py").read_bytes() == b"#"
    assert not (copy / "large.py").is_symlink()
