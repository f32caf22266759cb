"""A repository in which every name and every text tries to steer what shows it, and what may be shown of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

from tests.cli_runs import ROOT

NAMES = (
    "a\n::error::b.py",
    "\n##vso[task.complete result=Failed]c.py",
    "\x1b[2J\x1b]0;title\x07d.py",
    "::error file=x::e.py",
    " ::warning::f.py",
    "##[error]g.py",
    "x##TeamCity[buildStop]h.py",
    "\u202egnp.py",
    "i\u200b\u2066j.py",
    "k\x7f\x9b31ml.py",
    "m\u2028::error::n.py",
    os.fsdecode(b"o\xff\x9bp.py"),
    "q\rr\ts.py",
)
STEERS = "\x1b[2J \x9b31m \u202e\u2066 \u200b\x7f ##vso[task.setvariable] ##[error] ##teamcity[x] \u2028::error::"
CALL = "paddle.io.DataLoader(data, batch_size=8)"
_OURS = re.compile(r"\x1b\[[0-9;]*m|\r\[[#.]+\] +\d+ % of \d+ files?|\r\x1b\[K")
"""Colours, and the progress bar."""
_HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
_COMMAND = re.compile(r"##(\[|vso\[|teamcity\[)", re.IGNORECASE)


def make(root: Path) -> None:
    """Write the files: some with findings, one that does not parse, one that is no text, in a repository."""
    (root / ".git").mkdir()
    text = f"import paddle\n# {STEERS}\nloader = {CALL}  # {STEERS}\n# {STEERS}\n"
    for name in NAMES:
        (root / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    (root / "broken\x1b[1m\n::error::.py").write_text(f"x = 1 \x1b[2J \u202e (\n# {STEERS}\n")
    (root / "unreadable\x1b[1m\n::error::.py").write_bytes(b"\xff\x1b[2J\n::error::\n")
    write_baseline(root / "known.json")


def write_baseline(path: Path) -> None:
    """A baseline with an entry that has no finding, of which every text steers."""
    entry = {"path": f"gone\n::error::{STEERS}.py", "code": "PPF101", "text": STEERS, "fingerprint": STEERS}
    path.write_text(json.dumps({"version": 1, "findings": [entry]}))


def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """perflint in a process of its own."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", **environment}
    low = ["--min-impact=low"] if arguments[:1] == ("check",) else []
    command = [sys.executable, "-m", "perflint", *arguments, *low]
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, check=False)


def harm(output: bytes) -> list[str]:
    """What a terminal or a CI system would obey, or a reader would be misled by; what is ours aside."""
    text = _OURS.sub("", output.decode("utf-8"))
    found = [f"U+{ord(char):04X}" for char in text if char not in "\n\t" and unicodedata.category(char) in _HIDDEN]
    return found + [line for line in text.split("\n") if _is_command(line)]


def _is_command(line: str) -> bool:
    ours = re.match(r"::(error|warning|notice) title=perflint ", line)
    return (line.lstrip().startswith("::") and not ours) or _COMMAND.search(line) is not None
