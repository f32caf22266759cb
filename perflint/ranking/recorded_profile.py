"""Reads the JSON that ``perflint profile`` writes: what each line of a training costs, measured while it ran."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from perflint.catalogue import PHASES
from perflint.ranking.shares import LineShare, Profiled, UnusableProfile, share

FORMAT = "perflint-profile"
VERSION = 1

_SUM = re.compile(r"[0-9a-f]{64}")


def read(data: bytes, name: str) -> Profiled:
    """Read the contents of a file.

    Raises:
        UnusableProfile: it is damaged, of another version, or contains no steps.
    """
    found = _object(_json(data), "the file")
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


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UnusableProfile("it is damaged (no valid JSON): run perflint profile again") from error


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
