"""Compares what a training did with what perflint says of its lines.

A line that waits is predicted if a finding of a fitting rule lies on it, on another line of its statement, or on a call
that led there; or if the message of one lists the line.  A wait for a loader is predicted where the loader is made.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .statements import Rows, rows

Place = tuple[str, int]

BLOCKING = ("host read", "sized by values", "loader wait", "save", "wait")
"""Kinds of events during which training waits."""

_READS = frozenset({"PPF201", "PPF202", "PPF203", "PPF206", "PPF207", "PPF208", "PPF209", "PPF210"})
FITTING: Mapping[str, frozenset[str]] = {
    "host read": _READS,
    "sized by values": _READS,
    "to_tensor": frozenset({"PPF205", "PPF206"}),
    "loader wait": frozenset({"PPF101", "PPF107"}),
    "save": frozenset({"PPF401", "PPF402"}),
    "log": frozenset({"PPF405", "PPF202", "PPF201"}),
    "wait": frozenset({"PPF204", "PPF703"}),
}
"""The rules that foretell each kind of event."""

OFTEN = 0.5
"""A line that runs in at least this share of the steps is one "at each step"."""


@dataclass(frozen=True)
class Found:
    """A finding: its places are its own and those that its message lists; ``related`` are loops, calls, loaders."""

    code: str
    impact: str
    confidence: str
    message: str
    places: tuple[Place, ...]
    related: tuple[Place, ...]

    @classmethod
    def from_json(cls, data: Mapping[str, Any], root: Path) -> Found:
        """One of the findings of ``perflint check --output-format json``."""

        def seen(path: str) -> str:
            return Path(path).relative_to(root).as_posix() if Path(path).is_absolute() else path

        path = seen(data["filename"])
        own = [(path, row) for row in data.get("rows") or [data["location"]["row"]]]
        related = [(seen(each["filename"]), each["row"], each["message"]) for each in data.get("related") or ()]
        reads = [(path, row) for path, row, message in related if "read" in message]
        impact = (data.get("impact") or {}).get("level", "")
        others = tuple((path, row) for path, row, message in related if "read" not in message)
        places = (*own, *reads, *((path, row) for row in _listed(data["message"])))
        return cls(data["code"], impact, data["confidence"], data["message"], places, others)


def _listed(message: str) -> list[int]:
    """The lines of "(3 more waits there: lines 4, 5, 9)"."""
    found = re.search(r"\(\d+ more [^)]*?lines? ([\d, ]+)", message)
    return [int(row) for row in re.findall(r"\d+", found[1])] if found else []


class Findings:
    """The findings in a project, by the statements they are about."""

    def __init__(self, found: Iterable[Found], root: Path) -> None:
        self.root = root
        self.found = tuple(found)
        self._at: dict[tuple[str, Rows], list[Found]] = {}
        for each in self.found:
            for path, row in each.places:
                self._at.setdefault(self.statement((path, row)), []).append(each)

    def statement(self, place: Place) -> tuple[str, Rows]:
        """The file and the rows of the statement at a place."""
        return place[0], rows(self.root / place[0], place[1])

    def predicts(self, event: Mapping[str, Any]) -> list[str]:
        """The codes of the findings that foretell an event, and how."""
        codes = FITTING[event["kind"]]
        if event["kind"] == "loader wait":
            made = loader_of(event)
            if made is None:
                return []
            near = [each for each in self.found if each.code in codes and self.is_about(each, made)]
            return sorted({each.code for each in near})
        for place in event["stack"]:
            near = [each for each in self._at.get(self.statement((place[0], place[1])), ()) if each.code in codes]
            if near:
                return sorted({each.code for each in near})
        return []

    def is_about(self, found: Found, place: Place) -> bool:
        """Whether a finding is about what is made at a place."""
        there = self.statement(place)
        return any(self.statement(each) == there for each in (*found.places, *found.related))

    def watched(self) -> dict[str, list[int]]:
        """The rows to look out for while the script runs: those of the statements that findings are about."""
        result: dict[str, set[int]] = {}
        for path, (first, last) in self._at:
            result.setdefault(path, set()).update(range(first, last + 1))
        return {path: sorted(found) for path, found in sorted(result.items())}


def loader_of(event: Mapping[str, Any]) -> Place | None:
    """Where the loader of a wait is made, if that is in the project."""
    found = re.search(r"@(.+):(\d+)$", event["note"])
    return (found[1], int(found[2])) if found and found[1] != "?" else None


def workers_of(event: Mapping[str, Any]) -> int:
    """How many workers the loader of a wait has."""
    found = re.match(r"\d+", event["note"])
    return int(found[0]) if found else 0


def lines(trace: Mapping[str, Any], findings: Findings) -> list[dict[str, Any]]:
    """Each line of a trace, with the kind of event: how often, and what predicts it."""
    steps = max(trace["steps"] - 1, 1)
    found: dict[tuple[str, str, int, str], dict[str, Any]] = {}
    often = {
        (event["kind"], *event["stack"][0])
        for event in trace["events"]
        if event["phase"] == "step" and len(event["in_steps"]) >= OFTEN * steps
    }
    for event in trace["events"]:
        path, row = event["stack"][0]
        phase = "loader" if "thread" in event["note"] else event["phase"]
        if phase == "epoch end" and (event["kind"], path, row) in often:
            phase = "step"  # the last step of an epoch
        line = found.setdefault(
            (event["kind"], path, row, phase),
            {
                "kind": event["kind"], "file": path, "line": row, "phase": phase, "what": set(), "via": set(),
                "note": set(), "times": 0, "in_steps": set(), "predicted": set(), "called": event["stack"][1:4],
            },
        )  # fmt: skip
        line["what"].add(event["what"])
        line["via"] |= {event["via"]} - {""}
        line["note"] |= {event["note"]} - {""}
        line["times"] += event["times"]
        line["in_steps"] |= set(event["in_steps"])
        line["predicted"] |= set(findings.predicts(event))
    return [_line(each, steps) for _, each in sorted(found.items())]


def _line(line: dict[str, Any], steps: int) -> dict[str, Any]:
    waits = line["kind"] in BLOCKING and not (
        line["kind"] == "loader wait" and all(workers_of({"note": note}) for note in line["note"])
    )
    often, times = len(line.pop("in_steps")), line.pop("times")
    return {
        **line,
        **{name: sorted(line[name]) for name in ("what", "via", "note", "predicted")},
        "times_a_step": round(times / steps, 2),
        "share_of_steps": round(often / steps, 2),
        "blocks": waits,
    }


_CHECKED = {code: kind for kind, codes in FITTING.items() for code in codes}


def ran(trace: Mapping[str, Any], findings: Findings) -> list[dict[str, Any]]:
    """Each finding whose line ran in a step, and whether the line did what the message says."""
    result = []
    for found in findings.found:
        phases = _phases(found, trace, findings)
        if not phases:
            continue
        told, did = _did(found, trace, findings, phases)
        if told:
            path, row = found.places[0]
            head = {"code": found.code, "file": path, "line": row, "impact": found.impact}
            head["confidence"] = found.confidence
            result.append({**head, "ran": phases, "did": did, "seen": told, "message": found.message})
    return result


def _phases(found: Found, trace: Mapping[str, Any], findings: Findings) -> dict[str, int]:
    """In which phases the line of a finding ran, and in how many steps."""
    if found.code == "PPF101":
        made = [tuple(place) for place in trace["loaders"]] if found.places[0][0] in trace["files"] else []
        return {"made": 1} if any(findings.is_about(found, place) for place in made) else {}
    path, (first, last) = findings.statement(found.places[0])
    result: dict[str, int] = {}
    for where, row, phases in trace["ran"]:
        if where == path and first <= row <= last:
            for phase, count in phases.items():
                result[phase] = max(result.get(phase, 0), count)
    return result


def _did(found: Found, trace: Mapping[str, Any], findings: Findings, phases: Mapping[str, int]) -> tuple[str, bool]:
    """What was seen of a finding, "" if a trace cannot show it, and whether that is what the message says."""
    if found.code == "PPF601":
        without = any("no grad" not in phase for phase in phases)
        return ("gradients on" if without else "gradients off"), without
    if found.code not in _CHECKED:
        return "", False
    if found.code == "PPF101":
        return _waited(found, trace, findings)
    own = _events_at(found, trace, findings)
    if not own:
        return "ran, without such an event", False
    share = len({step for event in own for step in event["in_steps"]}) / max(trace["steps"] - 1, 1)
    whats = ", ".join(sorted({event["what"] for event in own}))
    where = ", ".join(sorted({event["phase"] for event in own}))
    return f"{whats} in {share:.0%} of the steps ({where})", share >= OFTEN or found.code in FITTING["save"]


def _waited(found: Found, trace: Mapping[str, Any], findings: Findings) -> tuple[str, bool]:
    """Whether training has waited for the loader of a finding, and that had no workers."""
    waits = [(event, loader_of(event)) for event in trace["events"] if event["kind"] == "loader wait"]
    own = [event for event, made in waits if made and findings.is_about(found, made)]
    if not own:
        return "made, but not read in the traced steps", False
    none = all(not workers_of(event) for event in own)
    return ("waited for, no workers" if none else "waited for, with workers"), none


def _events_at(found: Found, trace: Mapping[str, Any], findings: Findings) -> list[Mapping[str, Any]]:
    """The events of a fitting kind on the statement of a finding, or beyond a call in it."""
    kinds = {kind for kind, codes in FITTING.items() if found.code in codes}
    there = findings.statement(found.places[0])
    return [
        event
        for event in trace["events"]
        if event["kind"] in kinds and any(findings.statement((path, row)) == there for path, row in event["stack"])
    ]
