"""Trials of the measurement itself: a script against itself, and against one made slower by a known time.

They are kept in ``evidence/trials/<device>/<name>.json`` and shown in docs/measured.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from perflint.bench.figures import figures
from perflint.bench.results import BenchReport
from perflint.measuring import Device
from tests.ips import evidence

FOLDER = "trials"
TOLERANCE = 0.1
"""The part of a planted time by which the one that is found may differ."""


@dataclass(frozen=True)
class Trial:
    """What was measured where the truth is known; ``planted_ms`` is 0 for a script against itself."""

    name: str
    device: Device
    environment: dict[str, str]
    planted_ms: float
    report: BenchReport

    @property
    def found_ms(self) -> float:
        """The milliseconds by which a step took longer in the second variant."""
        before, after = (figures(variant) for variant in self.report.variants)
        assert before is not None, "a run without steps is refused before"
        assert after is not None, "likewise"
        return after.batch_ms - before.batch_ms

    def path(self, directory: Path = evidence.EVIDENCE) -> Path:
        """Where it is kept."""
        return directory / FOLDER / self.device / f"{self.name}.json"

    def write(self, directory: Path = evidence.EVIDENCE) -> None:
        """Write the file."""
        evidence.write_whole(self.path(directory), asdict(self))

    def problems(self) -> list[str]:
        """What the measurement got wrong; an empty list where it did not."""
        if wrong := evidence.misstated(self.report):
            return wrong
        found = self.report.comparisons[0]
        if not self.planted_ms:
            held = found.low <= 1 <= found.high
            return [] if held else [f"of the same twice one is faster: {found.low:.3f} to {found.high:.3f}"]
        if abs(self.found_ms - self.planted_ms) > TOLERANCE * self.planted_ms:
            return [f"{self.planted_ms:g} ms were planted, and {self.found_ms:.1f} ms found"]
        return [] if found.high < 1 else [f"the slower one is not slower: {found.low:.3f} to {found.high:.3f}"]


def read(path: Path) -> Trial:
    """The trial in a file.

    Raises:
        KeyError: a field is missing.
        json.JSONDecodeError: it is no JSON.
    """
    data = json.loads(path.read_text(encoding="utf-8"))
    return Trial(**{**data, "report": BenchReport.from_json(data["report"])})


def committed(directory: Path = evidence.EVIDENCE) -> Iterator[Trial]:
    """The trials that are kept, by device and name."""
    for path in sorted((directory / FOLDER).glob("*/*.json")):
        yield read(path)
