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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from textwrap import TextWrapper

from perflint.findings import Edit, Finding, Fix, Level
from perflint.fix.fixer import complete_edits, spliced
from perflint.output.report import Report, facts
from perflint.query import gathered
from perflint.text.source import LineTable, lines_of
from perflint.text.visible import LIMIT, Palette, clip, counted, listed, visible, visible_line, visible_path

_LABELS = {Level.SAFE: "[safe fix]", Level.UNSAFE: "[unsafe fix]", Level.DISPLAY: "[suggestion]"}
_REASONS = {Level.UNSAFE: "unsafe", Level.DISPLAY: "suggestion"}
"""What a fix's reason explains, by the level of the fix."""
_LINES = 6
NARROWEST = 40
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
    edits = [(finding, finding.fix.edits if finding.fix else ()) for finding in findings]
    return gathered(
        ((finding.path, finding.code, own or index), finding) for index, (finding, own) in enumerate(edits)
    ).values()


def _lines(report: Report, finding: Finding, others: list[Finding]) -> list[str]:
    paint = report.palette
    lines = [header(report, finding, _message(report, finding))]
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
        lines += edit_lines(report, finding, finding.fix, room)
    if notes:
        lines.append(_wrapped(report, f"{' ' * gutter} = ", paint.frame(f"{' ' * gutter} = "), "; ".join(notes)))
    return lines


def header(report: Report, finding: Finding, message: str) -> str:
    """Where a finding is, its rule, what becomes of its fix, and a message."""
    paint = report.palette
    row, column = report.lines(finding.path).position(finding.start)
    label = f" {_LABELS[finding.fix.level]}" if finding.fix else ""
    place = f"{visible_path(finding.path)}:{row}:{column}"
    painted = f"{paint.bold(place)} {paint.rule(finding.code, facts(finding.code).url)}{paint.level(label)} "
    return _wrapped(report, f"{place} {finding.code}{label} ", painted, visible(message))


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
    if report.width is None or report.width < NARROWEST:
        return painted + text
    wrapper = TextWrapper(report.width, start, "    ", break_long_words=False, break_on_hyphens=False)
    first, *more = wrapper.wrap(text) or [""]
    return "\n".join([painted + first.removeprefix(start.rstrip()).lstrip(), *map(visible_line, more)])


def _code_columns(report: Report, gutter: int) -> int:
    """The width that is left for code, with an ellipsis at each end."""
    return LIMIT if report.width is None else max(NARROWEST, report.width - gutter - len(" | ……"))


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


# -- the lines that a fix changes -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ChangedRows:
    """One removed line (``row`` is its number) or added line (``row`` is None); it differs from character ``at`` on."""

    row: int | None
    text: str
    at: int = 0


def _changed_blocks(lines: LineTable, edits: Sequence[Edit]) -> list[list[ChangedRows]]:
    """The lines that ``edits`` (sorted, not overlapping) change, in order; those between unchanged lines together."""
    blocks: list[list[ChangedRows]] = []
    behind = 0
    for row, old, new in _changes(lines, edits):
        if not blocks or row > behind:
            blocks.append([])
        behind = row + len(old)
        at = [_common(*pair) for pair in zip(old, new, strict=False)]
        at += [0] * (max(len(old), len(new)) - len(at))
        blocks[-1] += [ChangedRows(row + index, text, at[index]) for index, text in enumerate(old)]
        blocks[-1] += [ChangedRows(None, text, at[index]) for index, text in enumerate(new)]
    return blocks


def _changes(lines: LineTable, edits: Sequence[Edit]) -> Iterator[tuple[int, list[str], list[str]]]:
    """Rows that change: the number of the first, the old ones and the new ones."""
    for first, last, group in _groups(lines, edits):
        start, end = lines.line_start(first), lines.line_end(last)
        old = _split(lines.text[start:end])
        new = _split(spliced(lines.text, start, end, group))
        for tag, low, high, left, right in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if tag != "equal":
                yield first + low, old[low:high], new[left:right]


def _common(one: str, other: str) -> int:
    """How many characters two lines have in common at their start."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))


def _groups(lines: LineTable, edits: Sequence[Edit]) -> Iterator[tuple[int, int, list[Edit]]]:
    """Edits that share rows, with the first and last of these rows."""
    group: list[Edit] = []
    first = last = 0
    for edit in edits:
        top, bottom = lines.position(edit.start)[0], lines.position(edit.end)[0]
        if group and top > last:
            yield first, last, group
            group = []
        first = first if group else top
        last = max(last, bottom)
        group.append(edit)
    if group:
        yield first, last, group


def _split(text: str) -> list[str]:
    return [row.rstrip("\r\n") for row in lines_of(text)]


# -- the edit of a finding in a few lines -----------------------------------------------------------------------------

_LONGEST = 50_000
"""The most characters of a row to show in its old and new form."""
_ALL = {Level.SAFE: "--diff", Level.UNSAFE: "--diff --unsafe-fixes", Level.DISPLAY: "--output-format json"}
"""The options that show the whole edit of a fix, by its level."""


def edit_lines(report: Report, finding: Finding, fix: Fix, room: int) -> Iterator[str]:
    """The lines that a fix changes, beginning with those of the finding, whose old lines the frame shows.

    Args:
        report: the report that contains the finding.
        finding: the finding.
        fix: its fix.
        room: the number of lines to use at most.
    """
    table = report.lines(finding.path)
    row, _ = table.position(finding.start)
    gutter = len(str(row))
    if any(len(table.line(table.position(edit.start)[0])) > _LONGEST for edit in fix.edits):
        yield f"{' ' * gutter} ... a line too long to show: {_ALL[fix.level]}"
        return
    blocks = _changed_blocks(table, complete_edits(table.text, fix))
    blocks.sort(key=lambda block: block[0].row != row)
    lines = [line for block in blocks for line in (None, *_without_frame(block, row))][1:]
    shown = lines if len(lines) <= room else lines[: max(1, room - 1)]
    yield from (_line(report, line, gutter) for line in shown)
    left = sum(line is not None for line in lines[len(shown) :])
    if left:
        yield report.palette.frame(f"{' ' * gutter} ... {counted(left, 'more line')}: {_ALL[fix.level]}")


def _without_frame(block: list[ChangedRows], row: int) -> list[ChangedRows]:
    """A block without the old line that the frame shows, if new lines replace it."""
    return block if block[0].row != row or all(line.row for line in block) else block[1:]


def _line(report: Report, line: ChangedRows | None, gutter: int) -> str:
    if line is None:
        return report.palette.frame(f"{' ' * gutter} ...")
    text, _, _ = clip(line.text, line.at, line.at, _code_columns(report, gutter))
    if line.row:
        return report.palette.removed(f"{line.row:>{gutter}} - {text}".rstrip())
    return report.palette.added(f"{'':>{gutter}} + {text}".rstrip())


# -- the code frame ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CodeFrame:
    """Two lines without line ends, and the width of the second one on a terminal."""

    code: str
    mark: str
    width: int


def frame(
    lines: LineTable, start: int, end: int, palette: Palette, gutter: int | None = None, limit: int = LIMIT
) -> CodeFrame:
    """The frame of the characters ``start:end``; a range of several lines is shown by its first line.

    Args:
        lines: the file.
        start: where the range begins.
        end: where it ends.
        palette: the colours.
        gutter: the width of the line number (default: what the number needs).
        limit: the width of the code that is shown.
    """
    row, _ = lines.position(start)
    last, _ = lines.position(max(start, end - 1))
    gutter = len(str(row)) if gutter is None else gutter
    text, left, right = clip(lines.line(row), *_columns(lines, row, start, end), limit)
    carets = "^" * max(1, right - left) + (f" ... to line {last}" if last > row else "")
    bar = " " * gutter + " |"
    code = f"{palette.frame(f'{row:>{gutter}} |')} {text}".rstrip()
    mark = f"{palette.frame(bar)} {' ' * left}{palette.code(carets)}"
    return CodeFrame(code, mark, len(bar) + 1 + left + len(carets))


def _columns(lines: LineTable, row: int, start: int, end: int) -> tuple[int, int]:
    """The characters of a row that belong to the range, without the spaces around them."""
    line = lines.line(row)
    at = lines.line_start(row)
    left = min(max(start - at, 0), len(line))
    return left, max(left, min(end - at, len(line.rstrip())))
