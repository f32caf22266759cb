"""The page of a rule, from its catalogue entry."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

from perflint.catalogue import HIGH_FROM_MS, Event, Example, Rule
from perflint.output import measured

_WIDTH = 100


def text(rule: Rule, full: bool = False) -> str:
    """The page for a terminal, in plain Markdown.

    Args:
        rule: the rule.
        full: whether to include all examples, the evidence and the references, which may be a thousand lines; otherwise
            only the first example is included, and the last line says how to see the rest.
    """
    lines = [*_decision(rule), *(_rest(rule) if full else _first_example(rule))]
    return "\n".join(lines).rstrip() + "\n"


def data(rule: Rule) -> dict[str, Any]:
    """The same as JSON-ready values."""
    plain = ("code", "name", "summary", "bottleneck", "default", "off", "message", "why", "ignore_when")
    return {
        **{key: getattr(rule, key) for key in plain},
        "event": _event(rule.event),
        "fix": {"level": str(rule.fix_level), "title": rule.fix_title, "reason": rule.fix_reason or None},
        "examples": [_example(example) for example in rule.examples],
        "measured": measured.data(rule),
        "evidence": rule.evidence,
        "references": [vars(each) for each in rule.references],
        "url": rule.url,
    }


def _event(event: Event | None) -> dict[str, Any] | None:
    if event is None:
        return None
    level = str(event.level_of(event.milliseconds))
    return {"what": event.what, "impact": level, "milliseconds": event.milliseconds or None, "source": event.source}


def _example(example: Example) -> dict[str, Any]:
    level = str(example.level) if example.level is not None else None
    return {**vars(example), "lines": list(example.lines), "level": level}


def _decision(rule: Rule) -> Iterator[str]:
    """The facts needed to decide about a finding."""
    yield from (f"# {rule.code} {rule.name}", "", *_paragraphs(rule.summary))
    yield f"Bottleneck: {rule.bottleneck}"
    if rule.event is not None:
        yield f"Impact: {rule.event.level_of(rule.event.milliseconds)} ({rule.event.what})"
    yield f"On by default: {'yes' if rule.default else f'no (turn it on with --extend-select {rule.code})'}"
    if rule.off:
        yield from _paragraphs(f"Why it is off: {rule.off}")
    yield from (f"Page: {rule.url}", "")
    yield from ("## Why it costs", "", *_paragraphs(rule.why))
    yield from ("## When to ignore it", "", *_paragraphs(rule.ignore_when))
    yield from ("## The fix", "", *_paragraphs(f"{rule.fix_title} ({rule.fix_level})"))
    if rule.fix_reason:
        yield from _paragraphs(rule.fix_reason)
    if rule.event is not None:
        yield from ("## How much it costs", "", *_paragraphs(cost(rule.event)))
    yield from ("## Measured", "", *_paragraphs(measured.paragraph(rule)))


def _first_example(rule: Rule) -> Iterator[str]:
    first = next((example for example in rule.examples if example.bad), None)
    if first is not None:
        yield from ("## Example", "", *_example_lines(first))
    others = len(rule.examples) - (first is not None)
    more = "1 more example" if others == 1 else f"{others} more examples"
    yield f"{more}, the evidence and the references: perflint rule {rule.code} --full"


def _rest(rule: Rule) -> Iterator[str]:
    yield from ("## Examples", "")
    for example in rule.examples:
        yield from _example_lines(example)
    if rule.evidence:
        yield from ("## Evidence", "", *_paragraphs(rule.evidence))
    yield from ("## References", "", *references(rule))


def cost(event: Event) -> str:
    """What an event costs, the resulting levels of impact, and the source of the figure."""
    source = " ".join(event.source.split())
    if event.level is not None:
        return f"{_sentence(event.what)} has a {event.level} impact; no time says how much. Source: {source}"
    forward = f" ({event.forward:g} ms within a forward pass)" if event.forward != event.milliseconds else ""
    text = (
        f"{_sentence(event.what)} is taken to cost {event.milliseconds:g} ms{forward}. The impact of a finding is low "
        f"below {event.medium_from:g} ms a step, and high from {max(HIGH_FROM_MS, event.medium_from):g} ms on."
    )
    more = " Those of one step are added up." if event.adds_up else " A second one in the same step adds little."
    return f"{text}{more} Source: {source}"


def _sentence(what: str) -> str:
    return what[0].upper() + what[1:]


def references(rule: Rule) -> Iterator[str]:
    """The sources of a rule as a list in Markdown: each with what it shows."""
    for each in rule.references:
        yield f"- {each.url}"
        yield textwrap.fill(each.shows, _WIDTH, initial_indent="  ", subsequent_indent="  ", break_long_words=False)


def _example_lines(example: Example) -> Iterator[str]:
    yield from (f"### {example.title}", "")
    rows = ", ".join(map(str, example.lines))
    reported = f"Reported (line {rows}):" if len(example.lines) == 1 else f"Reported (lines {rows}):"
    level = f" ({example.level})" if example.level is not None else ""
    for heading, code in (
        (reported, example.bad),
        (f"After the fix{level}:", example.fixed),
        ("Not reported:", example.good),
    ):
        if code:
            yield from (heading, "", textwrap.indent(code.strip("\n"), "    "), "")


def _paragraphs(prose: str) -> Iterator[str]:
    """Prose folded to lines; blank lines separate paragraphs, and indented lines and list items keep their own."""
    for paragraph in prose.strip().split("\n\n"):
        if any(line.startswith((" ", "-", "|", "*")) for line in paragraph.splitlines()):
            yield paragraph
        else:
            yield textwrap.fill(paragraph, _WIDTH, break_long_words=False, break_on_hyphens=False)
        yield ""
