"""The output formats: each has an entry here, and a module of the same name, which is imported when it is used.

A module has ``render(report)``, which yields the text in parts, and may have ``shortcomings(report)``. A format with a
hyphen is another function of a module: ``json-lines`` is ``render_lines`` in ``json``.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # the command line imports this at every start
    from collections.abc import Callable, Iterator
    from typing import Any

    from perflint.output.report import Report

FORMATS = {
    "full": "each finding with its code, its fix and why",
    "concise": "a line for each finding",
    "json": "a list of objects as Ruff writes it",
    "json-lines": "the same objects, one on each line",
    "github": "workflow commands that GitHub Actions shows beside the code",
    "gitlab": "a code quality report",
    "junit": "test cases, for what shows test results",
    "rdjson": "what reviewdog reads",
    "sarif": "SARIF 2.1.0, for GitHub code scanning and viewers",
}

FOR_PEOPLE = ("full", "concise")
"""The formats that end with a sentence about the whole run; the others contain only what their readers expect."""


def renderer(name: str) -> Callable[[Report], Iterator[str]]:
    """The function that renders a format of `FORMATS`."""
    kind = name.partition("-")[2]
    render: Callable[[Report], Iterator[str]] = getattr(_module(name), f"render_{kind}" if kind else "render")
    return render


def shortcomings(name: str, report: Report) -> Iterator[str]:
    """Warnings about a report in this format, such as limits of the programs that read it."""
    speaks = getattr(_module(name), "shortcomings", None)
    return speaks(report) if speaks else iter(())


def _module(name: str) -> Any:
    from importlib import import_module

    return import_module(f"perflint.output.{name.partition('-')[0]}")
