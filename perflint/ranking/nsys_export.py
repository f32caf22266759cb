"""Reads the output of ``nsys export --type sqlite`` for a recording of NVIDIA Nsight Systems.

Tables exist only if they have contents, and all times are in nanoseconds
(https://docs.nvidia.com/nsight-systems/nsys-exporter/exported_data.html). The training thread is the one with the
ranges of the steps, or the one with the most calls. Its calls that wait (``cudaStreamSynchronize`` and the like) and
those that copy (joined with ``CUPTI_ACTIVITY_KIND_MEMCPY``, whose ``copyKind`` is 1 to the device and 2 to the host)
show how long the host was blocked.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from perflint.ranking.shares import Profiled, Span, TracedSteps, UnusableProfile

_RUNTIME = "CUPTI_ACTIVITY_KIND_RUNTIME"
_COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
_WAITS = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
_RANGES = "NVTX_EVENTS"
_STRINGS = "StringIds"

_STEP = re.compile(r"(?:ProfileStep#|(?:\w*_)?(?:step|iter|iteration|batch)[ _:#=-]*)?\d{1,12}", re.IGNORECASE)
"""A range around one step: ``ProfileStep#7``, ``step 7``, ``iter_7``, or a number, as the Paddle suites name it."""
_PHASES = {
    "reader": r"_?DataLoader\w*|data[ _]?load(?:er|ing)?|reader|load(?:ing)? (?:data|batch)",
    "forward": r"forward|fwd",
    "backward": r"(?:gradient )?backward|bwd",
    "optimizer": r"optimization step|optimizer(?:[ _.]step)?|opt(?:imizer)?[ _]update",
}
"""What the ranges of the phases are called."""
_PLAIN = re.compile(r"CREATE\s+TABLE\b", re.IGNORECASE)
_ENOUGH = 2
_PID = 1 << 24
"""From this bit on, a thread's global number contains its process."""


def read(path: Path, name: str) -> Profiled:
    """Read an export.

    Raises:
        UnusableProfile: it is damaged, or contains no calls to the device.
    """
    try:
        with closing(_open(path)) as database:
            return _Export(database).profiled(name)
    except sqlite3.Error as error:
        raise UnusableProfile(
            f"it is damaged ({error}): export the recording again with nsys export --type sqlite"
        ) from error


def _open(path: Path) -> sqlite3.Connection:
    """Open the database read-only, without trusting its functions and views."""
    database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    database.text_factory = lambda data: data.decode("utf-8", "replace")
    database.execute("PRAGMA trusted_schema = OFF")
    database.execute("PRAGMA query_only = ON")
    return database


class _Export:
    """The existing tables of one export."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._columns = dict(self._tables())

    def _tables(self) -> Iterator[tuple[str, frozenset[str]]]:
        """The columns of each known table, without views and computed columns."""
        known = (_RUNTIME, _COPIES, _WAITS, _RANGES, _STRINGS)
        rows = self._database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
        for name, made_by in rows:
            if name in known and _PLAIN.match(str(made_by)):
                # table names come from the list above
                columns = self._database.execute(f"PRAGMA table_info({name})").fetchall()
                yield name, frozenset(str(column[1]) for column in columns)

    def _has(self, table: str, *columns: str) -> bool:
        return self._columns.get(table, frozenset()).issuperset(columns)

    def profiled(self, name: str) -> Profiled:
        """The profile from the tables."""
        if not self._has(_RUNTIME, "start", "end", "globalTid", "correlationId"):
            raise UnusableProfile("it holds no CUDA calls of the host: record with nsys profile --trace=cuda,nvtx")
        stepping = self._stepping()
        thread, half = (stepping, None) if stepping is not None else self._busiest()
        traced = TracedSteps([] if half is None else [half])
        if half is None:
            for start, end, owner, text in self._named_ranges():
                if owner == thread:
                    _add_range(traced, text, start, end)
        for query in self._queries():
            for start, end, kind in self._database.execute(query, (thread,)):
                if isinstance(start, int) and isinstance(end, int) and end >= start:
                    traced.calls[kind].add(start, end)
        found = traced.profiled(name, "an export of Nsight Systems", "gpu")
        if half is None:
            return found
        note = (
            f"no range in {name} names the steps, so shares are of the second half of the recording: put each step "
            "into a range, such as paddle.base.core.nvprof_nvtx_push(str(step))"
        )
        return replace(found, steps=0, notes=(note,))

    def _stepping(self) -> int | None:
        """The thread whose ranges name the steps; None if there is none."""
        numbers = Counter(thread for _, _, thread, text in self._named_ranges() if _STEP.fullmatch(text))
        thread, steps = max(numbers.items(), key=lambda item: item[1], default=(None, 0))
        return thread if steps >= _ENOUGH else None

    def _named_ranges(self) -> Iterator[tuple[int, int, int, str]]:
        """The start, the end, the thread and the text of each range."""
        if not self._has(_RANGES, "start", "end", "globalTid"):
            return
        texts = ["r.text"] if self._has(_RANGES, "text") else []
        join = ""
        if self._has(_RANGES, "textId") and self._has(_STRINGS, "id", "value"):
            texts.append("s.value")
            join = f"LEFT JOIN {_STRINGS} s ON s.id = r.textId"
        if texts:
            text = f"COALESCE({', '.join([*texts, 'NULL'])})"
            query = (
                f"SELECT r.start, r.end, r.globalTid, {text} FROM {_RANGES} r {join} WHERE r.end > r.start "
                "ORDER BY r.start"
            )
            for start, end, thread, said in self._database.execute(query):
                if isinstance(said, str) and all(isinstance(each, int) for each in (start, end, thread)):
                    yield start, end, thread, said

    def _busiest(self) -> tuple[int, Span]:
        """The thread with the most calls, and its time from their middle on: the start of the training is over then."""
        query = (
            f"SELECT globalTid, MIN(start), MAX(end) FROM {_RUNTIME} GROUP BY globalTid ORDER BY COUNT(*) DESC LIMIT 1"
        )
        thread, first, last = self._database.execute(query).fetchone() or (None, None, None)
        if not isinstance(thread, int):
            raise UnusableProfile("it holds no CUDA calls of the host: record a training on a GPU")
        if not (isinstance(first, int) and isinstance(last, int)):
            raise UnusableProfile("its times are not numbers: export the recording again")
        return thread, ((first + last) / 2, float(last))

    def _queries(self) -> Iterator[str]:
        """The queries for a thread's calls that copy, and for those that wait, which they did if names are missing."""
        if self._has(_COPIES, "correlationId", "copyKind"):
            same = f"AND m.globalPid = r.globalTid - r.globalTid % {_PID}" if self._has(_COPIES, "globalPid") else ""
            yield (
                f"SELECT r.start, r.end, CASE m.copyKind WHEN 1 THEN 'copy' ELSE 'read' END FROM {_RUNTIME} r "
                f"JOIN {_COPIES} m ON m.correlationId = r.correlationId {same} "
                "WHERE r.globalTid = ? AND m.copyKind IN (1, 2) ORDER BY r.start"
            )
        waits = ""
        if self._has(_STRINGS, "id", "value") and self._has(_RUNTIME, "nameId"):
            waits = f"JOIN {_STRINGS} s ON s.id = r.nameId AND s.value LIKE 'cu%Synchronize%'"
        elif self._has(_WAITS, "correlationId"):
            waits = f"JOIN {_WAITS} w ON w.correlationId = r.correlationId"
        if waits:
            yield f"SELECT r.start, r.end, 'wait' FROM {_RUNTIME} r {waits} WHERE r.globalTid = ? ORDER BY r.start"


def _add_range(traced: TracedSteps, text: str, start: int, end: int) -> None:
    if _STEP.fullmatch(text):
        traced.add_step((start, end))
        return
    traced.add(traced.names, text, start, end)
    phase = next((name for name, pattern in _PHASES.items() if re.fullmatch(pattern, text, re.IGNORECASE)), "")
    if phase:
        traced.marks[phase].add(start, end)
