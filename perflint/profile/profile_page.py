"""A profile as one self-contained HTML page: the phases of a step as a bar, its files, and its lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from perflint.bench import web_page
from perflint.bench.figures import number, width
from perflint.profile import profile_report
from perflint.profile.profile_report import ProfileEvent, ProfileReport, percent
from perflint.text.visible import counted

_PARTS = web_page.templates(Path(__file__).with_name("profile_page.html"))
_STYLE = web_page.STYLE + Path(__file__).with_name("profile_page.css").read_text(encoding="utf-8")
_WIDE, _BAR, _METER = 1080.0, 36.0, 96.0


def profile_page(report: ProfileReport, top: int) -> str:
    """The whole page. All text from the report is escaped; paths that UTF-8 cannot hold are shown with backslashes.

    Args:
        report: what was measured.
        top: how many lines of code are shown at first; all others can be unfolded below.
    """
    parts = (_opening(report), _phases(report), *_files(report), *_lines(report, top), _conditions(report))
    return web_page.document(f"perflint profile: {report.script}", _STYLE, parts, "perflint-profile", report.to_json())


def _opening(report: ProfileReport) -> str:
    notes = (profile_report.bound(report), *report.notes)
    return _PARTS["opening"].substitute(
        script=web_page.markup(report.script),
        made=web_page.markup(report.made),
        headline=web_page.markup(profile_report.headline(report)),
        steps=web_page.markup(profile_report.steps(report)),
        notes="\n".join(f"<p>{web_page.markup(note)}</p>" for note in notes),
    )


def _phases(report: ProfileReport) -> str:
    rows = [
        _PARTS["phase"].substitute(
            name=web_page.markup(name),
            ms=number(phase.ms),
            share=percent(phase.share),
            meaning=web_page.markup(profile_report.SAYS[name][1]),
        )
        for name, phase in profile_report.by_share(report)
    ]
    return _PARTS["phases"].substitute(
        mean=number(report.step_ms.mean),
        bars=web_page.two_widths(partial(_bar, report), "step", _WIDE),
        rows="".join(f"{row}\n" for row in rows),
        about_reads=web_page.markup(profile_report.about_reads(report)),
    )


def _bar(report: ProfileReport, room: float) -> web_page.Picture | None:
    """A step as one bar, with its phases side by side."""
    total = sum(phase.ms for phase in report.phases.values())
    if total <= 0:
        return None
    scale = web_page.Scale(0, total, 0, room)
    parts: list[str] = []
    at = 0.0
    phases = profile_report.by_share(report)
    for phase, time in phases:
        start, end = scale(at), scale(at + time.ms)
        at += time.ms
        words = f"{phase} {percent(time.share)}"
        title = web_page.element("title", f"{words}, {number(time.ms)} ms")
        parts.append(web_page.box(start, 0, end - start - 1, _BAR, f"bar {phase}", title))
        if width(words) * web_page.CHARACTER + 12 < end - start:
            parts.append(web_page.text(start + 8, _BAR / 2 + 4, words, "inside"))
    desc = " ".join(f"{phase}: {percent(time.share)}." for phase, time in phases)
    return web_page.Picture("The phases of a step", desc, (room, _BAR), parts)


def _files(report: ProfileReport) -> Iterator[str]:
    shares = profile_report.by_file(report)
    if len(shares) > 1:
        rows = (
            _PARTS["file"].substitute(path=web_page.markup(path), ms=number(ms), share=percent(share))
            for path, ms, share in shares
        )
        yield _PARTS["files"].substitute(rows="".join(f"{row}\n" for row in rows))


def _lines(report: ProfileReport, top: int) -> Iterator[str]:
    if not report.events:
        return
    yield _PARTS["lines"].substitute(first=_table(report.events[:top]))
    more = report.events[top:]
    if more:
        rest = f"{counted(len(more), 'more line')}, {number(sum(event.ms for event in more))} ms of a step together"
        yield _PARTS["more_lines"].substitute(summary=rest, table=_table(more))


def _table(events: Iterable[ProfileEvent]) -> str:
    """A table of lines. Numbers are aligned to the right; bars and code are hidden if there is no room."""
    rows = []
    for event in events:
        meter = web_page.box(0, 0, _METER * min(1.0, event.share), 10, f"bar {event.phase}")
        row = _PARTS["line"].substitute(
            place=web_page.markup(event.place),
            share=percent(event.share),
            meter=web_page.element("svg", meter, class_="meter", viewBox=f"0 0 {_METER:g} 10", aria_hidden="true"),
            ms=number(event.ms),
            calls=profile_report.calls(event),
            details=web_page.markup(profile_report.details(event)),
            code=f"<code>{web_page.markup(event.source)}</code>" if event.source else "",
        )
        rows.append(f"{row}\n")
    return _PARTS["table"].substitute(rows="".join(rows))


def _conditions(report: ProfileReport) -> str:
    known = web_page.conditions(
        "profile",
        report.script,
        report.arguments,
        machine=report.machine,
        device=report.device,
        versions=f"python {report.python}, paddle {report.paddle}",
        measured=f"{counted(report.steps, 'step')} after {report.warmup} of warm-up",
    )
    return _PARTS["conditions"].substitute(facts=known)
