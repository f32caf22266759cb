"""A report: the findings of a run, with everything that the output formats show, and what several of them need."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote_from_bytes

from perflint import catalogue
from perflint.catalogue import FILE_CODES
from perflint.configuration.settings import Settings
from perflint.files.plain_files import absolute
from perflint.files.plain_files import repository as git_top
from perflint.findings import Confidence, Finding, Level, StepReport, by_place
from perflint.text.source import LineTable, Source
from perflint.text.visible import Palette, escaped, visible

if TYPE_CHECKING:
    from perflint.ranking.ranked import Ranking


@dataclass(frozen=True)
class Report:
    """Findings with the sources they point into.

    ``applicable`` is the lowest level that ``--fix`` would apply under the options of this run; ``start`` is the
    deepest directory above all paths to check. ``is_complete``: all of them were checked. ``ranking``: what profiles
    say about the findings, which are then in its order (None: no profile was given). ``width``: width of the terminal
    that shows the report (None: a file or a pipe, for which no line is wrapped). ``steps``: what is to be said of the
    training steps before their findings. ``small``: the findings of steps that are left out for their low impact.
    ``names``: how the user named files, by their paths in ``steps``.
    """

    findings: Sequence[Finding]
    sources: Mapping[str, Source]
    applicable: Level = Level.SAFE
    palette: Palette = field(default_factory=Palette)
    settings: Settings = field(default_factory=Settings)
    start: Path = field(default_factory=Path)
    is_complete: bool = True
    ranking: Ranking | None = None
    width: int | None = None
    steps: Sequence[StepReport] = ()
    small: Sequence[Finding] = ()
    names: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def places(self) -> Places:
        """The paths of files for programs that know the repository."""
        return Places(repository(self.start, self.settings.root))

    def lines(self, path: str) -> LineTable:
        """The line table of a file; an empty one if the file could not be read."""
        source = self.sources.get(path)
        return source.lines if source else LineTable("")

    def gain(self, finding: Finding) -> str:
        """What a finding can save by the profile, such as ``3.3 % of the step (exact): at most 1.03x``; or ""."""
        return visible(self.ranking.of(finding).text) if self.ranking is not None else ""

    def message(self, finding: Finding) -> str:
        """The message of a finding and what it can save, for formats without a separate field for that."""
        gain = self.gain(finding)
        return f"{message(finding)} Profile: {gain}." if gain else message(finding)

    def fingerprints(self) -> list[str]:
        """The fingerprint of each finding, independent of the order of the findings."""
        from perflint.suppress.baseline import fingerprints  # reports for people do not need it

        placed = by_place(self.findings) if self.ranking is not None else self.findings
        prints = fingerprints(placed, self.sources, self.places.root)
        by_finding = {id(finding): each for finding, each in zip(placed, prints, strict=True)}
        return [by_finding[id(finding)] for finding in self.findings]

    def would_fix(self, finding: Finding) -> bool:
        """Whether ``--fix`` would apply the fix of this finding."""
        return finding.fix is not None and finding.fix.level >= self.applicable


# -- JSON -------------------------------------------------------------------------------------------------------------


def json_text(value: object, indent: int | None = None) -> str:
    r"""``value`` as JSON in ASCII, because a pipe may have any encoding, and a path may contain any bytes.

    It contains no control characters except for line ends, and nothing that CI systems would take for a command (see
    ``visible``).

    >>> print(json_text("##vso[\x1b"))
    "#\u0023vso[\u001b"
    """
    return json.dumps(value, indent=indent).replace("\x7f", r"\u007f").replace("##", r"#\u0023")


# -- facts of a code --------------------------------------------------------------------------------------------------

_NO_BOTTLENECK = FILE_CODES | {"PPF002", "PPF004"}
"""PPF002 and PPF004 are about comments and settings."""


@dataclass(frozen=True)
class Facts:
    """``bottleneck`` is None for codes that are not about code; ``url`` is empty for codes without a rule."""

    name: str
    bottleneck: str | None
    url: str | None


def facts(code: str) -> Facts:
    """The facts of a code; a code without a rule file is its own name."""
    rule = catalogue.shipped().get(code)
    if rule is None:
        return Facts(code, None, None)
    return Facts(rule.name, None if code in _NO_BOTTLENECK else rule.bottleneck, rule.url)


def message(finding: Finding) -> str:
    """The message of a finding and what it can cost, for formats without a separate field for that."""
    if finding.impact is None:
        return finding.message
    return f"{finding.message} ({finding.impact.level} impact: {finding.impact.reason})"


def severity(finding: Finding) -> str:
    """``error``: a file that could not be checked; ``note``: perflint is not sure; ``warning``: any other finding."""
    if finding.code in FILE_CODES:
        return "error"
    return "note" if finding.confidence is Confidence.LOW else "warning"


# -- paths for other programs -----------------------------------------------------------------------------------------

STDIN = "-"
_SURROGATE = re.compile("[\ud800-\udfff]")


class Places:
    """Paths relative to one directory."""

    def __init__(self, root: str) -> None:
        """``root`` is an absolute path."""
        self.root = root
        self._bases = [(of, os.path.join(of(root), "")) for of in (absolute, os.path.realpath)]  # noqa: PTH118

    @property
    def root_uri(self) -> str:
        """The root as a ``file`` URI that ends in a slash."""
        return Path(self.root).as_uri().rstrip("/") + "/"

    def inside(self, path: str) -> str | None:
        """``path`` relative to the root, with ``/`` between its parts; None if it lies outside.

        Links are followed only if the path as written lies outside.
        """
        if path == STDIN:
            return STDIN
        for whole, base in self._bases:
            place = whole(path)
            if place.startswith(base):
                return place[len(base) :].replace(os.sep, "/")
            if place + os.sep == base:
                return "."
        return None

    def shown(self, path: str) -> str:
        """``path`` relative to the root, or the absolute path if it lies outside, as valid text."""
        inside = self.inside(path)
        return valid(absolute(path).replace(os.sep, "/") if inside is None else inside)

    def uri(self, path: str) -> tuple[str, bool]:
        """The URI of a file, and whether it is relative to the root; any bytes of a path are percent-encoded."""
        inside = self.inside(path)
        if inside is None:
            return Path(absolute(path)).as_uri(), False
        return quote_from_bytes(os.fsencode(inside)), True


def repository(start: Path, otherwise: Path) -> str:
    """The top of the git repository around ``start``; if there is none, ``otherwise``, as an absolute path.

    A work tree and a submodule have a file ``.git`` instead of the directory.
    """
    top = git_top(Path(absolute(start))) or git_top(Path(os.path.realpath(start)))
    return str(top) if top is not None else absolute(otherwise)


def valid(text: str) -> str:
    r"""``text`` with undecodable bytes escaped: the byte 0xFF of a path becomes the four characters ``\xff``."""
    return _SURROGATE.sub(lambda match: escaped(match[0]), text)
