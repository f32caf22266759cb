"""What ``perflint check`` is to check: files and directories, or standard input under a name."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from perflint import discovery, intake
from perflint.commands import CommandError
from perflint.commands.settings import common_directory, resolve
from perflint.findings import Finding
from perflint.patterns import Patterns, relative
from perflint.settings import Settings
from perflint.source import Source, UnreadableSource, decode

STDIN = Path("-")
ReadAll = Callable[[Iterable[Path]], tuple[dict[str, Source], list[Finding]]]


@dataclass(frozen=True)
class Batch:
    """The files of one run.

    ``unreadable`` are findings about files and directories that could not be read; ``piped`` is what came through
    standard input (None: files were named); ``known`` is what a check of the sources finds (None: nobody knows yet).
    """

    settings: Settings
    sources: dict[str, Source]
    unreadable: list[Finding]
    piped: bytes | None = None
    known: list[Finding] | None = None


def read(options: argparse.Namespace, read_all: ReadAll | None = None) -> Batch:
    """Find and read what the arguments name.

    Args:
        options: the arguments.
        read_all: reads the files (default: ``intake.read_all``).

    Raises:
        CommandError: a path does not exist, the configuration cannot be used, or paths and standard input are mixed.
    """
    paths: list[Path] = options.paths or ([STDIN] if options.stdin_filename else [Path()])
    if STDIN not in paths:
        return _read_files(options, paths, read_all or intake.read_all)
    if len(paths) > 1:
        raise CommandError("standard input (-) cannot be checked together with other paths: run perflint twice")
    return _read_stdin(options, options.stdin_filename or STDIN)


def _read_files(options: argparse.Namespace, paths: list[Path], read_all: ReadAll) -> Batch:
    if options.stdin_filename:
        raise CommandError("--stdin-filename names what comes through standard input: give - as the only path")
    settings = resolve(options, common_directory(paths))
    try:
        found = discovery.python_files(paths, settings, force_exclude=options.force_exclude)
    except discovery.NoSuchPath as error:
        raise CommandError(str(error)) from error
    sources, unreadable = read_all(found.files)
    problems = [Finding("PPF003", str(problem.path), 0, 0, problem.message) for problem in found.problems]
    return Batch(settings, sources, [*problems, *unreadable])


def _read_stdin(options: argparse.Namespace, name: Path) -> Batch:
    settings = resolve(options, common_directory([name]))
    data = sys.stdin.buffer.read()
    if options.force_exclude and _excluded(name, settings):
        return Batch(settings, {}, [], data)
    try:
        return Batch(settings, {str(name): decode(str(name), data)}, [], data)
    except UnreadableSource as error:
        return Batch(settings, {}, [intake.unreadable_file(str(name), error)], data)


def _excluded(name: Path, settings: Settings) -> bool:
    patterns = Patterns((*settings.exclude, *settings.extend_exclude))
    return patterns.covers(relative(str(name), str(settings.root)))
