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
from perflint.files import plain_files
from perflint.flake8_shared import PREFIX, SHARED, STDIN, is_worth_checking, left_behind

if TYPE_CHECKING:
    from flake8.options.manager import OptionManager

    from perflint.flake8_run import Run

_OPTIONS = ("select", "ignore", "extend_select", "min_confidence", "min_impact", "config", "context")
_OWN_FILES = (".perflint.toml", "perflint.toml")
_PASSED_OVER = frozenset({".git", ".nox", ".tox", ".venv", "node_modules", "site-packages", "venv"})
"""Directories that can be large, and are excluded by default."""


class Plugin:
    """Reports the findings in one file, from a check of all paths that flake8 was given.

    Args:
        tree: not used; flake8 hands whole files to plugins that ask for it.
        lines: the text of the file; used only for standard input.
        filename: its path, as flake8 found it on its command line or in a directory named there.
    """

    name = "perflint"
    version = __version__
    _options: argparse.Namespace | None = None  # None: no rule of perflint is selected
    _asked: list[str] | None = None  # the paths that have been checked
    _run: Run | None = None  # None: nothing can be found in them

    def __init__(self, tree: ast.AST, lines: Sequence[str], filename: str) -> None:
        self._lines = lines
        self._filename = filename

    @staticmethod
    def add_options(manager: OptionManager) -> None:
        """Add perflint's options to those of flake8, on its command line and in its configuration files."""

        def add(name: str, text: str, **more: Any) -> None:
            manager.add_option(f"--ppf-{name}", default=None, parse_from_config=True, help=text, **more)

        rules = {"comma_separated_list": True, "metavar": "RULES"}
        add("select", "use these rules of perflint instead of its default rules", **rules)
        add("ignore", "do not use these rules of perflint", **rules)
        add("extend-select", "use these rules of perflint in addition to the others", **rules)
        add("min-confidence", "report findings of at least this confidence: low, medium or high", metavar="LEVEL")
        add("min-impact", "report findings of at least this impact: low, medium or high", metavar="LEVEL")
        add("config", "a pyproject.toml or perflint.toml to use", normalize_paths=True, metavar="FILE")
        add("isolated", "do not read any configuration of perflint", action="store_true")
        paths = {"comma_separated_list": True, "normalize_paths": True, "metavar": "DIRS"}
        add("context", "directories whose files are also read, to understand those that are checked", **paths)

    @classmethod
    def parse_options(cls, options: argparse.Namespace) -> None:
        """Store the options; check the files at once if flake8 is about to start processes.

        Raises:
            ExecutionError: the configuration cannot be used.
        """
        cls._asked = None
        cls._options = options if _is_selected(options) else None
        if cls._options is not None and multiprocessing.parent_process() is None and _in_processes(options):
            run = cls._run_for(options)
            method = multiprocessing.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]
            if method != "fork":  # a forked process has everything that this process has
                os.environ[SHARED] = f"{os.getpid()}:{'' if run is None else run.written()}"

    @classmethod
    def _run_for(cls, options: argparse.Namespace) -> Run | None:
        """The run over the paths of these options; None if nothing can be found in them."""
        if cls._asked != options.filenames:
            left = left_behind()
            holds_any = _can_hold_any(options) if left is None else left != ""
            cls._run = _run_of(options) if holds_any else None
            cls._asked = [*options.filenames]
        return cls._run

    def run(self) -> Iterator[tuple[int, int, str, type]]:
        """The findings of the file: row from 1, column from 0 in code points, code and message.

        Raises:
            ExecutionError: the configuration cannot be used.
        """
        options = self._options
        if options is None:
            return
        if STDIN not in options.filenames or self._filename != options.stdin_display_name:
            run = self._run_for(options)
        elif any(map(is_worth_checking, self._lines)) or _is_configured(options, [self._filename]):
            run = _run_of(options)
        else:
            run = None
        for row, column, text in run.found(self._filename, self._lines) if run is not None else ():
            yield row, column, text, type(self)


def _run_of(options: argparse.Namespace) -> Run:
    from perflint.flake8_run import Run  # imported late, because importing it takes longer than flake8 itself

    return Run.of(options)


def _is_selected(options: argparse.Namespace) -> bool:
    """Whether flake8 would show any finding of perflint."""
    from flake8.style_guide import Decision, DecisionEngine  # flake8 has imported this already

    engine = DecisionEngine(options)
    if not any(entry.startswith(PREFIX) or PREFIX.startswith(entry) for entry in engine.selected):
        return False
    return any(engine.make_decision(f"{PREFIX}{number:03}") is Decision.Selected for number in range(1000))


def _in_processes(options: argparse.Namespace) -> bool:
    """Whether flake8 may start processes for these options."""
    names: list[str] = options.filenames
    if STDIN in names or (len(names) == 1 and not os.path.isdir(names[0])):
        return False
    return bool(options.jobs.is_auto or options.jobs.n_jobs > 1)


def _can_hold_any(options: argparse.Namespace) -> bool:
    """Whether the paths of these options can contain any finding."""
    names = [name for name in options.filenames if name != STDIN] or ["."]
    return _is_configured(options, names) or any(_is_worth_reading(path) for path in _files(names))


def _files(names: Sequence[str]) -> Iterator[str]:
    """The files that perflint would read without any configuration."""
    for name in names:
        if not os.path.isdir(name):
            yield name
        for directory, below, files in os.walk(name):
            below[:] = [entry for entry in below if entry not in _PASSED_OVER]
            yield from (os.path.join(directory, file) for file in files if file.endswith(".py"))


def _is_configured(options: argparse.Namespace, names: Sequence[str]) -> bool:
    """Whether settings may exist for some of these paths: they could be wrong, or name more files to read."""
    if any(getattr(options, f"ppf_{name}") for name in _OPTIONS):
        return True
    absolute = [os.path.abspath(name) for name in names]
    directories = [path if os.path.isdir(path) else os.path.dirname(path) for path in absolute]
    try:
        directory = os.path.realpath(os.path.commonpath(directories))
    except ValueError:  # the paths are on different drives
        return True
    while not options.ppf_isolated:
        if _configures(directory):
            return True
        above = os.path.dirname(directory)
        if above == directory:
            break
        directory = above
    return False


def _is_worth_reading(path: str) -> bool:
    """Whether a file mentions Paddle, or is not text, which is a finding too."""
    try:
        text = _data(path).decode()
    except (OSError, UnicodeDecodeError):
        return True
    return is_worth_checking(text) or "\0" in text


def _configures(directory: str) -> bool:
    """Whether a directory may contain a configuration of perflint; an unreadable file counts as one."""
    if any(os.path.exists(os.path.join(directory, name)) for name in _OWN_FILES):
        return True
    try:
        return b"perflint" in _data(os.path.join(directory, "pyproject.toml"))
    except OSError:
        return True


def _data(path: str) -> bytes:
    """The bytes of a file; empty if there is no such file."""
    try:
        return plain_files.read(path)
    except (FileNotFoundError, NotADirectoryError):
        return b""
