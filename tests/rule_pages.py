"""Writes the pages of the rules: ``python -m tests.rule_pages`` makes ``docs/rules`` of ``rules/*.yaml``.

There is one page for each rule, and an index. Everything on them comes from the rule's YAML file or from measurements.
"""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from perflint import catalogue
from perflint.catalogue import Example, Group, Rule
from perflint.findings import Level
from perflint.output import measured, rule_page

INDEX = "README.md"
_EVIDENCE = re.compile(r"evidence/[\w-]+/PPF\d{3}\.json")
_ALL_OF_IT = 1_000
"""Lines of context in a diff: more than an example has."""
FOLDER = Path(__file__).resolve().parents[1] / "docs" / "rules"


def pages() -> dict[str, str]:
    """All pages by the name of their file."""
    rules = catalogue.shipped()
    found = {f"{code}.md": page_of(rule) for code, rule in rules.items()}
    return {INDEX: index_of(rules.values(), catalogue.groups()), **found}


def main() -> None:
    """Write all pages, and take those of rules that are gone away."""
    FOLDER.mkdir(exist_ok=True)
    wanted = pages()
    for place in FOLDER.glob("*.md"):
        if place.name not in wanted:
            place.unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    print(f"wrote {len(wanted)} pages to {FOLDER.name}")


def page_of(rule: Rule) -> str:
    """The page of a rule."""
    return "\n".join(_page(rule)).rstrip() + "\n"


def index_of(rules: Iterable[Rule], groups: Mapping[str, Group]) -> str:
    """The list of all rules by bottleneck, by Paddle call and by symptom."""
    return "\n".join(_index(list(rules), groups)).rstrip() + "\n"


def _page(rule: Rule) -> Iterator[str]:
    yield from (f"# {rule.code} {rule.name}", "", " ".join(rule.summary.split()), "")
    yield from ("| | |", "|---|---|")
    for name, value in _facts(rule):
        yield f"| {name} | {value} |"
    yield from ("", "## Why it costs", "", rule.why.strip(), "")
    if rule.ignore_when:
        yield from ("## When to ignore it", "", rule.ignore_when.strip(), "")
    yield from ("## The fix", "", *_fix(rule), "")
    if rule.examples:
        yield from ("## Examples", "")
        for example in rule.examples:
            yield from _example(example)
    if rule.event is not None:
        yield from ("## How much it costs", "", rule_page.cost(rule.event), "")
    yield from ("## Measured", "", _EVIDENCE.sub(r"[\g<0>](../../\g<0>)", measured.paragraph(rule)), "")
    if rule.evidence:
        yield from ("## Evidence", "", rule.evidence.strip(), "")
    if rule.references:
        yield from ("## References", "", *(f"* <{each.url}>: {each.shows}" for each in rule.references), "")
    yield f"[All rules]({INDEX}) | [the file that this page is made of](../../rules/{rule.path.name})"


def _facts(rule: Rule) -> Iterator[tuple[str, str]]:
    yield "Bottleneck", rule.bottleneck
    if rule.event is not None:
        yield "Impact", f"{rule.event.level_of(rule.event.milliseconds)}: {rule.event.what}"
    yield "Fix", f"[{rule.fix_level}](../fixes.md)"
    yield "On by default", "yes" if rule.default else f"no: `--extend-select {rule.code}`"
    if rule.off:
        yield "Why it is off", rule.off
    if rule.calls:
        yield "About", ", ".join(f"`{call}`" for call in rule.calls)
    yield "In a line's comment", f"`# noqa: {rule.code}` silences it"


def _fix(rule: Rule) -> Iterator[str]:
    yield f"{rule.fix_title[:1].upper()}{rule.fix_title[1:]} (**{rule.fix_level}**)."
    if rule.fix_reason:
        opening = "Where that does not hold" if rule.fix_level is Level.SAFE else "Why it is not safe"
        yield from ("", f"{opening}: {' '.join(rule.fix_reason.split())}.")


def _example(example: Example) -> Iterator[str]:
    yield from (f"### {example.title}", "")
    if example.good is not None:
        yield from ("Not reported:", "", *_block("python", example.good), "")
        return
    bad = example.bad or ""
    lines = ", ".join(map(str, example.lines))
    yield from (f"Reported: line{'s' if len(example.lines) > 1 else ''} {lines}.", "")
    if example.fixed is None:
        yield from _block("python", bad)
    else:
        yield from _block("diff", _difference(bad, example.fixed))
    yield ""


def _difference(before: str, after: str) -> str:
    """Both texts as one, with changed lines marked by ``-`` and ``+``."""
    rows = difflib.unified_diff(before.splitlines(), after.splitlines(), n=_ALL_OF_IT, lineterm="")
    return "\n".join(list(rows)[3:])  # without the file names and line numbers


def _block(language: str, code: str) -> Iterator[str]:
    fence = "````" if "```" in code else "```"
    yield from (f"{fence}{language}", *code.strip("\n").splitlines(), fence)


def _index(rules: list[Rule], groups: Mapping[str, Group]) -> Iterator[str]:
    yield from ("# All rules", "")
    yield "`perflint rule CODE` shows a page in the terminal. `perflint rule WORDS` looks for a group, a Paddle call or"
    yield "what you see while you train. What the fixes gain: [docs/measured.md](../measured.md)."
    yield from ("", "## By bottleneck")
    for name, group in groups.items():
        own = [rule for rule in rules if name in rule.groups]
        if own:
            yield from ("", f"### {name}: {group.about}", "", f"`--select {name}` means these.", "")
            yield from ("| code | name | what it is about | fix | by default |", "|---|---|---|---|---|")
            yield from map(_row, own)
    rest = [rule for rule in rules if not rule.groups]
    if rest:
        yield from ("", "### About what perflint is given", "")
        yield from ("| code | name | what it is about | fix | by default |", "|---|---|---|---|---|")
        yield from map(_row, rest)
    yield from ("", "## By Paddle call", "", "| call | rules |", "|---|---|")
    for call, own in sorted(_by_call(rules).items()):
        yield f"| `{call}` | {', '.join(map(_link, own))} |"
    yield from ("", "## By what you see", "", "| symptom | groups of rules |", "|---|---|")
    for symptom, names in _by_symptom(groups).items():
        yield f"| {symptom} | {', '.join(f'`{name}`' for name in names)} |"


def _row(rule: Rule) -> str:
    summary = " ".join(rule.summary.split())
    return f"| {_link(rule)} | {rule.name} | {summary} | {rule.fix_level} | {'on' if rule.default else 'off'} |"


def _link(rule: Rule) -> str:
    return f"[{rule.code}]({rule.code}.md)"


def _by_call(rules: Iterable[Rule]) -> dict[str, list[Rule]]:
    """The rules about each call."""
    found: defaultdict[str, list[Rule]] = defaultdict(list)
    for rule in rules:
        for call in dict.fromkeys((*rule.calls, *(match.call or match.item_of for match in rule.match))):
            found[call].append(rule)
    return found


def _by_symptom(groups: Mapping[str, Group]) -> dict[str, list[str]]:
    """The groups that each symptom leads to."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for name, group in groups.items():
        for symptom in group.symptoms:
            found[symptom].append(name)
    return found


if __name__ == "__main__":
    main()
