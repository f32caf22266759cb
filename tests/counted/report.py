"""The text of docs/counted.md, and which rules are to be on it."""

from __future__ import annotations

from collections.abc import Mapping

from perflint.bench.figures import Verdict
from perflint.catalogue import PADDLE_DEVICES, Rule, shipped
from perflint.output.measured import shipped as measured

from .checking import Sides
from .page import page
from .table import FOLDER, rows

PAGE = FOLDER.parents[1] / "docs" / "counted.md"


def performance_rules() -> list[Rule]:
    """The rules that say what makes training slow: all but those about files that cannot be read and comments."""
    return [rule for code, rule in sorted(shipped().items()) if not code.startswith("PPF0")]


def timed() -> list[str]:
    """The rules whose gain was measured in ips, with Paddle."""
    return [
        code
        for code, found in sorted(measured().items())
        if any(item.verdict is Verdict.FASTER for device, item in found.items() if device in PADDLE_DEVICES)
    ]


def text(counts: Mapping[str, Sides]) -> str:
    """The page in Markdown."""
    return page(counts, rows(), performance_rules(), timed())
