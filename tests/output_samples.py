"""What the tests of the output formats share: a text, findings in it, and how they are rendered."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from perflint.findings import Edit, Finding, Fix, Impact, ImpactLevel, Level
from perflint.output.report import Report
from perflint.text.source import Source
from perflint.text.visible import Palette

TEXT = """\
import paddle
for x in loader:
    total += loss.item()
    done()
loader = DataLoader(data)
"""


def at(text: str, part: str) -> tuple[int, int]:
    assert text.count(part) == 1
    return text.index(part), text.index(part) + len(part)


def finding(code: str, part: str, new: str | None, level: Level = Level.SAFE, source: str = TEXT) -> Finding:
    """A finding on the only ``part`` of the text, with a fix that writes ``new`` there."""
    span = at(source, part)
    reason = "" if level is Level.SAFE else "the shuffle order changes"
    fix = None if new is None else Fix("Change it", (Edit(*span, new),), level, reason)
    return Finding(code, "a.py", *span, "It costs time.", fix)


BATCH = Impact(ImpactLevel.HIGH, "a batch", 20.0)
SAFE = finding("PPF201", "loss.item()", "loss.detach()")
UNSAFE = finding("PPF101", "DataLoader(data)", "DataLoader(data, num_workers=4)", Level.UNSAFE)
SHOWN = finding("PPF401", "done()", "<N>", Level.DISPLAY)
PLAIN = finding("PPF201", "loader:", None)


def report(*findings: Finding, source: str = TEXT, applicable: Level = Level.SAFE, colour: bool = False) -> Report:
    return Report(findings, {"a.py": Source("a.py", source)}, applicable, Palette(colour))


def rendered(render: Callable[[Report], Iterator[str]], shown: Report) -> str:
    return "".join(render(shown))
