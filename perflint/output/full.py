"""``full``: each finding with its line of code, what it costs and the edit, in six lines (a long message takes more).

    train.py:9:14 PPF201 [unsafe fix] `loss.item()` waits for the device at each step; add up `.detach()` instead.
    9 |     total += loss.item()
      |              ^^^^^^^^^^^ medium impact (sync): a wait for the device at each step
      +     total += loss.detach()
      ... 1 more line: --diff --unsafe-fixes
      = unsafe: the sum is rounded differently

Findings that share one edit are shown once, with the lines of the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from textwrap import TextWrapper

from perflint.findings import Finding, Fix, Level
from perflint.output.edit_lines import edit_lines
from perflint.output.frame import frame
from perflint.output.report import Report
from perflint.output.rule_facts import facts
from perflint.text.visible import LIMIT, listed, visible, visible_line, visible_path

_LABELS = {Level.SAFE: "[safe fix]", Level.UNSAFE: "[unsafe fix]", Level.DISPLAY: "[suggestion]"}
_REASONS = {Level.UNSAFE: "unsafe", Level.DISPLAY: "suggestion"}
"""What a fix's reason explains, by the level of the fix."""
_LINES = 6
_NARROWEST = 40
"""On narrower terminals no line is wrapped."""
_MOST_ROWS = 5
_START = 500
"""The first words of an expression are among this many characters."""
_CUT = re.compile(r"`(?P<start>[^`]+?)\.\.\.[^`]*` (?=[a-z])")
"""A message that begins with a shortened expression."""


def render(report: Report) -> Iterator[str]:
    """The findings one after the other, each followed by an empty line."""
    for first, *others in _by_cause(report.findings):
        yield "\n".join([*_lines(report, first, others), "", ""])


def _by_cause(findings: Iterable[Finding]) -> Iterable[list[Finding]]:
    """The findings in order; findings of a rule that share an edit are put together."""
    found: dict[object, list[Finding]] = {}
    for index, finding in enumerate(findings):
        edits = finding.fix.edits if finding.fix else ()
        found.setdefault((finding.path, finding.code, edits) if edits else index, []).append(finding)
    return found.values()


def _lines(report: Report, finding: Finding, others: list[Finding]) -> list[str]:
    paint = report.palette
    lines = [_header(report, finding)]
    notes = _notes(report, finding, others)
    cost = _cost(report, finding, is_long=True)
    table = report.lines(finding.path)
    row, _ = table.position(finding.start)
    gutter = len(str(row))
    if table.text:
        start, end = finding.places[0] if finding.places else (finding.start, finding.end)
        shown = frame(table, start, end, paint, gutter, _code_columns(report, gutter))
        fits = shown.width + 1 + len(cost) <= (report.width or LIMIT + gutter)
        lines += [shown.code, f"{shown.mark} {cost}".rstrip() if fits else shown.mark]
        cost = "" if fits else _cost(report, finding, is_long=False)
    if cost:
        notes.insert(0, cost)
    if finding.fix and finding.fix.edits:
        room = _LINES - len(lines) - bool(notes)
        lines += edit_lines(report, finding, finding.fix, gutter, room, _code_columns(report, gutter))
    if notes:
        lines.append(_wrapped(report, f"{' ' * gutter} = ", paint.frame(f"{' ' * gutter} = "), "; ".join(notes)))
    return lines


def _header(report: Report, finding: Finding) -> str:
    paint = report.palette
    row, column = report.lines(finding.path).position(finding.start)
    label = f" {_LABELS[finding.fix.level]}" if finding.fix else ""
    place = f"{visible_path(finding.path)}:{row}:{column}"
    painted = f"{paint.bold(place)} {paint.rule(finding.code, facts(finding.code).url)}{paint.level(label)} "
    return _wrapped(report, f"{place} {finding.code}{label} ", painted, visible(_message(report, finding)))


def _message(report: Report, finding: Finding) -> str:
    """The message; "This" replaces the shortened expression that the frame shows in full.

    >>> _CUT.sub("This ", "`DataLoader(train_set, batch_...fle=True)` uses no worker processes.")
    'This uses no worker processes.'
    """
    cut = _CUT.match(finding.message)
    if cut is None:
        return finding.message
    source = report.lines(finding.path).text[finding.start : finding.start + _START]
    is_shown = " ".join(source.split()).startswith(cut["start"])
    return f"This {finding.message[cut.end() :]}" if is_shown else finding.message


def _wrapped(report: Report, start: str, painted: str, text: str) -> str:
    """``start`` (as it is ``painted``) and ``text``, wrapped between words for the width of the terminal."""
    if report.width is None or report.width < _NARROWEST:
        return painted + text
    wrapper = TextWrapper(report.width, start, "    ", break_long_words=False, break_on_hyphens=False)
    first, *more = wrapper.wrap(text) or [""]
    return "\n".join([painted + first.removeprefix(start.rstrip()).lstrip(), *map(visible_line, more)])


def _code_columns(report: Report, gutter: int) -> int:
    """The width that is left for code, with an ellipsis at each end."""
    return LIMIT if report.width is None else max(_NARROWEST, report.width - gutter - len(" | ……"))


def _cost(report: Report, finding: Finding, is_long: bool) -> str:
    """What a finding costs: from the code (``high impact (I/O): a batch``), and from the profile if there is one.

    The short form leaves out the reason, which the message gives in other words.
    """
    said = []
    if finding.impact:
        kind = facts(finding.code).bottleneck
        about = f" ({kind})" if kind else ""
        reason = f": {visible(finding.impact.reason)}" if is_long else ""
        said.append(f"{finding.impact.level} impact{about}{reason}")
    if gain := report.gain(finding):
        said.append(f"profile: {gain}")
    return "; ".join(said)


def _notes(report: Report, finding: Finding, others: list[Finding]) -> list[str]:
    """Further facts needed to decide that are not in the message."""
    fix, notes = finding.fix, []
    if others:
        rows = [str(report.lines(other.path).position(other.start)[0]) for other in others]
        notes.append(f"the same edit fixes line{'s' if len(rows) > 1 else ''} {listed(rows, _MOST_ROWS)}")
    if fix and fix.reason and fix.level in _REASONS:
        notes.append(f"{_REASONS[fix.level]}: {visible(fix.reason.rstrip('.'))}")
    if fix and _is_news(fix, finding.message):
        notes.append(visible(fix.message))
    for place in finding.related:
        if not (place.path == finding.path and re.search(rf"\b{place.line}\b", finding.message)):
            notes.append(f"see {visible(place.path)}:{place.line}: {visible(place.message)}")
    return notes


def _is_news(fix: Fix, message: str) -> bool:
    """Whether the text of a fix without an edit adds something to the advice in the message."""
    advice = message.rpartition("; ")[2].rstrip(".")
    return not fix.edits and fix.message.split()[:3] != advice.split()[:3]
