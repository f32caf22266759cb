"""What the fix of a rule was measured to gain, in sentences, and why it was not measured elsewhere.

The figures come from ``rules/measured.json``, which ``python -m tests.ips.summary`` writes from the measured steps in
``evidence/`` (docs/measuring.md). It is read to show a page, never for a check.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from perflint.bench.figures import Verdict, interval, number, ratio, verdict
from perflint.bench.results import Comparison
from perflint.catalogue import DEVICES, PADDLE_DEVICES, Device, Rule, rules_directory

FILE = "measured.json"
LABEL = "PyTorch stand-in, not a Paddle measurement"
"""Precedes each figure that was measured without Paddle."""

PLACES: Mapping[Device, str] = {"cpu": "the CPU", "gpu": "a GPU", "stand-in-gpu": "a GPU"}
_FRAMEWORKS = {"paddle": "Paddle", "torch": "PyTorch"}
_OPENING = {Verdict.FASTER: "", Verdict.NO_GAIN: "No gain was measured: ", Verdict.SLOWER: "A loss was measured: "}


@dataclass(frozen=True)
class Saved:
    """What the fix saves each time the problem occurs.

    ``what``: what happens, such as "save"; ``per_step``: how often, in a step of the script that was measured;
    ``milliseconds``: what each costs, with ``low`` to ``high`` as its 95 % interval.
    """

    what: str
    per_step: float
    milliseconds: float
    low: float
    high: float

    @property
    def figures(self) -> str:
        """``16.0 ms (13.6 to 18.4)``."""
        return f"{number(self.milliseconds)} ms ({_signed(self.low)} to {_signed(self.high)})"

    @property
    def shares(self) -> tuple[str, str]:
        """The lengths of steps of which this is 1 % and 5 %, if it happens once per step."""
        return _time(100 * self.milliseconds), _time(20 * self.milliseconds)

    @property
    def sentence(self) -> str:
        """The figures in words, with the steps of which they are 1 % and 5 %."""
        if self.low <= 0:
            return f"The fix saves {self.figures} for each {self.what}, which may be nothing."
        one, five = self.shares
        return (
            f"The fix saves {self.figures} for each {self.what}; with one in each step, that is 1 % of a step of {one} "
            f"and 5 % of one of {five}."
        )


def _signed(value: float) -> str:
    return f"-{number(-value)}" if value < 0 else number(value)


def _time(milliseconds: float) -> str:
    if milliseconds < 1000:
        return f"{number(milliseconds)} ms"
    return f"{number(milliseconds / 1000)} s"


@dataclass(frozen=True)
class Measurement:
    """One rule's fix on one device.

    ``ips_before`` and ``ips_after`` are samples per second, ``ratio`` is the second divided by the first, with ``low``
    to ``high`` as its 95 % interval; ``machine`` names the processor or the card, ``versions`` has paddle's or torch's,
    ``date`` is a day (ISO 8601), and ``script`` the name of the script. ``saved``: milliseconds, each time; ``remark``:
    how to read the figures; ``changed_since``: what has changed since, if it has to be measured again.
    """

    rule: str
    device: Device
    ratio: float
    low: float
    high: float
    ips_before: float
    ips_after: float
    machine: str
    versions: Mapping[str, str]
    date: str
    script: str
    saved: Saved | None = None
    remark: str = ""
    changed_since: str = ""

    @property
    def comparison(self) -> Comparison:
        """The figures in the form that ``perflint bench`` uses."""
        return Comparison(self.script, self.ips_before, self.ips_after, self.ratio, self.low, self.high, None)

    @property
    def verdict(self) -> Verdict:
        """The verdict that the interval allows."""
        return verdict(self.comparison)

    @property
    def figures(self) -> str:
        """``1.42x (1.31 to 1.54)``."""
        return f"{ratio(self.comparison)}x ({interval(self.comparison)})"

    @property
    def made_with(self) -> str:
        """The machine, and the framework with its version."""
        named = [f"{name} {self.versions[key]}" for key, name in _FRAMEWORKS.items() if key in self.versions]
        return ", ".join([self.machine, *named])

    @property
    def path(self) -> str:
        """The file with the measured steps, relative to the top of the repository."""
        return f"evidence/{self.device}/{self.rule}.json"

    def to_json(self) -> dict[str, Any]:
        """The measurement for ``json.dumps``, without the code and the device."""
        left_out = ("rule", "device", *(key for key in ("saved", "remark", "changed_since") if not getattr(self, key)))
        return {key: value for key, value in asdict(self).items() if key not in left_out}

    @classmethod
    def from_json(cls, rule: str, device: Device, data: Mapping[str, Any]) -> Measurement:
        """Read what ``to_json`` has written.

        Raises:
            TypeError: a field is missing, or unknown.
        """
        saved = data.get("saved")
        return cls(rule, device, **{**data, "saved": saved and Saved(**saved)})


Measured = Mapping[str, Mapping[Device, Measurement]]
"""Measurements by rule and by device."""


def read(path: Path) -> Measured:
    """The measurements in a file; none if there is no such file.

    Raises:
        TypeError: a field is missing, or unknown.
        json.JSONDecodeError: it is not JSON.
    """
    if not path.exists():
        return {}
    data = json.loads(path.read_text(encoding="utf-8"))
    return {
        code: {device: Measurement.from_json(code, device, fields) for device, fields in found.items()}
        for code, found in data.items()
    }


@cache
def shipped() -> Measured:
    """The measurements that come with perflint."""
    return read(rules_directory() / FILE)


def paragraph(rule: Rule, measured: Measured | None = None) -> str:
    """What was measured for a rule, or why nothing was, in one paragraph.

    Args:
        rule: the rule.
        measured: the measurements (default: those that come with perflint).
    """
    return " ".join(text for _, text in sentences(rule, measured))


def sentences(rule: Rule, measured: Measured | None = None) -> Iterator[tuple[Device | None, str]]:
    """A sentence for each device; the device is None if one reason applies to all of them."""
    found = (shipped() if measured is None else measured).get(rule.code, {})
    if rule.measuring.nowhere:
        yield None, f"Not measured: {rule.measuring.nowhere}."
        return
    for device in DEVICES:
        if device in found:
            yield device, sentence(rule, found[device])
        elif device in PADDLE_DEVICES:
            yield device, _missing(rule, device)


def sentence(rule: Rule, measurement: Measurement) -> str:
    """The figures of one measurement; those of a stand-in are labelled as such."""
    device = measurement.device
    label = "" if device in PADDLE_DEVICES else f"{LABEL}: "
    opening = _OPENING[measurement.verdict]
    if label and opening:
        opening = opening[0].lower() + opening[1:]
    comparison = measurement.comparison
    figures = f"{ratio(comparison)}x ips ({interval(comparison)}) on {PLACES[device]}"
    source = f"{measurement.made_with}, {measurement.date} ({measurement.path})."
    why = explanation(rule, measurement)
    return " ".join(
        [
            f"{label}{opening}{figures}: {source}",
            *([f"What may explain it: {why}."] if why else []),
            *([measurement.saved.sentence] if measurement.saved else []),
            *([f"{measurement.remark}."] if measurement.remark else []),
            *([f"To be measured again: {measurement.changed_since}."] if measurement.changed_since else []),
        ]
    )


def explanation(rule: Rule, measurement: Measurement) -> str:
    """What the rule's file says about a measurement that shows no gain, "" if it shows one."""
    return "" if measurement.verdict is Verdict.FASTER else rule.measuring.no_gain_on.get(measurement.device, "")


def data(rule: Rule, measured: Measured | None = None) -> list[dict[str, Any]]:
    """The sentences and figures as JSON-ready values, one entry per device; ``figures`` None: nothing was measured."""
    found = (shipped() if measured is None else measured).get(rule.code, {})
    figures: dict[Device | None, dict[str, Any]] = {device: item.to_json() for device, item in found.items()}
    return [
        {"device": device, "text": text, "figures": figures.get(device)} for device, text in sentences(rule, measured)
    ]


def _missing(rule: Rule, device: Device) -> str:
    why = rule.measuring.why_not(device)
    return f"Not measured on {PLACES[device]}: {why}." if why else f"Not yet measured on {PLACES[device]}."
