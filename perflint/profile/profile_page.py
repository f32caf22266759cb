"""A profile as one self-contained HTML page: no network, no script, and an inline picture."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from perflint.bench.figures import number
from perflint.bench.labels import markup, width
from perflint.bench.web_page import CHARACTER, Scale, box, data_block, element, head, picture, text
from perflint.profile import profile_text
from perflint.profile.profile_report import ProfileEvent, ProfileReport
from perflint.profile.profile_style import PROFILE_STYLE
from perflint.profile.profile_text import percent
from perflint.text.wording import counted

_SIZES = (("wide", 1080.0), ("narrow", 340.0))
_BAR = 36.0
_METER = 96.0


def profile_page(report: ProfileReport, top: int) -> str:
    """The whole page. All text from the report is escaped; paths that UTF-8 cannot hold are shown with backslashes.

    Args:
        report: what was measured.
        top: how many lines of code are shown at first; all others can be unfolded below.
    """
    return "\n".join(
        (
            "<!DOCTYPE html>",
            '<html lang="en">',
            *head(f"perflint profile: {report.script}", PROFILE_STYLE),
            "<body><main>",
            *_opening(report),
            *_phases(report),
            *_files(report),
            *_lines(report, top),
            *_conditions(report),
            data_block("perflint-profile", report.to_json()),
            "</main></body>",
            "</html>",
            "",
        )
    )


def _opening(report: ProfileReport) -> Iterator[str]:
    yield f'<h1>{markup(report.script)}</h1><p class="dim">perflint profile, {markup(report.made)}</p>'
    yield f'<p class="headline">{markup(profile_text.headline(report))}.</p>'
    yield f"<p>{markup(profile_text.steps(report))}.</p>"
    yield from (f"<p>{markup(note)}</p>" for note in (profile_text.bound(report), *report.notes))


def _phases(report: ProfileReport) -> Iterator[str]:
    yield "<h2>Where a step goes</h2><figure><figcaption>One step, "
    yield f"{number(report.step_ms.mean)} ms on average; the phases do not overlap.</figcaption>"
    yield "".join(_bar(report, f"step-{name}", room, name) for name, room in _SIZES) + "</figure>"
    yield '<table class="phases"><thead><tr><th scope="col">Phase</th><th scope="col" class="r">ms a step</th>'
    yield '<th scope="col" class="r">Share</th><th scope="col" class="meaning">What it is</th></tr></thead><tbody>'
    for name, share in profile_text.by_share(report):
        swatch = f'<span class="swatch {markup(name)}"></span>'
        yield f'<tr><th scope="row">{swatch}{markup(name)}</th><td class="r">{number(report.phases[name].ms)}</td>'
        meaning = markup(profile_text.MEANS.get(name, ""))
        yield f'<td class="r">{percent(share)}</td><td class="dim meaning">{meaning}</td></tr>'
    yield f'</tbody></table><p class="dim">{markup(profile_text.about_reads(report))}</p>'


def _bar(report: ProfileReport, name: str, room: float, class_: str) -> str:
    """A step as one bar, with its phases side by side."""
    total = sum(phase.ms for phase in report.phases.values())
    if total <= 0:
        return ""
    scale = Scale(0, total, 0, room)
    parts: list[str] = []
    at = 0.0
    for phase, share in profile_text.by_share(report):
        ms = report.phases[phase].ms
        start, end = scale(at), scale(at + ms)
        at += ms
        words = f"{phase} {percent(share)}"
        parts.append(
            box(start, 0, end - start - 1, _BAR, f"bar {phase}", element("title", f"{words}, {number(ms)} ms"))
        )
        if width(words) * CHARACTER + 12 < end - start:
            parts.append(text(start + 8, _BAR / 2 + 4, words, "inside"))
    desc = " ".join(f"{phase}: {percent(share)}." for phase, share in profile_text.by_share(report))
    return picture(name, "The phases of a step", desc, (room, _BAR), parts, class_)


def _files(report: ProfileReport) -> Iterator[str]:
    shares = profile_text.by_file(report)
    if len(shares) < 2:
        return
    yield '<h2>Files</h2><table class="phases"><thead><tr><th scope="col">File</th>'
    yield '<th scope="col" class="r">ms a step</th><th scope="col" class="r">Share</th></tr></thead><tbody>'
    for path, ms, share in shares:
        yield f'<tr><th scope="row"><code>{markup(path)}</code></th>'
        yield f'<td class="r">{number(ms)}</td><td class="r">{percent(share)}</td></tr>'
    yield "</tbody></table>"


def _lines(report: ProfileReport, top: int) -> Iterator[str]:
    if not report.events:
        return
    yield "<h2>Lines</h2>"
    yield from _table(report.events[:top])
    more = report.events[top:]
    if more:
        rest = f"{counted(len(more), 'more line')}, {number(sum(event.ms for event in more))} ms of a step together"
        yield f"<details><summary>{rest}</summary>"
        yield from _table(more)
        yield "</details>"


def _table(events: Iterable[ProfileEvent]) -> Iterator[str]:
    headings = ("Line", "Share", "", "ms a step", "Calls a step", "What", "Code")
    yield '<div class="wrap"><table class="lines"><thead><tr>'
    yield "".join(
        f'<th scope="col"{_class(at)}>{heading}</th>' if heading else f"<td{_class(at)}></td>"
        for at, heading in enumerate(headings)
    )
    yield "</tr></thead><tbody>"
    for event in events:
        meter = box(0, 0, _METER * min(1.0, event.share), 10, f"bar {event.phase}")
        cells = (
            percent(event.share),
            element("svg", meter, class_="meter", viewBox=f"0 0 {_METER:g} 10", aria_hidden="true"),
            number(event.ms),
            profile_text.calls(event),
            markup(profile_text.details(event)),
            f"<code>{markup(event.source)}</code>" if event.source else "",
        )
        yield f'<tr><th scope="row"><code>{markup(event.place)}</code></th>'
        yield "".join(f"<td{_class(at)}>{cell}</td>" for at, cell in enumerate(cells, 1)) + "</tr>"
    yield "</tbody></table></div>"


def _class(column: int) -> str:
    """Numbers are aligned to the right; bars and code are hidden if there is no room."""
    name = {1: "r", 2: "m", 3: "r", 4: "r", 6: "code"}.get(column)
    return f' class="{name}"' if name else ""


def _conditions(report: ProfileReport) -> Iterator[str]:
    arguments = ["--", *report.arguments] if report.arguments else []
    command = shlex.join(["perflint", "profile", report.script, *arguments])
    facts = {
        "Command": f"<code>{markup(command)}</code>",
        "Machine": markup(report.machine),
        "Device": markup(report.device),
        "Versions": markup(f"python {report.python}, paddle {report.paddle}"),
        "Measured": f"{counted(report.steps, 'step')} after {report.warmup} of warm-up",
    }
    yield "<h2>How it was measured</h2><p>perflint ran the script once, in a copy of its project, and timed the calls "
    yield "that a step consists of. Each moment belongs to the innermost of these calls, or else to the code after "
    yield "the last one, and to the line of the project that is running. What is measured is the thread that trains; "
    yield "the threads and processes of a loader are seen as the wait for them.</p><dl>"
    yield "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in facts.items() if value)
    yield "</dl>"
