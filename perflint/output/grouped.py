"""The findings by step, rule or file: in groups (``--group-by``), or only counted (``--statistics``).

By step, the one with most to gain comes first, with what to do about it, and then its findings::

    tools/engine.py:58, started by train.py: 2 findings
      Verdict: likely bound by loading: a thread of the training process loads the batches.
        1. give the DataLoader at data.py:33 worker processes: at most 62% of the step
        2. then remove the waits at tools/engine.py:70, 82: at most 24% of the step that is left

A report with many findings stays short: a line for each of the first findings of a step, and the rest by name.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from textwrap import fill

from perflint.findings import HOST_READ, Finding, StepPlace, StepReport
from perflint.output.concise import mark_of
from perflint.output.full import NARROWEST, header
from perflint.output.report import Report, facts, json_text
from perflint.output.verdict_text import unseen, verdict_lines, with_advice
from perflint.query import gathered
from perflint.text.visible import counted, listed, visible_line, visible_path

BY_RULE, BY_STEP = "rule", "step"
_NO_LOOP, _NO_STEP = "In models and functions that a configuration or a caller chooses", "Elsewhere"
_MOST_SMALL = 6
"""The most rules of which the findings of low impact are named."""
_MOST_IN_FULL = 20
"""With more findings, a report by step has a line for each of the first findings of a step, and the rest by name."""
_MOST_FINDINGS = 5
"""So many lines has a step then."""
_MOST_FILES = 12
"""So many files with other findings of one rule are named then."""
_MOST_STEPS = 12
"""So many steps are shown then."""
_MOST_PROGRAMS = 2
"""The most programs that a heading names."""


def render_groups(report: Report, by: str, render_group: Callable[[Report], Iterator[str]]) -> Iterator[str]:
    """The findings by ``rule`` (the most frequent one first) or ``file``, in each in the order of the report."""
    groups = gathered((finding.code if by == BY_RULE else finding.path, finding) for finding in report.findings)
    if by == BY_RULE:
        groups = dict(sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])))
    for name, findings in groups.items():
        shown = f"{name} {facts(name).name}" if by == BY_RULE else visible_path(name)
        yield report.palette.bold(f"{shown}: {counted(len(findings), 'finding')}") + "\n\n"
        yield from _spaced(render_group(replace(report, findings=findings)))


def _spaced(rendered: Iterator[str]) -> Iterator[str]:
    chunks = "".join(rendered)
    yield chunks if chunks.endswith("\n\n") else chunks + "\n"


# -- by step ----------------------------------------------------------------------------------------------------------


def render_steps(
    report: Report, render_group: Callable[[Report], Iterator[str]], *, is_whole: bool = False
) -> Iterator[str]:
    """The findings by the steps that they belong to.

    Args:
        report: the report; one without anything about steps is not divided.
        render_group: writes the findings of a step.
        is_whole: whether a report with many findings shows all of them, too.
    """
    placed = [(finding.step, finding) for finding in report.findings]
    groups = gathered((step, finding) for step, finding in placed if step is not None and step.row)
    no_loop = [finding for step, finding in placed if step is not None and not step.row]
    apart = {_NO_LOOP: no_loop, _NO_STEP: [finding for step, finding in placed if step is None]}
    if not groups and not apart[_NO_LOOP]:
        yield from render_group(report)
        return
    known = {place: sorted(found, key=_least_gain_last) for place, found in groups.items()}
    advised = (_advised(report, each, known.get(each.place, [])) for each in report.steps)
    said = {each.place: each for each in advised if each.verdict.plan}
    places = sorted(known, key=lambda place: _rank(place, said, known[place]))
    is_short = not is_whole and len(report.findings) > _MOST_IN_FULL
    copies = _copies(report, places, known) if is_short else {place: [] for place in places}
    first = [*copies]
    shown = first[:_MOST_STEPS] if is_short else first
    for place in shown:
        yield from _heading(report, place, said.get(place), known[place], copies[place])
        yield from _findings(report, known[place], render_group, is_short=is_short)
        yield from _small(report, place)
    if rest := [copy for place in first[len(shown) :] for copy in (place, *copies[place])]:
        yield from _by_name(report, "more step", [(place, known[place]) for place in rest])
    for title, unsorted in apart.items():
        findings = sorted(unsorted, key=_least_gain_last)
        if findings:
            yield report.palette.bold(f"{title}: {counted(len(findings), 'finding')}") + "\n\n"
            yield from _findings(report, findings, render_group, is_short=is_short, by_name=title != _NO_LOOP)
        if is_short and title == _NO_LOOP:
            functions = gathered((finding.step or StepPlace("", 0), finding) for finding in findings[_MOST_FINDINGS:])
            yield from _by_name(report, "more function", [*functions.items()]) if functions else ()
    others = [each for place, each in said.items() if place not in known]
    yield from _without_findings(report, sorted(others, key=lambda each: (-each.verdict.gain, each.place.text)))
    if unknown := unseen(said[place].verdict for place in shown if place in said):
        yield _wrapped(report, unknown)
    if is_short:
        yield _wrapped(report, "All of them, with code and edits: name a file, or add --group-by step.")


def _advised(report: Report, said: StepReport, findings: list[Finding]) -> StepReport:
    """What is said of a step, with what its findings advise."""
    rows = (report.lines(each.path).position(each.start)[0] for each in findings)
    found = [(each, (each.path, row)) for each, row in zip(findings, rows, strict=True)]
    return replace(said, verdict=with_advice(said.verdict, found, report.names))


def _rank(place: StepPlace, said: Mapping[StepPlace, StepReport], findings: list[Finding]) -> tuple[object, ...]:
    """The place of a step in the report: by what its plan gains, then by what its findings do."""
    gain = said[place].verdict.gain if place in said else 0.0
    return -gain, _least_gain_last(findings[0]), place.text


def _copies(
    report: Report, places: list[StepPlace], known: Mapping[StepPlace, list[Finding]]
) -> dict[StepPlace, list[StepPlace]]:
    """The steps, each with those of copies of its file: the same is said there, of the same rows."""
    firsts: dict[object, StepPlace] = {}
    copies: dict[StepPlace, list[StepPlace]] = {}
    for place in places:
        folder, _, name = place.path.rpartition("/")
        said = sorted(
            (each.code, *report.lines(each.path).position(each.start), each.message.replace(f"{folder}/", ""))
            for each in known[place]
        )
        first = firsts.setdefault((name, place.row, place.function, *said), place)
        copies.setdefault(first, []).extend([place] if place != first else [])
    return copies


def _heading(
    report: Report, place: StepPlace, said: StepReport | None, findings: list[Finding], copies: list[StepPlace]
) -> Iterator[str]:
    """Which step it is, what starts it, and what to do about it."""
    started = _started(said) if said is not None else ""
    count = counted(len(findings), "finding")
    yield report.palette.bold(visible_line(f"{place.text}{started}: {count}")) + "\n"
    for line in verdict_lines(said.verdict, report.names) if said is not None else ():
        yield _wrapped(report, f"  {visible_line(line)}")
    if copies:
        yield _wrapped(report, visible_line(f"  The same in {listed([copy.text for copy in copies], _MOST_FILES)}"))
    yield "\n"


def _without_findings(report: Report, steps: list[StepReport]) -> Iterator[str]:
    """What to say of the steps that share the findings of others, such as those in a loss that several trainers use."""
    if not steps:
        return
    yield f"Without findings of their own: {counted(len(steps), 'step')}\n"
    for each in steps[:_MOST_STEPS]:
        sentence = next(verdict_lines(each.verdict, report.names)).removeprefix("Verdict: ")
        yield _wrapped(report, visible_line(f"  {each.place.text}{_started(each)}: {sentence}"))
    if len(steps) > _MOST_STEPS:
        yield f"  and {len(steps) - _MOST_STEPS} more: perflint step\n"
    yield "\n"


def _started(said: StepReport) -> str:
    """What starts a step: ``, started by train.py``."""
    programs = [path for path in said.programs if path != said.place.path]
    if programs:
        return f", started by {listed(programs, _MOST_PROGRAMS)}"
    return ", a script" if said.programs else ", started by code that is not here"


def _wrapped(report: Report, line: str) -> str:
    """A line, wrapped between words for the width of the terminal."""
    if report.width is None or report.width < NARROWEST:
        return line + "\n"
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return fill(line, report.width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False) + "\n"


def _findings(
    report: Report,
    findings: list[Finding],
    render_group: Callable[[Report], Iterator[str]],
    *,
    is_short: bool,
    by_name: bool = True,
) -> Iterator[str]:
    causes, calls = _without_calls(report, findings)
    if is_short:
        yield from (f"{header(report, finding, finding.message)}\n" for finding in causes[:_MOST_FINDINGS])
    else:
        yield from _spaced(render_group(replace(report, findings=causes)))
    named = [(causes[_MOST_FINDINGS:], "")] if is_short and by_name else []
    named.append((calls, ", which lead to these reads"))
    lines = [
        f"and {report.palette.rule(code, facts(code).url)} at {places}{what}\n"
        for some, what in named
        for code, places in _places(report, some)
    ]
    yield from lines
    if is_short or lines:
        yield "\n"


def _small(report: Report, place: StepPlace) -> Iterator[str]:
    """The findings of a step that are left out for their low impact, in one line."""
    found = [*_places(report, [each for each in report.small if each.step == place])]
    named = [f"{facts(code).name} ({report.palette.rule(code, facts(code).url)}) at {rows}" for code, rows in found]
    if named:
        more = f"; and {counted(len(named) - _MOST_SMALL, 'more rule')}" if len(named) > _MOST_SMALL else ""
        yield _wrapped(report, f"Of low impact: {'; '.join(named[:_MOST_SMALL])}{more}") + "\n"


def _without_calls(report: Report, findings: list[Finding]) -> tuple[list[Finding], list[Finding]]:
    """The findings without the calls that lead to a read beside them, and these calls: both have one cause."""
    places = {(each.path, report.lines(each.path).position(each.start)[0]) for each in findings}
    calls = [
        finding
        for finding in findings
        if (finding.fix is None or not finding.fix.edits)
        and any(each.message == HOST_READ and (each.path, each.line) in places for each in finding.related)
    ]
    return [finding for finding in findings if finding not in calls], calls


def _places(report: Report, findings: list[Finding]) -> Iterator[tuple[str, str]]:
    """The rules of some findings, with the rows of each: ``PPF201``, ``train.py:9, 12 and loss.py:4``."""
    found: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for finding in findings:
        found[finding.code][finding.path].add(report.lines(finding.path).position(finding.start)[0])
    for code, by_path in sorted(found.items()):
        named = [f"{visible_path(path)}:{', '.join(map(str, sorted(rows)))}" for path, rows in by_path.items()]
        yield code, listed(named, _MOST_FILES)


def _by_name(report: Report, what: str, groups: list[tuple[StepPlace, list[Finding]]]) -> Iterator[str]:
    """The steps or functions that are not shown, by name."""
    yield f"{counted(len(groups), what)}:\n"
    for place, findings in groups:
        inside = (f"{code} at {places.removeprefix(f'{place.path}:')}" for code, places in _places(report, findings))
        yield _wrapped(report, visible_line(f"  {place.text}: {'; '.join(inside)}"))
    yield "\n"


def _least_gain_last(finding: Finding) -> tuple[float, ...]:
    impact = finding.impact
    return (-impact.level, -impact.milliseconds) if impact is not None else (1.0, 0.0)


# -- counts -----------------------------------------------------------------------------------------------------------


def render_counts(report: Report) -> Iterator[str]:
    """``count  CODE  [mark]  name`` for each code, the most frequent first.

    The marks are those of ``concise``, if it gives all findings of the rule the same one. ``[~]``: they differ.
    """
    rows = _rows(report)
    width = max((len(str(count)) for _, count, _ in rows), default=1)
    marks: dict[str, set[str]] = defaultdict(set)
    for finding in report.findings:
        marks[finding.code].add(mark_of(report, finding))
    for code, count, _ in rows:
        mark = "[~]" if len(marks[code]) > 1 else next(iter(marks[code]))
        shown = report.palette.rule(code, facts(code).url)
        yield f"{count:>{width}}  {shown}  {report.palette.level(mark)}  {facts(code).name}\n"


def render_counts_json(report: Report) -> Iterator[str]:
    """The same as a JSON list of objects, as Ruff writes it."""
    rows = [
        {"code": code, "name": facts(code).name, "count": count, "fixable": fixable == count, "fixable_count": fixable}
        for code, count, fixable in _rows(report)
    ]
    yield json_text(rows, indent=2) + "\n"


def _rows(report: Report) -> list[tuple[str, int, int]]:
    counts = Counter(finding.code for finding in report.findings)
    fixable = Counter(finding.code for finding in report.findings if report.would_fix(finding))
    return [(code, counts[code], fixable[code]) for code in sorted(counts, key=lambda code: (-counts[code], code))]
