"""perflint in a process of its own: pipes, terminals, encodings, what it imports, the real rules."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from perflint import leave_out_current_directory
from tests.cli_runs import ROOT, process, write
from tests.terminals import read_all

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
        assert b"\x1b[1;31mPPF201" in read_all(master)
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
    assert out.startswith(b"# \\xff.py:1 PPF201: Write sum\n" + rb'--- "\377.py"')
    with process(["check", "--output-format", "concise"], stdout=subprocess.PIPE) as running:
        out, _ = running.communicate()
    assert out.startswith(rb"\xff.py:1:1: PPF201")


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
    fixed = "Fixed:\n  a.py:4 PPF101: load in worker processes\n"
    assert (status, out) == (0, f"{fixed}Found 1 finding in 1 file (1 fixed, 0 remaining).\n")
    both = guarded.replace("batch_size=8)", "batch_size=8, num_workers=4)")
    assert Path("a.py").read_bytes() == both.encode("gbk")
    assert run("--fix", "--unsafe-fixes") == (0, "No findings in 1 file.\n")
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


SHADOWED = (
    *("argparse", "ast", "collections_abc", "concurrent", "dataclasses", "difflib", "hashlib", "importlib_metadata"),
    *("json", "libcst", "multiprocessing", "numpy", "paddle", "pathlib", "pathspec", "pygls", "lsprotocol", "random"),
    *("re", "shutil", "string", "subprocess", "tempfile", "tokenize", "tomli", "tomllib", "typing", "yaml"),
)


@pytest.mark.parametrize("module", ["perflint", "perflint.cli"])
@pytest.mark.parametrize("arguments", [["check", "-j2", "."], ["check", "--changed-since", "HEAD"], ["rule", "PPF201"]])
def test_modules_of_the_code_that_is_checked_are_not_imported(module: str, arguments: list[str]) -> None:
    trap = "import os\nopen('IMPORTED', 'a').write(__name__)\n"
    write(**dict.fromkeys(SHADOWED, trap), train="import paddle\nloader = paddle.io.DataLoader(data, shuffle=True)\n")
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "PERFLINT_CACHE_DIR": str(Path("cache").absolute())}
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], capture_output=True, text=True, env=environ, check=False
    )
    assert "Traceback" not in done.stderr
    assert not Path("IMPORTED").exists(), Path("IMPORTED").read_text()
    if "." in arguments:
        assert "train.py:2:10" in done.stdout


def test_nor_by_the_server() -> None:
    trap = "open('IMPORTED', 'a').write(__name__)\n"
    write(**dict.fromkeys(SHADOWED, trap))
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "perflint", "server", "--stdio"]
    body = '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}'
    asked = f"Content-Length: {len(body)}\r\n\r\n{body}"
    done = subprocess.run(command, input=asked, capture_output=True, text=True, env=environ, check=False, timeout=60)
    assert "perflint" in done.stdout
    assert not Path("IMPORTED").exists(), Path("IMPORTED").read_text()


def test_only_the_current_directory_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    here = str(Path.cwd())
    for before, after in (
        (["", "/a"], ["/a"]),
        ([here, "/a", here], ["/a", here]),
        (["/a", here], ["/a", here]),
        ([], []),
    ):
        monkeypatch.setattr(sys, "path", before)
        leave_out_current_directory()
        assert sys.path == after


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
