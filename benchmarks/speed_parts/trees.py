"""Trees of Python files on disk: how large they are, a copy that TorchFix understands, a trainer to edit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

LONG_TRAINER = 1500
"""Lines of the file that the edit benchmark looks for."""
_ONLY_PARSE = 0x400  # ast.PyCF_ONLY_AST


def python_files(trees: Iterable[Path]) -> Iterator[Path]:
    """The Python files under some directories in a settled order; links to directories are not followed."""
    for tree in trees:
        for place, directories, names in os.walk(tree.resolve()):
            directories.sort()
            yield from (Path(place) / name for name in sorted(names) if name.endswith(".py"))


def size(trees: Iterable[Path]) -> dict[str, int]:
    """Numbers of files and of lines."""
    contents = [path.read_bytes() for path in python_files(trees) if path.is_file()]
    return {"files": len(contents), "lines": sum(content.count(b"\n") for content in contents)}


def copy_as_torch(tree: Path, target: Path) -> int:
    """Copy a tree's Python files with ``paddle`` spelled ``torch``; the number left out because they do not parse.

    TorchFix looks for ``torch``; so it parses and scans the lines that the others do.
    """
    left_out = 0
    root = tree.resolve()
    for path in python_files([root]):
        text = path.read_text(encoding="utf-8", errors="replace")
        if _parses(text):
            copy = target / path.relative_to(root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text.replace("paddle", "torch"), encoding="utf-8")
        else:
            left_out += 1
    return left_out


def _parses(text: str) -> bool:
    try:
        compile(text, "<tree>", "exec", _ONLY_PARSE, dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def long_trainer(tree: Path) -> Path | None:
    """The file with a training step whose length is nearest to 1,500 lines, relative to the tree."""
    lengths = {}
    for path in python_files([tree]):
        content = path.read_bytes()
        if b".backward(" in content and b".step(" in content:
            lengths[path.relative_to(tree.resolve())] = content.count(b"\n")
    return min(lengths, key=lambda path: (abs(lengths[path] - LONG_TRAINER), path), default=None)


def floor(tree: Path) -> dict[str, float]:
    """CPU seconds that reading the files and ``ast.parse`` take in one process; the median of three by their sum."""
    script = Path(__file__).with_name("floor.py")
    runs = []
    for _ in range(3):
        run = subprocess.run([sys.executable, str(script), str(tree)], capture_output=True, text=True, check=True)
        runs.append({name: round(float(value), 3) for name, value in json.loads(run.stdout).items()})
    return sorted(runs, key=lambda run: sum(run.values()))[1]
