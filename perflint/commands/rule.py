"""``perflint rule``: explains a rule, or lists all rules."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches

from perflint import catalogue
from perflint.catalogue import CatalogueError, Rule
from perflint.commands import CommandError
from perflint.commands.rule_search import search, telling
from perflint.output import rule_page
from perflint.output.console import Console
from perflint.output.json_text import json_text


def run(options: argparse.Namespace) -> int:
    """Print one rule, all rules (``--all``), or otherwise one line for each rule.

    Other words are searched for (``rule_search``); one line is printed for each rule found.

    Raises:
        CommandError: no rule matches the words, or the installation lacks the rule files.
    """
    console = Console()
    try:
        rules = catalogue.shipped()
    except CatalogueError as error:
        raise CommandError(str(error)) from error
    as_json = options.output_format == "json"
    wanted = " ".join(options.rule)
    rule = _named(wanted, rules)
    if rule is not None:
        console.write(_dump(rule_page.data(rule)) if as_json else rule_page.text(rule, full=options.full))
    else:
        _write_several(_found(wanted, rules) if wanted else [*rules.values()], options, console)
    if not (wanted or as_json or options.all):
        console.write("".join(_groups()))
    console.close()
    return 0


def _write_several(rules: Sequence[Rule], options: argparse.Namespace, console: Console) -> None:
    if options.output_format == "json":
        console.write(_dump([rule_page.data(rule) for rule in rules]))
    elif options.all:
        console.write("\n".join(rule_page.text(rule, full=options.full) for rule in rules))
    else:
        console.write("".join(_index(rules)))


def _named(wanted: str, rules: Mapping[str, Rule]) -> Rule | None:
    """The rule of a code, of its number, or of a name."""
    by_word = _by_word(rules)
    return by_word.get(f"PPF{wanted}") or by_word.get(wanted.upper()) or by_word.get(wanted.lower())


def _by_word(rules: Mapping[str, Rule]) -> dict[str, Rule]:
    return {word: rule for rule in rules.values() for word in (rule.code, rule.name)}


def _found(wanted: str, rules: Mapping[str, Rule]) -> list[Rule]:
    groups = catalogue.groups()
    found = search(wanted, rules, groups)
    if not found and not telling(wanted):
        raise CommandError(
            "all rules are about slow training: run `perflint check` on the code, or say what you see, "
            'as in `perflint rule "low GPU utilization"`'
        )
    if not found:
        near = get_close_matches(wanted, [*_by_word(rules), *groups], n=1)
        hint = f"did you mean {near[0]}?" if near else "`perflint rule` lists them all."
        raise CommandError(f"there is no rule {wanted!r}, and none about such a call or symptom: {hint}")
    return found


def _groups() -> Iterator[str]:
    """The groups, below the list of all rules."""
    groups = catalogue.groups()
    width = max(map(len, groups), default=0)
    yield "\nGroups, for --select and the like:\n"
    for group in groups.values():
        yield f"{group.name:<{width}}  {group.about}\n"


def _index(rules: Sequence[Rule]) -> Iterator[str]:
    width = max((len(rule.name) for rule in rules), default=0)
    for rule in rules:
        state = "on " if rule.default else "off"
        yield f"{rule.code}  {state}  {rule.name:<{width}}  {' '.join(rule.summary.split())}\n"


def _dump(value: object) -> str:
    return json_text(value, indent=2) + "\n"
