"""The flake8 plugin: what ``perflint check`` reports, through flake8.

flake8 imports this module at each start, in every project of the environment, so it imports nothing that flake8 has
not imported itself.  The rest of perflint is loaded once a file can hold a finding.
"""

from __future__ import annotations

import argparse
import ast
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from perflint import __version__

if TYPE_CHECKING:
    from flake8.options.manager import OptionManager

    from perflint.flake8_run import Run

PREFIX = "PPF"
STDIN = "-"
_OPTIONS = ("select", "ignore", "extend_select", "min_confidence", "config", "context")
_CONFIGURATIONS = {".perflint.toml": b"", "perflint.toml": b"", "pyproject.toml": b"perflint"}
"""Files that may configure perflint, and the word that they do not do so without."""
WORD = "paddle"
"""Where it stands in no file of a project and nothing is configured, nothing is found."""


class Plugin:
    """The findings of one file, among those of all paths that flake8 was given.

    Args:
        tree: not used; flake8 hands whole files to plugins that ask for it.
        lines: the text of the file; it counts where it came through standard input.
        filename: its path, as flake8 has it from its command line or from a directory there.
    """

    name = "perflint"
    version = __version__
    _options: argparse.Namespace | None = None  # None: no rule of perflint is asked for
    _run: Run | None = None  # None: not yet, or no file has needed it

    def __init__(self, tree: ast.AST, lines: Sequence[str], filename: str) -> None:
        self._lines = lines
        self._filename = filename

    @staticmethod
    def add_options(manager: OptionManager) -> None:
        """Tell flake8 of perflint's options, which its configuration files may hold as well."""

        def add(name: str, text: str, **more: Any) -> None:
            manager.add_option(f"--ppf-{name}", default=None, parse_from_config=True, help=text, **more)

        rules = {"comma_separated_list": True, "metavar": "RULES"}
        add("select", "use these rules of perflint instead of its default ones", **rules)
        add("ignore", "leave these rules of perflint out", **rules)
        add("extend-select", "use these rules of perflint besides the others", **rules)
        add("min-confidence", "report what perflint is at least so sure of: low, medium or high", metavar="LEVEL")
        add("config", "a pyproject.toml or perflint.toml to use", normalize_paths=True, metavar="FILE")
        manager.add_option(
            "--ppf-isolated", action="store_true", parse_from_config=True, help="read no configuration of perflint"
        )
        paths = {"comma_separated_list": True, "normalize_paths": True, "metavar": "DIRS"}
        add("context", "directories whose files are read too, to understand those that are checked", **paths)

    @classmethod
    def parse_options(cls, options: argparse.Namespace) -> None:
        """See what is asked for; where flake8 is about to start processes, check the files before it does.

        Raises:
            ExecutionError: the configuration cannot be used.
        """
        cls._run = None
        cls._options = options if _is_selected(options) else None
        if cls._options is not None and multiprocessing.parent_process() is None and _in_processes(options):
            cls._run = _run_for(options)
            cls._run.share()

    def run(self) -> Iterator[tuple[int, int, str, type]]:
        """The findings of the file: row from 1, column from 0 in code points, code and message.

        Raises:
            ExecutionError: the configuration cannot be used.
        """
        options = self._options
        if options is None or (self._run is None and _is_alone(options) and not self._can_hold_any(options)):
            return
        if self._run is None or not self._run.is_for(options):
            type(self)._run = _run_for(options)
        assert self._run is not None
        for row, column, text in self._run.found(self._filename, self._lines):
            yield row, column, text, type(self)

    def _can_hold_any(self, options: argparse.Namespace) -> bool:
        return any(WORD in line for line in self._lines) or _is_configured(options, self._filename)


def _run_for(options: argparse.Namespace) -> Run:
    from perflint.flake8_run import Run  # only now: it takes longer than flake8 itself

    return Run.of(options)


def _is_selected(options: argparse.Namespace) -> bool:
    """Whether flake8 would show any finding of perflint."""
    from flake8.style_guide import Decision, DecisionEngine  # which flake8 has loaded

    engine = DecisionEngine(options)
    if not any(entry.startswith(PREFIX) or PREFIX.startswith(entry) for entry in engine.selected):
        return False
    return any(engine.make_decision(f"{PREFIX}{number:03}") is Decision.Selected for number in range(1000))


def _in_processes(options: argparse.Namespace) -> bool:
    """Whether flake8 may start processes for these options."""
    if STDIN in options.filenames or _is_alone(options):
        return False
    return bool(options.jobs.is_auto or options.jobs.n_jobs > 1)


def _is_alone(options: argparse.Namespace) -> bool:
    """Whether one file is checked, so that only a configuration can add others to what is read."""
    names: list[str] = options.filenames
    return len(names) == 1 and (names[0] == STDIN or not os.path.isdir(names[0]))  # noqa: PTH112 - pathlib is slower


def _is_configured(options: argparse.Namespace, filename: str) -> bool:
    """Whether there may be settings for a file: there a broken configuration has to be told, a context to be read."""
    if any(getattr(options, f"ppf_{name}") for name in _OPTIONS):
        return True
    directory = os.path.dirname(os.path.realpath(filename))  # noqa: PTH120
    while not options.ppf_isolated:
        if any(_holds(os.path.join(directory, name), word) for name, word in _CONFIGURATIONS.items()):  # noqa: PTH118
            return True
        above = os.path.dirname(directory)  # noqa: PTH120
        if above == directory:
            break
        directory = above
    return False


def _holds(path: str, word: bytes) -> bool:
    """Whether a file is there and has a word in it; one that cannot be read may have it."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return word in file.read()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
