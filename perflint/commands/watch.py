"""``perflint check --watch``: check again when something has changed, until Ctrl-C.

After the first change of a file, everything is checked as usual. Then, while nobody waits, a session is prepared for
the next change of that file.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from perflint.commands import CommandError, internal_error, is_debugging, refuse_options
from perflint.commands.print_report import STANDARD, wanted_outputs
from perflint.commands.read_files import STDIN, Batch, common_directory, find, read, resolve_settings
from perflint.configuration import config_files
from perflint.configuration.settings import Settings
from perflint.files.plain_files import from_here
from perflint.findings import Finding
from perflint.inputs.input_files import read_inputs
from perflint.output.console import Console
from perflint.output.formats import FOR_PEOPLE
from perflint.output.summary import News
from perflint.run import discovery
from perflint.text.source import Source
from perflint.text.visible import listed, takes_codes, visible

if TYPE_CHECKING:
    from perflint.run.session import Session


MOST_FILES = 20
"""For how many files a session is prepared: those changed last. Hand edits do not change more at once."""

_MOST_CHARACTERS = 10_000_000
"""The largest total size of the files of a session, which keeps their index in memory."""


class WatchSession:
    """Remembers the files, and their index, from one change to the next."""

    def __init__(self) -> None:
        self._session: Session | None = None
        self._sources: Mapping[str, Source] = {}
        self._settings: Settings | None = None
        self._edited: dict[str, None] = {}
        self._is_ready = False

    def findings(self, batch: Batch) -> list[Finding] | None:
        """The findings in the files that could be read, from the session if it has them; None: check everything.

        Args:
            batch: the files as they are now; they are compared with those of the last check.
        """
        changed = self._changed(batch)
        self._is_ready = self._is_ready and changed is not None and self._edited.keys() >= set(changed)
        for path in changed or ():
            self._edited.pop(path, None)
            self._edited[path] = None
        self._sources, self._settings = batch.sources, batch.examined
        if not self._is_ready or changed is None:
            return None
        try:
            return self._asked(changed)
        except Exception:
            self._drop()
            if is_debugging():
                raise
            return None  # the full check reports what is wrong, if it still is

    def get_ready(self) -> None:
        """Prepare a session for the next change of a file that has changed before; takes as long as a check."""
        if self._is_ready:
            return
        self._drop()
        for path in [path for path in self._edited if path not in self._sources] + [*self._edited][:-MOST_FILES]:
            self._edited.pop(path, None)
        size = sum(len(source.text) for source in self._sources.values())
        if not self._edited or self._settings is None or size > _MOST_CHARACTERS:
            return
        from perflint.run.session import Session  # a watch over files that never change does not need it

        gc.collect()  # the parts of an index refer to one another
        try:
            self._session = Session(self._sources, self._settings, self._edited)
        except Exception:  # the full check has reported it already
            self._drop()
            return
        gc.freeze()
        self._is_ready = True

    def _changed(self, batch: Batch) -> list[str] | None:
        """The files whose text has changed; None if anything else has changed too."""
        before, now = self._sources, batch.sources
        if batch.examined != self._settings or list(before) != list(now):
            return None
        changed = [path for path, source in now.items() if source is not before[path] and source != before[path]]
        if len(changed) > MOST_FILES or any(_layout(now[path]) != _layout(before[path]) for path in changed):
            return None
        return changed

    def _asked(self, changed: list[str]) -> list[Finding] | None:
        """Pass these changes to the session, and return its findings."""
        session = self._session
        assert session is not None
        for path in changed:
            session.edit(path, self._sources[path].text)
        if session.unparsed:
            return None  # the session would check everything too, in one process
        session.catch_up()
        return session.findings()

    def _drop(self) -> None:
        self._session, self._is_ready = None, False
        gc.unfreeze()


def _layout(source: Source) -> tuple[str, bool]:
    return source.encoding, source.bom


Check = Callable[[argparse.Namespace, Batch, Console], int]
Stamp = tuple[int, int, int]
Stamps = Mapping[str, Stamp]

PAUSE = 0.5
"""Seconds between two scans of the files."""

SETTLED = 0.1
"""Seconds without further changes before a change is checked: a file may be saved in several writes."""

_SHARE = 10
"""Scanning the files may take at most one part in this many of the time."""

_MOST_LOOKS = 50
"""How often a scan is repeated while files keep changing, before they are checked anyway."""

_MOST_NAMES = 5

_CLEAR = "\x1b[H\x1b[2J"
"""Clears the screen, but not the scrollback."""


@dataclass(frozen=True)
class Clock:
    """The clock of a watch: seconds to measure with, the time of day to print, and waiting."""

    sleep: Callable[[float], None] = time.sleep
    seconds: Callable[[], float] = time.monotonic
    time_of_day: Callable[[], str] = lambda: time.strftime("%H:%M:%S")


def run(options: argparse.Namespace, check: Check, console: Console, clock: Clock | None = None) -> int:
    """Check, then again whenever a file or the configuration has changed; return the exit status when Ctrl-C ends it.

    Args:
        options: those of ``perflint check``.
        check: checks the files that were read, and shows the findings.
        console: where changes and errors are shown.
        clock: the clock.

    Raises:
        CommandError: an option cannot be used with ``--watch``; or the first check fails.
    """
    _refuse(options)
    try:
        Watch(options, check, console, clock or Clock()).run()
    except KeyboardInterrupt:
        for process in multiprocessing.active_children():
            process.kill()
    return 0


def _refuse(options: argparse.Namespace) -> None:
    names = ("--fix", "--add-noqa", "--diff", "--output-file", "--timing")
    given = {name: getattr(options, name[2:].replace("-", "_")) not in (None, False) for name in names}
    refuse_options(given, "--watch checks again and again, so it cannot be used together with")
    if options.stdin_filename or STDIN in options.paths:
        raise CommandError("--watch needs files to look at: it cannot be used with standard input")
    if any(output.place == STANDARD and output.format not in FOR_PEOPLE for output in wanted_outputs(options)):
        raise CommandError("--watch shows findings to people: use --output-format full or concise")


class Watch:
    """Scans the files regularly, and checks them when something has changed."""

    def __init__(self, options: argparse.Namespace, check: Check, console: Console, clock: Clock) -> None:
        self._options = options
        options.news = News()
        self._check = check
        self._console = console
        self._clock = clock
        self._kept = Kept()
        self._following = WatchSession()
        self._files = Files(options)

    def run(self) -> None:
        """Watch until interrupted.

        Raises:
            CommandError: the first check cannot be made.
            KeyboardInterrupt: the user has pressed Ctrl-C.
        """
        seen = self._files.look()
        self._clear()
        self._show()
        if not self._options.quiet:
            self._console.note("Watching for changes; press Ctrl-C to stop.")
        while True:
            before = self._files.settings, self._files.code
            now = self._changed(seen)
            what = changes(seen, now)
            seen = now
            if not what or (self._files.settings is not None and (self._files.settings, self._files.code) == before):
                continue
            is_clear = self._clear()
            if not self._options.quiet:
                start = "" if is_clear else "\n"
                self._console.write(f"{start}{self._clock.time_of_day()} {visible(described(what))}\n")
            try:
                self._show()
            except CommandError as error:
                for line in (f"perflint: {error}", *error.more):
                    self._console.note(line)
            self._following.get_ready()

    def _clear(self) -> bool:
        """Clear the terminal that shows the findings, without its scrollback; False if it is not a terminal."""
        if not takes_codes(sys.stdout):
            return False
        self._console.write(_CLEAR)
        return True

    def _show(self) -> None:
        try:
            batch = read(self._options, self._kept.read_all)
            batch = replace(batch, known=self._following.findings(batch))
            self._check(self._options, batch, self._console)
        except CommandError:
            raise
        except Exception as error:
            if is_debugging():
                raise
            self._console.note(internal_error(error))
        finally:
            self._console.close()

    def _changed(self, seen: Stamps) -> Stamps:
        """Wait until files have changed and then stayed the same for a moment; return them."""
        pause = PAUSE
        while True:
            self._clock.sleep(pause)
            started = self._clock.seconds()
            now = self._files.look()
            pause = max(PAUSE, (self._clock.seconds() - started) * (_SHARE - 1))
            if now != seen:
                return self._settled(now)

    def _settled(self, now: Stamps) -> Stamps:
        for _ in range(_MOST_LOOKS):
            self._clock.sleep(SETTLED)
            before, now = now, self._files.look()
            if now == before:
                break
        return now


class Files:
    """The files that a run reads: those to check, those of other kinds, and possible configuration files."""

    def __init__(self, options: argparse.Namespace) -> None:
        """Raises CommandError if the configuration cannot be used."""
        self._options = options
        self._paths: list[Path] = options.paths or [Path()]
        self._configuration = stamps(self._configurations())
        self._last = resolve_settings(options, self._paths)
        self.settings: Settings | None = self._last
        """None while the configuration is invalid: then the previous settings are used to find files."""
        self.code: Stamps = {}
        """The stamps of the files to check."""

    def look(self) -> Stamps:
        """The stamps of all existing files, by path."""
        configuration = stamps(self._configurations())
        if configuration != self._configuration:
            self._configuration = configuration
            self.settings = None
            with suppress(CommandError):  # the next check reports what is wrong
                self.settings = self._last = resolve_settings(self._options, self._paths)
        found = [str(path) for path in self._found()]
        inputs = read_inputs(found, self._last.root)
        if self.settings is not None:
            self.settings = replace(self.settings, inputs=inputs)
        self.code = stamps(found)
        return {**configuration, **stamps(str(from_here(path)) for path in inputs.files), **self.code}

    def _found(self) -> list[Path]:
        there = [path for path in self._paths if path.exists()]
        try:
            return find(there, self._last, force_exclude=self._options.force_exclude)[0].files
        except (CommandError, OSError):  # deleted meanwhile: the next scan sees what exists
            return []

    def _configurations(self) -> list[str]:
        """The files that contain the configuration, or would if they existed."""
        if self._options.isolated:
            return []
        if self._options.config:
            return [str(self._options.config)]
        start = common_directory([*self._paths, *(self._options.context or ())]).resolve()
        return [str(from_here(path)) for path in config_files.places(start)]


class Kept:
    """Reads files, and keeps them in memory until they change."""

    def __init__(self) -> None:
        self._read: dict[Path, tuple[Stamp | None, dict[str, Source], list[Finding]]] = {}

    def read_all(self, paths: Iterable[Path]) -> tuple[dict[str, Source], list[Finding]]:
        """Like ``discovery.read_all``; files that are not among these paths are forgotten."""
        self._read = {path: self._entry(path) for path in paths}
        sources: dict[str, Source] = {}
        unreadable: list[Finding] = []
        for _, found, problems in self._read.values():
            sources |= found
            unreadable += problems
        return sources, unreadable

    def _entry(self, path: Path) -> tuple[Stamp | None, dict[str, Source], list[Finding]]:
        stamp = stamp_of(path)  # taken before reading: a file written meanwhile is read again
        known = self._read.get(path)
        if known is not None and stamp is not None and known[0] == stamp:
            return known
        return (stamp, *discovery.read_all([path]))


def stamp_of(path: Path | str) -> Stamp | None:
    """The times and the size of a file, which change when it is written, replaced or made readable; None: no file."""
    try:
        status = os.stat(path)  # noqa: PTH116 - no Path per file
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ctime_ns


def stamps(paths: Iterable[str]) -> Stamps:
    """The stamps of the files that exist."""
    return {path: stamp for path in paths if (stamp := stamp_of(path)) is not None}


def changes(before: Stamps, after: Stamps) -> dict[str, list[str]]:
    """The paths of changed, new and gone files, under these words; words without paths are left out."""
    found = {
        "changed": [path for path in after if path in before and after[path] != before[path]],
        "new": [path for path in after if path not in before],
        "gone": [path for path in before if path not in after],
    }
    return {word: sorted(paths) for word, paths in found.items() if paths}


def described(what: Mapping[str, list[str]]) -> str:
    """Describe changes on one line.

    >>> described({"changed": ["a.py", "b.py"], "gone": ["c.py"]})
    'changed: a.py, b.py; gone: c.py'
    """
    return "; ".join(f"{word}: {listed(paths, _MOST_NAMES)}" for word, paths in what.items())
