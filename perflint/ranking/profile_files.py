"""Opens a profile of any kind, which its contents show, and reads it.

The kinds are the file of ``perflint profile``, a log of a training, a trace of ``paddle.profiler`` and an export of
Nsight Systems.
"""

from __future__ import annotations

import codecs
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, TypeGuard

from perflint.catalogue import PHASES
from perflint.files import plain_files
from perflint.ranking.shares import LOG, LineShare, Profiled, Span, TracedSteps, UnusableProfile, share
from perflint.text.visible import counted

FORMAT = "perflint-profile"
VERSION = 1

_SUM = re.compile(r"[0-9a-f]{64}")


_COST = re.compile(
    r"\b(?:avg_|train_)*(reader|data|batch)[_ ]cost\s*[:=]\s*"
    r"(\d{1,9}(?:\.\d{0,20})?(?:e[-+]?\d\d?)?)(?!\d)\s*(ms|us|s)?",
    re.IGNORECASE,
)
_UNITS = {"us": 1e-6, "ms": 1e-3}
_EVALUATION = re.compile(r"\b(?:eval|evaluat\w+|valid\w*|val|test|infer)\b", re.IGNORECASE)
_TRAINING = re.compile("train", re.IGNORECASE)
_LONGEST = 1 << 16
"""How many bytes of a row are examined."""
_ENOUGH = 3
"""With at least this many rows, the first one, which includes the start of the training, is left out."""
_HEAD = 1 << 20
_SQLITE = b"SQLite format 3\0"
_PACKED = (b"\x1f\x8b", b"PK\x03\x04", b"\x28\xb5\x2f\xfd")
_OWN = re.compile(rb'"format"\s*:\s*"%b"' % FORMAT.encode())


def read_recorded(data: bytes, name: str) -> Profiled:
    """Read the contents of a file.

    Raises:
        UnusableProfile: it is damaged, of another version, or contains no steps.
    """
    try:
        found = _object(json.loads(data), "the file")
    except (ValueError, RecursionError) as error:
        raise UnusableProfile("it is damaged (no valid JSON): run perflint profile again") from error
    version = found.get("version")
    if version != VERSION:
        raise UnusableProfile(
            f"it has version {version!r:.40} and perflint reads {VERSION}: update perflint, or profile again"
        )
    steps = found.get("steps")
    if not isinstance(steps, int) or isinstance(steps, bool) or steps < 1:
        raise UnusableProfile(
            "it has no steps: run perflint profile again, for as long as the training needs to take some"
        )
    lines = tuple(line for each in _list(found.get("events"), "events") if (line := _line(each)) is not None)
    device = found.get("device")
    return Profiled(
        name,
        "a profile of perflint",
        steps,
        "gpu" if isinstance(device, str) and device.startswith("gpu") else "cpu",
        _phases(found, lines),
        lines,
        files=_files(found),
        tells_all=True,
    )


def _phases(found: Mapping[str, Any], lines: tuple[LineShare, ...]) -> dict[str, float]:
    """The share of each phase that was seen, and of each kind of event that is not a separate phase."""
    phases: dict[str, float] = {}
    for phase, figures in _object(found.get("phases"), "phases").items():
        known = share(_object(figures, "phases").get("share"))
        if phase in PHASES and known:  # something that did not occur in these steps may occur in others
            phases[phase] = known
    kinds: dict[str, float] = {}
    for line in lines:
        if line.kind in PHASES and line.kind not in phases:
            kinds[line.kind] = kinds.get(line.kind, 0.0) + line.share
    return {**{kind: min(total, 1.0) for kind, total in kinds.items() if total}, **phases}


def _line(event: Any) -> LineShare | None:
    """The share of one event's line; None for an event without a line, or of which it is not known.

    A share of 0 is known if the line ran: it is too small for the decimals of the file.
    """
    known = _object(event, "events")
    path, row, part = known.get("path"), known.get("line"), share(known.get("share"))
    if not isinstance(path, str) or not isinstance(row, int) or isinstance(row, bool) or part is None:
        return None
    times = known.get("times")
    if not part and (known["share"] < 0 or not isinstance(times, int | float) or not times > 0):
        return None
    kind, phase, what = (value if isinstance(value := known.get(key), str) else "" for key in ("kind", "phase", "what"))
    return LineShare(path, row, kind, phase, what, part)


def _files(found: Mapping[str, Any]) -> dict[str, str]:
    files: dict[str, str] = {}
    for path, known in _object(found.get("files"), "files").items():
        digest = _object(known, "files").get("sha256")
        if isinstance(digest, str) and _SUM.fullmatch(digest):
            files[path] = digest
    return files


def _object(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise UnusableProfile(f"it is damaged ({what} should be an object of JSON): run perflint profile again")
    return value


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise UnusableProfile(f"it is damaged ({what} should be a list of JSON): run perflint profile again")
    return value


def read_log(file: BinaryIO, name: str) -> Profiled:
    """Read a training log: the average of its rows, which all have the same weight.

    PaddleDetection prints ``batch_cost: 0.4432 data_cost: 0.0002 ips: 4.5``, PaddleSeg ``batch_cost: 0.1, reader_cost:
    0.02``, PaddleClas ``reader_cost: 0.00071s, batch_cost: 0.05s`` in either order, PaddleOCR, PaddleRec and PaddleNLP
    ``avg_reader_cost: 0.02 s, avg_batch_cost: 0.5 s``, older ones ``batch_cost=0.1``, and ``paddle.profiler.Profiler``
    (``step_info()``) ``reader_cost: 0.02 s batch_cost: 0.5 s``. In all of them, the batch time includes the reading
    time.

    Raises:
        UnusableProfile: no row has the time of a step.
        OSError: it cannot be read.
    """
    count, readers, batches, without = 0, 0.0, 0.0, 0
    first: tuple[float, float] | None = None
    for reader, batch in _costs(_rows(file)):
        if reader is None:
            without += 1
            continue
        count, readers, batches = count + 1, readers + reader, batches + batch
        first = first or (reader, batch)
    if not count and not without:
        raise UnusableProfile(
            "it is not a profile that perflint knows: give the JSON of perflint profile, a trace of Paddle Profiler "
            "(export_chrome_tracing), an SQLite export of nsys, or a log with reader_cost and batch_cost"
        )
    if not count:
        note = f"{name} has batch_cost but no reader_cost, so it does not show what a finding can gain"
        return Profiled(name, LOG, without, notes=(note,))
    if count >= _ENOUGH and first is not None:
        count, readers, batches = count - 1, readers - first[0], batches - first[1]
    if batches <= 0:
        raise UnusableProfile("its batch_cost is 0 everywhere: log a training that takes time")
    notes = (f"{name} has only {counted(count, 'row')} with reader_cost: log some more",) if count < _ENOUGH else ()
    return Profiled(name, LOG, count, phases={"reader": min(readers / batches, 1.0)}, notes=notes)


def _costs(rows: Iterable[str]) -> Iterator[tuple[float | None, float]]:
    """The seconds for reading (None: not in the row) and for the batch, from each row that has them for a step."""
    for row in rows:
        found: dict[str, float] = {}
        matches = list(_COST.finditer(row))
        for match in matches:
            what = "batch" if match[1].lower() == "batch" else "reader"
            found.setdefault(what, float(match[2]) * _UNITS.get((match[3] or "").lower(), 1.0))
        if "batch" in found:
            before = row[: matches[0].start()]
            if not _EVALUATION.search(before) or _TRAINING.search(before):  # the row is not from an evaluation
                yield found.get("reader"), found["batch"]


def _rows(file: BinaryIO) -> Iterator[str]:
    """The rows of a file, and those overwritten by a progress bar; overlong rows are cut."""
    is_new = True
    while piece := file.readline(_LONGEST):
        if is_new:
            yield from piece.decode("utf-8", "replace").split("\r")
        is_new = piece.endswith(b"\n")


def open_profile(path: Path, name: str = "") -> Profiled:
    """Read a profile.

    Args:
        path: the file.
        name: the name that the user gave (default: the path).

    Raises:
        UnusableProfile: it cannot be read, is not a profile, is damaged, or contains no steps.
    """
    name = name or str(path)
    try:
        if problem := plain_files.problem(path):
            raise UnusableProfile(f"it cannot be read: {problem}")
        return _read(path, name)
    except (OSError, ValueError) as error:  # the name may contain a null character
        raise UnusableProfile(f"it cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _read(path: Path, name: str) -> Profiled:
    with path.open("rb") as file:
        head = file.read(_HEAD)
        if not head.strip():
            raise UnusableProfile("it is empty: profile again")
        if head.startswith(_SQLITE):
            return read_export(path, name)
        if head.startswith(_PACKED):
            raise UnusableProfile("it is compressed: decompress it first")
        if b"\0" in head:
            raise UnusableProfile(
                "it is not text: give what export_chrome_tracing of Paddle Profiler writes (not export_protobuf), and "
                "of Nsight Systems what nsys export --type sqlite makes"
            )
        text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        if text.startswith(b"{") and _OWN.search(head):
            return read_recorded(plain_files.read(path), name)
        file.seek(0)
        if text.startswith(b"{") and b'"%b"' % LIST.encode() in head:
            return read_trace(file, name)
        return read_log(file, name)


# -- the output of ``paddle.profiler.export_chrome_tracing``: JSON in the format of Chrome's tracing
#
# The names of events end in their time (``"Linear[12.5 us]"``). ``cat`` says what an event is: ``ProfileStep``,
# ``Dataloader``, ``Forward`` (by the class of the layer), ``Backward``, ``Optimization``, ``PythonUserDefined`` (the
# name of a ``RecordEvent``); with a GPU also ``CudaRuntime``, and ``Memcpy`` with the same correlation id. There is no
# event for a read on the host without a GPU. This comes from files that Paddle 3.3.1 wrote, and for the GPU from
# paddle/fluid/platform/profiler/chrometracing_logger.cc.
#
# Events are read one by one, so that a file of any size takes little memory.

_PIECE = 1 << 20
_MOST_BEFORE = 16 << 20
"""The most characters before the list."""
_LONGEST_TEXT = 4 << 20
"""The most characters of an entry."""

_BETWEEN = re.compile(r'\}\s*,\s*(?=\{\s*["}])')
"""The end of an entry and the beginning of the next one."""
_ENTRY = re.compile(r"[^\s,]")
"""The beginning of an entry, or the end of the list."""


LIST = "traceEvents"
"""The key of the list of events, by which such a file is recognized."""
_START = re.compile(rf'"{LIST}"\s*:\s*\[')
_STAGES = {"Dataloader": "reader", "Forward": "forward", "Backward": "backward", "Optimization": "optimizer"}
_KEPT = {*_STAGES, "ProfileStep", "PythonUserDefined", "CudaRuntime", "Memcpy"}
_TIME = re.compile(r"\[[\d.]+ \w+\]$")
_THREAD = re.compile(r"\d+")
_LAST = 2.0**63
"""The largest valid time, in microseconds."""
_MOST_OPEN = 100_000
"""How many copies can wait for their direction, which an event after the call shows."""


class JsonEntries:
    """The entries of the list of events in a JSON object, read from a file.

    The writer may not have escaped a name, or may have been killed: an entry that is not JSON is skipped and counted in
    ``spoilt``, and if the file ends within the list, ``is_cut`` is true.
    """

    def __init__(self, file: BinaryIO) -> None:
        """Read from the beginning of a file."""
        self.spoilt = 0
        self.is_cut = False
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._parse = json.JSONDecoder(strict=False).raw_decode
        self._text = ""
        self._is_over = False

    def __iter__(self) -> Iterator[Any]:
        """The entries in order.

        Raises:
            UnusableProfile: the list is missing, or an entry has no end.
            OSError: the file cannot be read.
        """
        while (match := _START.search(self._text)) is None:
            if len(self._text) > _MOST_BEFORE or not self._read_on():
                raise UnusableProfile(f"there is no {LIST} in it")
        at = match.end()
        while True:
            if at > _PIECE:
                self._text, at = self._text[at:], 0
            entry = _ENTRY.search(self._text, at)
            if entry is None:
                at = len(self._text)
                if self._read_on():
                    continue
                self.is_cut = True
                return
            at = entry.start()
            if self._text[at] == "]":
                return
            try:
                found, at = self._parse(self._text, at)
            except (ValueError, RecursionError):
                following = _BETWEEN.search(self._text, at)
                if following is not None:
                    self.spoilt += 1
                    at = following.end()
                elif len(self._text) - at > _LONGEST_TEXT:
                    raise UnusableProfile("an entry of its list has no end: it is damaged; profile again") from None
                elif not self._read_on():
                    self.is_cut = True
                    return
            else:
                yield found

    def _read_on(self) -> bool:
        """Read more; return whether there was any."""
        if self._is_over:
            return False
        piece = self._file.read(_PIECE)
        self._is_over = not piece
        self._text += self._decode(piece, not piece)
        return not self._is_over


def read_trace(file: BinaryIO, name: str) -> Profiled:
    """Read a trace; only the needed parts are kept in memory.

    Raises:
        UnusableProfile: it is damaged, or contains no steps.
        OSError: it cannot be read.
    """
    entries = JsonEntries(file)
    trace = _Trace()
    for entry in entries:
        if isinstance(entry, dict) and entry.get("ph") == "X":
            trace.add(entry)
    notes = []
    if entries.spoilt:
        are = "is" if entries.spoilt == 1 else "are"
        notes.append(f"{counted(entries.spoilt, 'event')} of {name} could not be read, and {are} left out")
    if entries.is_cut:
        notes.append(f"{name} is cut off: its events up to that point are used")
    return trace.profiled(name, notes)


class _Trace:
    """The events so far, with a timeline for each thread that records steps or layers."""

    def __init__(self) -> None:
        self._threads: dict[str, TracedSteps] = {}
        self._copies: dict[object, tuple[TracedSteps, Span]] = {}
        self._has_gpu = False

    def add(self, event: Mapping[str, Any]) -> None:
        """Add an event; one without a name or times is ignored."""
        kind, name, start, took = (event.get(key) for key in ("cat", "name", "ts", "dur"))
        if not (isinstance(kind, str) and kind in _KEPT and isinstance(name, str)):
            return
        if not (_is_time(start) and _is_time(took)):
            return
        span = float(start), float(start) + float(took)
        if kind == "Memcpy":
            self._add_copy(name, event)
            return
        traced = self._thread(event)
        name = _TIME.sub("", name)
        if kind == "ProfileStep":
            traced.add_step(span)
        elif kind == "CudaRuntime":
            self._add_call(traced, name, span, event)
        elif kind == "PythonUserDefined":
            traced.add(traced.names, name, *span)
        else:
            traced.marks[_STAGES[kind]].add(*span)
            if kind == "Forward":
                traced.add(traced.classes, name, *span)

    def profiled(self, name: str, notes: Iterable[str]) -> Profiled:
        """The profile from all events."""
        traced = max(self._threads.values(), key=lambda each: len(each.steps), default=TracedSteps())
        if not traced.steps:
            raise UnusableProfile(
                "it has no steps: call step() of the profiler at the end of each training step, and record some of them"
            )
        return traced.profiled(name, "a trace of Paddle Profiler", "gpu" if self._has_gpu else "cpu", notes)

    def _thread(self, event: Mapping[str, Any]) -> TracedSteps:
        """The timeline of an event's thread, which is ``"29948(Python)"`` or ``"29948(C++)"``."""
        number = _THREAD.match(str(event.get("tid")))
        key = f"{event.get('pid')} {number.group() if number else ''}"
        if key not in self._threads and len(self._threads) >= 10_000:
            raise UnusableProfile("it has more than 10,000 threads, which no training has")
        return self._threads.setdefault(key, TracedSteps())

    def _add_call(self, traced: TracedSteps, name: str, span: Span, event: Mapping[str, Any]) -> None:
        self._has_gpu = True
        if "Synchronize" in name:
            traced.calls["wait"].add(*span)
        elif "Memcpy" in name:
            correlation = _correlation(event)
            if correlation is not None and len(self._copies) < _MOST_OPEN:
                self._copies[correlation] = traced, span

    def _add_copy(self, name: str, event: Mapping[str, Any]) -> None:
        self._has_gpu = True
        traced, span = self._copies.pop(_correlation(event), (None, (0.0, 0.0)))
        phase = "read" if "DtoH" in name else "copy" if "HtoD" in name else ""
        if traced is not None and phase:
            traced.calls[phase].add(*span)


def _correlation(event: Mapping[str, Any]) -> int | None:
    arguments = event.get("args")
    found = arguments.get("correlation id") if isinstance(arguments, dict) else None
    return found if isinstance(found, int) else None


def _is_time(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _LAST


# -- the output of ``nsys export --type sqlite`` for a recording of NVIDIA Nsight Systems
#
# Tables exist only if they have contents, and all times are in nanoseconds
# (https://docs.nvidia.com/nsight-systems/nsys-exporter/exported_data.html). The training thread is the one with the
# ranges of the steps, or the one with the most calls. Its calls that wait (``cudaStreamSynchronize`` and the like) and
# those that copy (joined with ``CUPTI_ACTIVITY_KIND_MEMCPY``, whose ``copyKind`` is 1 to the device and 2 to the host)
# show how long the host was blocked.

_RUNTIME = "CUPTI_ACTIVITY_KIND_RUNTIME"
_COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
_WAITS = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
_RANGES = "NVTX_EVENTS"
_STRINGS = "StringIds"

_STEP = re.compile(r"(?:ProfileStep#|(?:\w*_)?(?:step|iter|iteration|batch)[ _:#=-]*)?\d{1,12}", re.IGNORECASE)
"""A range around one step: ``ProfileStep#7``, ``step 7``, ``iter_7``, or a number, as the Paddle suites name it."""
_PATTERNS = {
    "reader": r"_?DataLoader\w*|data[ _]?load(?:er|ing)?|reader|load(?:ing)? (?:data|batch)",
    "forward": r"forward|fwd",
    "backward": r"(?:gradient )?backward|bwd",
    "optimizer": r"optimization step|optimizer(?:[ _.]step)?|opt(?:imizer)?[ _]update",
}
"""What the ranges of the phases are called."""
_PLAIN = re.compile(r"CREATE\s+TABLE\b", re.IGNORECASE)
_LEAST_STEPS = 2
_PID = 1 << 24
"""From this bit on, a thread's global number contains its process."""


def read_export(path: Path, name: str) -> Profiled:
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
        return thread if steps >= _LEAST_STEPS else None

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
    phase = next((name for name, pattern in _PATTERNS.items() if re.fullmatch(pattern, text, re.IGNORECASE)), "")
    if phase:
        traced.marks[phase].add(start, end)
