"""Finds the releases of Paddle that a project supports, so that no edit is offered that the oldest of them cannot run.

``paddle.full([], 0.5)`` makes a tensor without dimensions, which Paddle supports since 2.5. If ``requirements.txt``
says ``paddlepaddle>=2.2``, that line would fail for some of the project's users. So such an edit says which release it
needs (``Fix.paddle``), and ``hold_back`` turns it into words if the project accepts an older one.

The sources are the requirements next to the files and above them (``input_files.nearest``), and what the code itself
requires, as ``paddle.utils.require_version("2.2")`` does (``lint/version_checks.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from perflint.findings import Fix, Level

Version = tuple[int, ...]
"""The numbers of a release without zeros at the end: ``(2, 5)`` for 2.5 and for 2.5.0."""

_LONGEST_ROW = 2_000

_NAME = r"(?<![\w.-])paddlepaddle(?:[-_.][a-z][a-z0-9]*)*(?:\[[^\]]*\])?"
_ONE = r"(?:===?|~=|>=|<=|!=|>|<|=|\^|~)\s*v?\d[\w.*+-]*"
_REQUIREMENT = re.compile(rf"{_NAME}\s*\(?\s*(?P<wanted>{_ONE}(?:\s*,\s*{_ONE})*)", re.IGNORECASE)
_POETRY = re.compile(
    r"""^\s*["']?paddlepaddle[\w.-]*["']?\s*=\s*(?:\{.*?\bversion\s*=\s*)?["'](?P<wanted>[^"']*)["']""", re.IGNORECASE
)
_WHEEL = re.compile(r"paddlepaddle(?:_[a-z0-9]+)?-(?P<version>\d+(?:\.\d+)+)[\w.+%]*-(?:cp|py)\d", re.IGNORECASE)
_PART = re.compile(r"(?P<sign>===?|~=|>=|<=|!=|>|<|=|\^|~)?\s*v?(?P<version>\d+(?:\.\d+)*)")
_COMMENT = re.compile(r"(?:^|\s)#")


@dataclass(frozen=True)
class Admitted:
    """The oldest Paddle that one place accepts.

    ``path`` and ``line``: that place (line 0: no particular line). ``excluded``: the place accepts only releases before
    ``version``, as ``paddlepaddle<2.5`` does.
    """

    version: Version
    path: str
    line: int = 0
    excluded: bool = False

    def lacks(self, needed: Version) -> bool:
        """Whether the place accepts a release before ``needed``."""
        return needed > self.version or (self.excluded and needed == self.version)

    def __str__(self) -> str:
        place = f"{self.path} line {self.line}" if self.line else self.path
        version = ".".join(map(str, self.version))
        return f"{place} admits nothing from {version} on" if self.excluded else f"{place} admits {version}"


def version_of(text: str) -> Version | None:
    """The release that a text names: ``(2, 2, 2)`` for ``2.2.2.post112``; None for ``develop``."""
    match = re.match(r"\s*v?(\d{1,9}(?:\.\d{1,9})*)", text)
    if match is None:
        return None
    numbers = [int(part) for part in match[1].split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers) or None


def lower_bound(specifier: str) -> tuple[Version, bool] | None:
    """The oldest release that a specifier such as ``>=2.2,<3`` accepts, and whether that one itself is excluded.

    An upper bound alone gives that bound: ``<2.5`` says that 2.5 is excluded. None if no release is named.
    """
    least: list[Version] = []
    most: list[tuple[Version, bool]] = []
    for part in specifier.split(","):
        match = _PART.match(part.strip())
        version = version_of(match["version"]) if match is not None else None
        if match is None or version is None:
            continue
        if match["sign"] in ("<", "<="):
            most.append((version, match["sign"] == "<"))
        elif match["sign"] != "!=":
            least.append(version)
    if least:
        return max(least), False
    return min(most, key=lambda item: (item[0], not item[1])) if most else None


def stated(name: str, text: str) -> Iterator[tuple[int, Version, bool]]:
    """The rows of a file that require some Paddle: row, oldest release, and whether that one is excluded.

    Args:
        name: the name of the file, which shows its format.
        text: all of it.
    """
    for row, line in enumerate(text.splitlines(), 1):
        if len(line) > _LONGEST_ROW or "paddlepaddle" not in line.lower():
            continue
        line = " ".join(line.split())  # the patterns below would try a run of spaces in many ways
        comment = _COMMENT.search(line)
        found = _bound(name, line[: comment.start()] if comment else line)
        if found is not None:
            yield row, *found


def _bound(name: str, line: str) -> tuple[Version, bool] | None:
    poetry = _POETRY.match(line) if name.endswith(".toml") else None
    if poetry is not None:
        return lower_bound(poetry["wanted"])
    wheel = _WHEEL.search(line)
    if wheel is not None:
        version = version_of(wheel["version"])
        return (version, False) if version else None
    match = _REQUIREMENT.search(line)
    return lower_bound(match["wanted"]) if match is not None else None


def oldest(admitted: Iterable[Admitted]) -> Admitted | None:
    """The one of several places that accepts the oldest release."""
    return min(admitted, key=lambda item: (item.version, not item.excluded, item.path, item.line), default=None)


def hold_back(fix: Fix, admitted: Admitted | None) -> Fix:
    """The fix, without its edits if the project accepts a Paddle that lacks what they use."""
    needed = version_of(fix.paddle)
    if admitted is None or needed is None or not fix.edits or not admitted.lacks(needed):
        return fix
    reason = f"the edit needs Paddle {fix.paddle}, and {admitted}"
    return replace(fix, edits=(), imports=(), unneeded=(), level=Level.DISPLAY, reason=reason)
