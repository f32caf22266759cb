"""flake8 with perflint's plugin in a process of its own, and what ``perflint check`` says of the same files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from perflint import __version__

ROOT = Path(__file__).resolve().parents[1]
GROUP = "flake8.extension"
SPAWNING = """\
import multiprocessing, sys
from flake8.main.cli import main
if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    sys.exit(main(sys.argv[1:]))
"""
_FORMAT = "%(path)s\t%(row)d\t%(col)d\t%(code)s\t%(text)s"
_TELLS = """\
import atexit, os, sys
def tell():
    with open(os.environ["LOADED"], "a") as file:
        file.write("".join(f"{name}\\n" for name in sys.modules))
atexit.register(tell)
"""

Place = tuple[str, int, int, str, str]
"""Real path, row and column from 1, code, message."""


@dataclass(frozen=True)
class Told:
    """What flake8 printed."""

    status: int
    places: list[Place]
    others: list[str]
    """The lines that are no findings."""

    errors: str


def plugin_path(directory: Path) -> list[str]:
    """What has to stand in ``PYTHONPATH`` so that flake8 finds the plugin.

    An installed perflint says so itself; otherwise a distribution is made up in ``directory``.
    """
    if any(found.name == "PPF" for found in entry_points(group=GROUP)):
        return [str(ROOT)]
    place = directory / f"perflint_paddle-{__version__}.dist-info"
    place.mkdir(parents=True, exist_ok=True)
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: perflint-paddle\nVersion: {__version__}\n")
    (place / "entry_points.txt").write_text(f"[{GROUP}]\nPPF = perflint.flake8_plugin:Plugin\n")
    return [str(ROOT), str(directory)]


def environment(directory: Path) -> dict[str, str]:
    """The environment for a process that has the plugin; ``directory`` is for what has to be made up."""
    paths = [*plugin_path(directory), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONWARNINGS": "ignore"}


def run_flake8(*arguments: str, scratch: Path, spawn: bool = False, piped: bytes | None = None) -> Told:
    """flake8 in the current directory, with the codes of perflint among others."""
    start = ["-c", SPAWNING] if spawn else ["-m", "flake8"]
    done = subprocess.run(
        [sys.executable, *start, "--format", _FORMAT, *arguments],
        env=environment(scratch),
        input=piped,
        capture_output=True,
        check=False,
    )
    return _told(done.returncode, done.stdout.decode(), done.stderr.decode())


def run_flake8_here(*arguments: str, scratch: Path, capsys: pytest.CaptureFixture[str]) -> Told:
    """The same in this process, which is quicker."""
    from flake8.main.cli import main

    with pytest.MonkeyPatch.context() as patch:
        for path in plugin_path(scratch)[1:]:
            patch.syspath_prepend(path)
        status = main(["-j1", "--format", _FORMAT, *arguments])
    return _told(status, *capsys.readouterr())


def _told(status: int, out: str, errors: str) -> Told:
    places, others = [], []
    for line in out.splitlines():
        path, *rest = line.split("\t")
        if len(rest) < 4:
            others.append(line)
            continue
        row, column, code, message = rest
        places.append((os.path.realpath(path), int(row), int(column), code, message))
    return Told(status, sorted(places), others, errors)


def loaded_by_flake8(*arguments: str, scratch: Path) -> set[str]:
    """The names of the modules that a run of flake8 has loaded when it ends, in its first process."""
    scratch.mkdir(exist_ok=True)
    (scratch / "sitecustomize.py").write_text(_TELLS)
    listed = scratch / "loaded.txt"
    env = {**environment(scratch), "LOADED": str(listed)}
    env["PYTHONPATH"] = os.pathsep.join([str(scratch), env["PYTHONPATH"]])
    subprocess.run([sys.executable, "-m", "flake8", *arguments], env=env, capture_output=True, check=False)
    return set(listed.read_text().split())


def run_perflint(*arguments: str, piped: bytes | None = None) -> list[Place]:
    """What ``perflint check`` reports in the current directory."""
    done = subprocess.run(
        [sys.executable, "-m", "perflint", "check", "--output-format", "json", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        input=piped,
        capture_output=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr.decode()
    return sorted(
        (
            os.path.realpath(item["filename"]),
            item["location"]["row"],
            item["location"]["column"],
            item["code"],
            item["message"] + _impact(item["impact"]),
        )
        for item in json.loads(done.stdout)
    )


def _impact(impact: dict[str, str] | None) -> str:
    return f" ({impact['level']} impact: {impact['reason']})" if impact is not None else ""


def rows(places: Sequence[Place]) -> list[str]:
    """``name:row CODE`` of each finding."""
    return [f"{Path(path).name}:{row} {code}" for path, row, _, code, _ in places]
