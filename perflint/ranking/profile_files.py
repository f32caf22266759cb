"""Opens a profile of any kind, which its contents show, and reads those of ``perflint profile`` and training logs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from perflint.catalogue import PHASES
from perflint.files import plain_files
from perflint.ranking import chrome_trace, nsys_export
from perflint.ranking.shares import LOG, LineShare, Profiled, UnusableProfile, share
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
            return nsys_export.read(path, name)
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
        if text.startswith(b"{") and b'"%b"' % chrome_trace.LIST.encode() in head:
            return chrome_trace.read(file, name)
        return read_log(file, name)
