"""What is new and what is gone in a report since the previous one, for ``--watch``."""

from __future__ import annotations

from collections.abc import Mapping

from perflint.output.report import Report
from perflint.text.visible import visible_path

_MOST = 5
"""How many new findings, and how many gone ones, are listed."""


class News:
    """Compares each report with the previous one; a finding that only moves to another row counts as the same."""

    def __init__(self) -> None:
        self._before: Mapping[str, str] | None = None

    def since(self, report: Report) -> list[str]:
        """The lines to show: ``1 new, 1 gone:`` and which; none for the first report, or if nothing has changed."""
        if not report.is_complete:
            return []
        before, self._before = self._before, _by_fingerprint(report)
        if before is None:
            return []
        new = [place for key, place in self._before.items() if key not in before]
        gone = [place for key, place in before.items() if key not in self._before]
        if not new and not gone:
            return []
        return [f"{len(new)} new, {len(gone)} gone:", *_listed("+", new), *_listed("-", gone)]


def _by_fingerprint(report: Report) -> dict[str, str]:
    """Where each finding is, by its fingerprint."""
    places = {}
    for key, finding in zip(report.fingerprints(), report.findings, strict=True):
        row, _ = report.lines(finding.path).position(finding.start)
        places[key] = f"{visible_path(finding.path)}:{row} {finding.code}"
    return places


def _listed(sign: str, places: list[str]) -> list[str]:
    more = [f"  {sign} {len(places) - _MOST} more"] if len(places) > _MOST else []
    return [f"  {sign} {place}" for place in places[:_MOST]] + more
