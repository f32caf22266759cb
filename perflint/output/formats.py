"""The output formats: each has an entry here, and a function in a module, which is imported when it is used.

The function takes a report and yields the text in parts. Its module may have ``shortcomings(report)``.
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

_ELSEWHERE = {
    "json-lines": ("json", "render_lines"),
    **{name: ("ci_reports", f"render_{name}") for name in ("github", "gitlab", "junit", "rdjson")},
}
"""The module and the function of a format; the others are ``render`` in a module of their own name."""

FOR_PEOPLE = ("full", "concise")
"""The formats that end with a sentence about the whole run; the others contain only what their readers expect."""


def renderer(name: str) -> Callable[[Report], Iterator[str]]:
    """The function that renders a format of `FORMATS`."""
    render: Callable[[Report], Iterator[str]] = getattr(*_place(name))
    return render


def shortcomings(name: str, report: Report) -> Iterator[str]:
    """Warnings about a report in this format, such as limits of the programs that read it."""
    speaks = getattr(_place(name)[0], "shortcomings", None)
    return speaks(report) if speaks else iter(())


def _place(name: str) -> tuple[Any, str]:
    from importlib import import_module

    module, function = _ELSEWHERE.get(name, (name, "render"))
    return import_module(f"perflint.output.{module}"), function
