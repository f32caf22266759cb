"""The linters that perflint is measured beside: where they are installed, their commands and their versions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from speed_parts.measure import Candidate

ROOT = Path(__file__).resolve().parents[2]
CHECK = ("check", "--isolated", "--exit-zero", "--quiet")
COLD, WARM = "perflint cold", "perflint warm"
_VERSIONS = """
import importlib.metadata, json, sys
print(json.dumps({name: importlib.metadata.version(name) for name in sys.argv[1:]}))
"""


@dataclass(frozen=True)
class Tool:
    """A linter in a virtual environment of its own: TorchFix pins a LibCST that others do not want.

    Attributes:
        name: Of the environment and of the package.
        title: What the results call it.
        arguments: Of the command, relative to the environment's ``bin``; ``{jobs}`` stands for the number of cores.
        packages: Whose versions the results name.
        slow: Whether it takes a minute where others take seconds.
        torch: Whether it gets the tree with ``paddle`` spelled ``torch``.
        exits: Exit statuses that mean it has done its work.
    """

    name: str
    title: str
    arguments: Sequence[str]
    packages: Sequence[str]
    slow: bool = False
    torch: bool = False
    exits: Sequence[int] = (0, 1)

    def place(self, tools: Path) -> Path:
        """The directory with the environment's programs."""
        return tools / self.name / ("Scripts" if os.name == "nt" else "bin")

    def is_installed(self, tools: Path) -> bool:
        """Whether its environment has it."""
        program = self.place(tools) / self.name
        return program.exists() or program.with_suffix(".exe").exists()

    def how_to_install(self, tools: Path) -> str:
        """The commands that a reader may type above the directory with the environments."""
        place = self.place(Path(tools.name))
        return f"python -m venv {tools.name}/{self.name} && {place / 'pip'} install {self.name}"

    def install(self, tools: Path) -> None:
        """Make the environment. Raises CalledProcessError where that fails."""
        subprocess.run([sys.executable, "-m", "venv", str(tools / self.name)], check=True)
        subprocess.run([str(self.place(tools) / "python"), "-m", "pip", "install", "-q", self.name], check=True)

    def versions(self, tools: Path) -> str:
        """``flake8 7.3.0, pyflakes 3.4.0``."""
        return installed_versions(str(self.place(tools) / "python"), self.packages)

    def candidate(self, tools: Path, directory: Path, paths: Sequence[str]) -> Candidate:
        """The command on paths of a directory."""
        place = self.place(tools)
        words = [word.format(bin=place, jobs=os.cpu_count()) for word in self.arguments]
        return Candidate(self.title, [*words, *paths], directory, exits=self.exits, slow=self.slow)


# ``python -m`` and ``python bin/torchfix`` also work in environments that were moved; Ruff is a program of its own, and
# ``python -m ruff`` would charge it for starting Python.
TORCHFIX = Tool(
    "torchfix",
    "TorchFix",
    ("{bin}/python", "{bin}/torchfix", "--select", "ALL"),
    ("torchfix", "libcst"),
    slow=True,
    torch=True,
)
FIXIT = Tool(
    "fixit",
    "Fixit",
    ("{bin}/python", "-m", "fixit", "lint"),
    ("fixit", "libcst"),
    slow=True,
    exits=(0, 1, 2, 3),  # 1: findings, 2: files that it could not read
)
FLAKE8 = Tool(
    "flake8",
    "flake8 (pyflakes)",
    ("{bin}/python", "-m", "flake8", "--isolated", "--select", "F", "-j", "{jobs}"),
    ("flake8", "pyflakes"),
)
RUFF = Tool(
    "ruff",
    "Ruff",
    # Notebooks are left out because none of the others reads them.
    ("{bin}/ruff", "check", "--isolated", "--no-cache", "--select", "F", "--exclude", "*.ipynb"),
    ("ruff",),
)
TOOLS = (TORCHFIX, FIXIT, FLAKE8, RUFF)


def installed_versions(python: str, packages: Sequence[str]) -> str:
    """``libcst 1.8.6``, from an interpreter's environment. Raises CalledProcessError if a package is missing."""
    run = subprocess.run([python, "-c", _VERSIONS, *packages], capture_output=True, text=True, check=True)
    return ", ".join(f"{name} {version}" for name, version in json.loads(run.stdout).items())


def perflint(
    name: str,
    words: Sequence[str],
    directory: Path,
    arguments: Sequence[str],
    *,
    cache: Path | None = None,
    slow: bool = False,
) -> Candidate:
    """perflint of this checkout, with a cache of its own or none.

    Args:
        name: What the results call it.
        words: The command, ``python -m perflint``.
        directory: Where it runs.
        arguments: What follows the command.
        cache: Its cache; None: it neither reads nor writes one.
        slow: Whether it runs only ``--slow-runs`` times.
    """
    environment = {"PERFLINT_CACHE_DIR": str(cache or ""), "PYTHONPATH": str(ROOT)}
    return Candidate(name, [*words, *arguments], directory, environment, exits=(0,), slow=slow)


def cold(words: Sequence[str], directory: Path, paths: Sequence[str], *options: str, name: str = COLD) -> Candidate:
    """perflint as on its first run."""
    return perflint(name, words, directory, [*CHECK, "--no-cache", *options, *paths])


def warm(words: Sequence[str], directory: Path, paths: Sequence[str], cache: Path) -> Candidate:
    """perflint as on a run after which nothing has changed; run it once before it is measured."""
    return perflint(WARM, words, directory, [*CHECK, *paths], cache=cache)


def split(tools: Path) -> tuple[list[Tool], Mapping[str, str]]:
    """The tools that are installed, and how to install each of the others."""
    there = [tool for tool in TOOLS if tool.is_installed(tools)]
    return there, {tool.title: tool.how_to_install(tools) for tool in TOOLS if tool not in there}
