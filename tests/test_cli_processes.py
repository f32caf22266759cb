"""perflint in a process of its own: pipes, terminals, encodings, what it imports, the real rules."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli_runs import ROOT, process, write

pytestmark = pytest.mark.usefixtures("cli_workplace")


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_a_reader_that_goes_away_is_no_error_and_the_status_stays_true() -> None:
    write(a="SAFE\n" * 5_000)
    with process(["check", "a.py"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.read(10)
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait() == 1


@pytest.mark.skipif(os.name != "posix", reason="terminals of POSIX")
def test_there_is_colour_on_a_terminal() -> None:
    import pty

    write(a="SAFE\n")
    master, slave = pty.openpty()
    environ = {**os.environ, "TERM": "xterm"}
    with process(["check", "a.py", "-q"], stdout=slave, stderr=subprocess.PIPE, env=environ) as running:
        os.close(slave)
        assert b"\x1b[1;31mPPF201" in os.read(master, 1_000)
        assert running.wait() == 1
    os.close(master)


def test_text_that_the_output_cannot_hold_is_escaped() -> None:
    write(a="\u635f\u5931 = SAFE\n")
    environ = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    with process(["check", "a.py", "-q"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ) as running:
        out, err = running.communicate()
    assert err == b""
    assert b"\\u635f" in out


def test_a_path_that_is_no_text_is_shown_and_checked() -> None:
    try:
        Path(os.fsdecode(b"\xff.py")).write_text("SAFE\n")
    except (OSError, UnicodeError):
        pytest.skip("this file system takes text names only")
    with process(["check", "--diff"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        out, _ = running.communicate()
    assert out.startswith(b"--- \xff.py\n")
    with process(["check", "--output-format", "concise"], stdout=subprocess.PIPE) as running:
        out, _ = running.communicate()
    assert out.startswith(b"\\udcff.py:1:1: PPF201")


def test_the_real_rules_fix_a_real_script_and_a_second_run_changes_nothing() -> None:
    before = "\r\n".join(
        (
            "# -*- coding: gbk -*-",
            "import paddle",
            "def train(model, dataset, optimizer):",
            "\tloader = paddle.io.DataLoader(dataset, batch_size=8)  # \u8bad\u7ec3",
            "\tfor step, (x, y) in enumerate(loader):",
            "\t\tloss = paddle.nn.functional.cross_entropy(model(x), y)",
            "\t\tloss.backward()",
            "\t\toptimizer.step()",
            "\t\toptimizer.clear_grad()",
            '\t\tprint("\u635f\u5931", loss.item())',
        )
    )
    Path("a.py").write_bytes(before.encode("gbk"))

    def run(*arguments: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "perflint", "check", "a.py", *arguments]
        environ = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, capture_output=True, text=True, env=environ, check=False)
        assert "Traceback" not in done.stderr
        return done.returncode, done.stdout

    assert run("--fix", "-q")[0] == 1
    assert Path("a.py").read_bytes() == before.encode("gbk")
    assert run("--fix", "--unsafe-fixes", "-q", "--select", "PPF202")[0] == 0
    guarded = before.replace("\t\tprint(", "\t\tif step % 10 == 0:\r\n\t\t\tprint(")
    assert Path("a.py").read_bytes() == guarded.encode("gbk")

    status, out = run("--fix", "--unsafe-fixes")
    assert (status, out) == (0, "Found 1 finding in 1 file (1 fixed, 0 remaining).\n")
    both = guarded.replace("batch_size=8)", "batch_size=8, num_workers=4)")
    assert Path("a.py").read_bytes() == both.encode("gbk")
    assert run("--fix", "--unsafe-fixes") == (0, "No findings.\n")
    assert Path("a.py").read_bytes() == both.encode("gbk")


def test_starting_imports_nothing_heavy() -> None:
    code = "import sys, perflint.cli; perflint.cli._parser(); print(*sys.modules)"
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environ)
    assert not {"libcst", "yaml", "pathspec", "ast", "json", "multiprocessing"} & set(done.stdout.split())


def test_python_m_perflint_is_the_same_command() -> None:
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    for module in ("perflint", "perflint.cli"):
        done = subprocess.run(
            [sys.executable, "-m", module, "check", "gone.py"], capture_output=True, text=True, env=environ, check=False
        )
        assert done.returncode == 2
        assert "gone.py" in done.stderr


def test_python_without_assertions_finds_the_same() -> None:
    write(broken="def train(:\n", loader="import paddle\nloader = paddle.io.DataLoader(data, shuffle=True)\n")
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    for options in ([], ["-O"]):
        command = [sys.executable, *options, "-m", "perflint", "check", "--output-format", "concise", "--quiet"]
        done = subprocess.run(command, capture_output=True, text=True, env=environ, check=False)
        assert [line.split()[:2] for line in done.stdout.splitlines()] == [
            ["broken.py:1:11:", "PPF001"],
            ["loader.py:2:10:", "PPF101"],
        ]
