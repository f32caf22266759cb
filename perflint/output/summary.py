"""The last lines of a run: how many findings there are, what was fixed, and why there may be none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from perflint.findings import Finding, Level
from perflint.fix.fixer import FixOutcome, Made
from perflint.output.report import Report, facts
from perflint.text.source import Source
from perflint.text.visible import counted, counted_of, listed, visible, visible_path

_FIRST = 3
"""How many findings the closing line names."""


def found(findings: Iterable[Finding], checked: Collection[str], applicable: Level) -> str:
    """The closing line of a run without fixes; ``checked`` are the paths of all files that were checked."""
    findings = list(findings)
    if not findings:
        return f"No findings in {counted(len(checked), 'file')}."
    flags = "--fix" if applicable is Level.SAFE else "--fix --unsafe-fixes"
    fixable = sum(finding.fix is not None and finding.fix.level >= applicable for finding in findings)
    notes = [f"{fixable} fixable with {flags}"] if fixable else []
    notes += _more(findings, applicable, first=not fixable)
    return _found(len(findings), {finding.path for finding in findings}, checked) + _bracketed(notes)


def explained(report: Report) -> str:
    """Where to read more about the first finding to fix; empty if no rule has a page about it."""
    known = [finding for finding in _first(report) or report.findings if facts(finding.code).url]
    return f"Why, and when to ignore it: perflint rule {known[0].code}" if known else ""


def most_to_win(report: Report) -> str:
    """The findings to begin with, if some can cost more than others: up to three, with at most one per rule and file.

    With a profile, its figures decide, and the text says what they leave out.
    """
    if report.ranking is None:
        return _by_impact(report)
    return (report.ranking.most_to_win(report.sources) or _by_impact(report)) + report.ranking.closing()


def _by_impact(report: Report) -> str:
    places = []
    for finding in _first(report):
        row, _ = report.lines(finding.path).position(finding.start)
        level = finding.impact.level if finding.impact else ""
        places.append(f"{visible_path(finding.path)}:{row} {finding.code} ({level})")
    return f" Start with: {', '.join(places)}." if places else ""


def _first(report: Report) -> list[Finding]:
    """The findings to begin with by their impact; none if there are few, or if none costs more than another."""
    if report.ranking is not None and report.ranking.most_to_win(report.sources):
        return []  # the findings are already in the order of the profile
    known = [(finding.impact, finding) for finding in report.findings if finding.impact is not None]
    if len(known) <= _FIRST or len({(impact.level, impact.milliseconds) for impact, _ in known}) < 2:
        return []
    known.sort(key=lambda pair: (-pair[0].level, -pair[0].milliseconds))
    first: dict[tuple[str, str], Finding] = {}
    for _, finding in known:
        first.setdefault((finding.path, finding.code), finding)
    return list(first.values())[:_FIRST]


def fixed(outcome: FixOutcome, checked: Collection[str]) -> str:
    """The closing line for ``--fix``: what was fixed, and what remains."""
    return _outcome(outcome, checked, f"{outcome.fixed_count} fixed, {len(outcome.remaining)} remaining")


def would_fix(outcome: FixOutcome, checked: Collection[str]) -> str:
    """The closing line for ``--diff``."""
    counts = f"{outcome.fixed_count} would be fixed, {len(outcome.remaining)} would remain"
    return _outcome(outcome, checked, counts)


def _outcome(outcome: FixOutcome, checked: Collection[str], counts: str) -> str:
    total = outcome.fixed_count + len(outcome.remaining)
    if not total:
        return f"No findings in {counted(len(checked), 'file')}."
    paths = {path for path, _ in outcome.fixed} | {finding.path for finding in outcome.remaining}
    return _found(total, paths, checked) + _bracketed([counts, *_more(outcome.remaining, outcome.level)])


def in_files(findings: int, paths: Collection[str], checked: Collection[str]) -> str:
    """How many findings there are in how many of the files that were checked: ``3 findings in 2 of 9 files``.

    A file that could not be read counts too.
    """
    files = counted_of(len(set(paths)), len({*checked, *paths}), "file")
    return f"{counted(findings, 'finding')} in {files}"


def _found(total: int, paths: Collection[str], checked: Collection[str]) -> str:
    return f"Found {in_files(total, paths, checked)}"


def _more(findings: Iterable[Finding], applicable: Level, first: bool = False) -> list[str]:
    if applicable is not Level.SAFE:
        return []
    unsafe = sum(finding.fix is not None and finding.fix.level is Level.UNSAFE for finding in findings)
    if not unsafe:
        return []
    return [f"{unsafe} fixable with --fix --unsafe-fixes" if first else f"{unsafe} more with --unsafe-fixes"]


def _bracketed(notes: list[str]) -> str:
    return f" ({'; '.join(notes)})." if notes else "."


# -- what was fixed ---------------------------------------------------------------------------------------------------

_MOST = 5
"""How many rows a line names."""


def lines_about_fixes(outcome: FixOutcome, before: Mapping[str, Source]) -> list[str]:
    """One line for each rule, file and kind of edit, after a title; none if nothing was fixed.

    Args:
        outcome: what was fixed.
        before: the files as they were.
    """
    rows: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for made, row in _with_rows(outcome, before):
        finding = made.finding
        rows[finding.path, finding.code, finding.fix.message if finding.fix else ""] += [row] if row else []
    found = []
    for (path, code, what), places in sorted(rows.items()):
        where = f":{listed([str(row) for row in sorted(set(places))], _MOST)}" if places else ""
        found.append(f"  {visible_path(path)}{where} {code}: {visible(what)}")
    return ["Fixed:", *found] if found else []


def _with_rows(outcome: FixOutcome, before: Mapping[str, Source]) -> Iterator[tuple[Made, int]]:
    """What was applied in the files that changed, and its row in the old text; 0 if it has none there.

    A fix of a later round is found there by the text of its row, since edits of earlier rounds have moved it.
    """
    known: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for finding in outcome.first:
        if finding.path in outcome.changed:
            table = before[finding.path].lines
            row = table.position(finding.start)[0]
            known[finding.path, finding.code, table.line(row).strip()].append(row)
    for made in (made for each in outcome.applied for made in each):
        if made.finding.path in outcome.changed:
            left = known[made.finding.path, made.finding.code, made.row]
            yield made, left.pop(0) if left else 0


# -- why nothing was found --------------------------------------------------------------------------------------------

_PADDLE = ("paddle", "Paddle")
_TRAINING = (".backward", ".minimize", ".fit(", "train_batch", "Trainer", ".step(", ".train(", ".learn(")
"""A file that trains has one of these; the other way round it does not follow."""


def remark_on_training(sources: Sequence[Source]) -> str:
    """A sentence for the end of a report without findings, after a space; empty where the files train, or are none.

    Only the text of the files is looked at, so a word in a comment is enough for silence.

    Example: ``" None of them uses Paddle."``
    """
    if not sources:
        return ""
    them = "It does not" if len(sources) == 1 else "None of them"
    if not _any_has(sources, _PADDLE):
        return f" {them} {'use' if len(sources) == 1 else 'uses'} Paddle."
    if not _any_has(sources, _TRAINING):
        verb = "contain" if len(sources) == 1 else "contains"
        return f" {them} {verb} a training step: check the directory of the script that trains."
    return ""


def _any_has(sources: Sequence[Source], words: tuple[str, ...]) -> bool:
    return any(word in source.text for source in sources for word in words)


# -- what has changed since the last report ---------------------------------------------------------------------------

_MOST_NEWS = 5
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
    more = [f"  {sign} {len(places) - _MOST_NEWS} more"] if len(places) > _MOST_NEWS else []
    return [f"  {sign} {place}" for place in places[:_MOST_NEWS]] + more
