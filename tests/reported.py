"""A repository whose files are hard to report on, and what perflint writes about it in every format.

The places are those of the files below, counted by hand.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from perflint.output.formats import FORMATS
from tests.cli_runs import ROOT

CALL = "paddle.io.DataLoader(data, batch_size=8)"
"""What PPF101 is about in each of the files."""
FIXED = "paddle.io.DataLoader(data, batch_size=8, num_workers=4)"
FOLDER = "src \u8bad\u7ec3"


class Place(NamedTuple):
    """Row and column from 1, the column in code points."""

    code: str
    row: int
    column: int


_HEAD = "import paddle\n"
_FILES: Mapping[str, tuple[bytes, Place]] = {
    "plain.py": (f"{_HEAD}loader = {CALL}\n".encode(), Place("PPF101", 2, 10)),
    "crlf.py": (f"import paddle\r\n\r\nloader = {CALL}\r\n".encode(), Place("PPF101", 3, 10)),
    "cr.py": (f"import paddle\rloader = {CALL}\r".encode(), Place("PPF101", 2, 10)),
    "bom.py": (f"\ufeffimport paddle; loader = {CALL}\n".encode(), Place("PPF101", 1, 25)),
    "tab.py": (f"{_HEAD}if True:\n\tloader = {CALL}\n".encode(), Place("PPF101", 3, 11)),
    "form_feed.py": (f"{_HEAD}\x0c\nx = '\u2028'; loader = {CALL}\n".encode(), Place("PPF101", 3, 19)),
    "\u635f\u5931 \u00e9,%:.py": (
        f"{_HEAD}\u635f\u5931 = '\U0001f600\u00e9'; loader = {CALL}\n".encode(),
        Place("PPF101", 2, 21),
    ),
    "gbk.py": (f"# coding: gbk\n{_HEAD}\u635f\u5931 = loader = {CALL}\n".encode("gbk"), Place("PPF101", 3, 15)),
    "broken.py": (f"{_HEAD}x = (\n".encode(), Place("PPF001", 2, 5)),
    "unreadable.py": (b"x = '\xff'\n", Place("PPF003", 1, 1)),
    "../top.py": (f"{_HEAD}loader = {CALL}\n".encode(), Place("PPF101", 2, 10)),
}


@dataclass(frozen=True)
class Run:
    """What a run in ``folder`` of the repository ``root`` has written; ``places`` has what it had to find, by path."""

    root: Path
    folder: Path
    places: Mapping[Path, Place]
    texts: Mapping[str, str]
    """By format."""


def make(root: Path) -> Run:
    """Write the files and check them, in a subdirectory, once, with an output in every format."""
    (root / ".git").mkdir()
    folder = root / FOLDER
    folder.mkdir()
    places = {}
    for name, (data, place) in _FILES.items():
        path = Path(os.path.normpath(folder / name))
        path.write_bytes(data)
        places[path] = place
    perflint(folder, *(f"--output={name}:{root / 'report.'}{name}" for name in FORMATS))
    texts = {name: (root / f"report.{name}").read_text(encoding="utf-8") for name in FORMATS}
    return Run(root, folder, places, texts)


def perflint(folder: Path, *arguments: str) -> None:
    """Check the files of ``folder`` and the one above them, in a process of its own."""
    command = [sys.executable, "-m", "perflint", "check", "--isolated", "--no-cache", "--exit-zero", "--min-impact=low"]
    command += ["--select=PPF0,PPF101", *arguments, ".", "../top.py"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
