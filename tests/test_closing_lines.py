"""What the closing line of a report says of findings that are not shown, and of files in which there is nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from perflint.cli import main
from tests.cli_runs import Output

LOG = """import paddle

model = paddle.nn.Linear(3, 4)
optimizer = paddle.optimizer.Adam(parameters=model.parameters())
for step, (x, y) in enumerate(loader):
    loss = model(x).mean()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    print("step", step)
"""
HIDDEN = "1 finding of low impact is not shown (--min-impact low).\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def check(text: str, *options: str) -> int:
    Path("train.py").write_text(text)
    return main(["check", "train.py", "--no-cache", *options])


def test_findings_of_low_impact_are_counted(capsys: Output) -> None:
    assert check(LOG) == 0
    assert capsys.readouterr().out == f"No findings in 1 file. {HIDDEN}"
    assert check(LOG, "--min-impact", "low") == 1
    out = capsys.readouterr().out
    assert "PPF405" in out and "not shown" not in out


def test_what_fix_leaves_out_is_counted_too(capsys: Output) -> None:
    assert check(LOG, "--fix", "--unsafe-fixes") == 0
    assert capsys.readouterr().out == f"No findings in 1 file. {HIDDEN}"
    assert Path("train.py").read_text() == LOG


def test_high_asks_for_less(capsys: Output) -> None:
    text = LOG.replace("    optimizer.step()\n", "    optimizer.step()\n    total = loss.item()\n")
    assert check(text, "--min-impact", "high", "--select", "PPF201,PPF405") == 0
    assert "2 findings of lower impact are not shown" in capsys.readouterr().out


def test_a_baseline_is_about_what_is_new(capsys: Output) -> None:
    assert check(LOG, "--write-baseline=known.json") == 0
    assert capsys.readouterr().err.startswith("Wrote 0 findings")
    assert check(LOG, "--baseline", "known.json") == 0
    assert capsys.readouterr().out == "No findings in 1 file.\n"


def test_the_cache_knows_them(capsys: Output, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PERFLINT_CACHE_DIR", str(tmp_path / "cache"))
    Path("train.py").write_text(LOG)
    for _ in range(2):
        assert main(["check", "train.py"]) == 0
        assert capsys.readouterr().out == f"No findings in 1 file. {HIDDEN}"
    assert main(["check", "train.py", "--min-impact", "low"]) == 1  # the same entry, shown in full
    assert "PPF405" in capsys.readouterr().out
    assert len(list((tmp_path / "cache").glob("*.entry"))) == 1


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("print(1)\n", " It does not use Paddle."),
        (
            "import paddle\n\nmodel = paddle.nn.Linear(3, 4)\n",
            " It does not contain a training step: check the directory of the script that trains.",
        ),
        (LOG.replace('print("step", step)', "pass"), ""),
    ],
)
def test_why_nothing_may_be_found(text: str, remark: str, capsys: Output) -> None:
    assert check(text) == 0
    assert capsys.readouterr().out == f"No findings in 1 file.{remark}\n"


ENGINE = """import paddle


def train(model, optimizer, loader):
    for step, (x, y) in enumerate(loader):
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        print(loss)
"""
TRAIN = "from engine import train\n\ntrain(make_model(), make_optimizer(), make_loader())\n"


@pytest.mark.parametrize("options", [(), ("--diff",), ("--fix",), ("--no-cache",)])
def test_a_script_whose_step_is_in_another_file(options: tuple[str, ...], capsys: Output) -> None:
    """What train.py imports is read with it, so it is known that the findings are there."""
    Path("engine.py").write_text(ENGINE)
    Path("train.py").write_text(TRAIN)
    assert main(["check", "train.py", *options]) == 0
    out, err = capsys.readouterr()
    assert (
        out + err
        == "No findings in 1 file. 1 finding is in a file that was only read: engine.py (to see it: perflint check).\n"
    )
    assert Path("engine.py").read_text() == ENGINE
    assert main(["check", "."]) == 1
    assert "only read" not in capsys.readouterr().out


def test_the_command_that_shows_them_names_their_directory(capsys: Output) -> None:
    for directory in ("a b", "a b/lib"):
        Path(directory).mkdir()
    Path("a b/lib/engine.py").write_text(ENGINE)
    Path("a b/train.py").write_text(TRAIN.replace("engine", "lib.engine"))
    assert main(["check", "a b/train.py"]) == 0
    assert capsys.readouterr().out.endswith("a b/lib/engine.py (to see it: perflint check 'a b').\n")
    assert main(["check", "a b"]) == 1
    assert "PPF202" in capsys.readouterr().out


UNREAD = " train.py imports it and was not read: add --context .\n"


@pytest.mark.parametrize(
    ("importing", "path"),
    [
        ("import meter\n", "meter.py"),
        ("from utils import meter\n", "utils/meter.py"),
        ("from utils.meter import note\n", "utils/meter.py"),
        ("import utils\n", "utils/__init__.py"),
    ],
)
def test_the_caller_that_was_not_read_is_named(importing: str, path: str, capsys: Output) -> None:
    Path("utils").mkdir()
    Path(path).write_text("def note(value):\n    return float(value)\n")
    Path("train.py").write_text(importing)
    assert main(["check", path]) == 0
    assert capsys.readouterr().out == f"No findings in 1 file.{UNREAD}"
    for options in (["--quiet"], ["--context", "."], ["--no-context"]):
        assert main(["check", path, *options]) == 0
        assert "imports it" not in capsys.readouterr().out
    assert main(["check", "."]) == 0
    assert "imports it" not in capsys.readouterr().out


@pytest.mark.parametrize("importing", ["import meters\n", "# meter\n", "from other import meter\n", "meter = 1\n"])
def test_a_file_that_imports_something_else_is_no_caller(importing: str, capsys: Output) -> None:
    Path("meter.py").write_text("def note(value):\n    return float(value)\n")
    Path("train.py").write_text(importing)
    assert main(["check", "meter.py"]) == 0
    assert capsys.readouterr().out == "No findings in 1 file. It does not use Paddle.\n"


def test_a_hook_for_what_is_new_does_not_speak_of_other_files(capsys: Output) -> None:
    Path("engine.py").write_text(ENGINE)
    Path("train.py").write_text(TRAIN)
    assert main(["check", "train.py", "--write-baseline=new.json"]) == 0
    capsys.readouterr()
    assert main(["check", "train.py", "--baseline", "new.json"]) == 0
    assert "only read" not in capsys.readouterr().out
