"""``perflint rule``: what a rule says, or the list of all rules."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from perflint import catalogue
from perflint.catalogue import CatalogueError, Rule
from perflint.commands import CommandError
from perflint.output import rule_page
from perflint.output.console import Console
from perflint.output.json_text import json_text


def run(options: argparse.Namespace) -> int:
    """Print one rule, all rules (``--all``) or, without either, one line for each.

    Raises:
        CommandError: there is no such rule, or the installation lacks the rule files.
    """
    console = Console()
    try:
        rules = catalogue.shipped()
    except CatalogueError as error:
        raise CommandError(str(error)) from error
    as_json = options.output_format == "json"
    if options.rule:
        rule = _find(options.rule, rules)
        console.write(_dump(rule_page.data(rule)) if as_json else rule_page.text(rule))
    elif as_json:
        console.write(_dump([rule_page.data(rule) for rule in rules.values()]))
    elif options.all:
        console.write("\n".join(map(rule_page.text, rules.values())))
    else:
        console.write("".join(_index(rules)))
    console.close()
    return 0


def _find(wanted: str, rules: Mapping[str, Rule]) -> Rule:
    by_word = {word: rule for rule in rules.values() for word in (rule.code, rule.name)}
    rule = by_word.get(wanted.upper()) or by_word.get(wanted.lower())
    if rule is None:
        near = get_close_matches(wanted, by_word, n=1)
        hint = f"did you mean {near[0]}?" if near else "`perflint rule` lists them all."
        raise CommandError(f"there is no rule {wanted!r}: {hint}")
    return rule


def _index(rules: Mapping[str, Rule]) -> Iterator[str]:
    width = max((len(rule.name) for rule in rules.values()), default=0)
    for rule in rules.values():
        state = "on " if rule.default else "off"
        yield f"{rule.code}  {state}  {rule.name:<{width}}  {' '.join(rule.summary.split())}\n"


def _dump(value: object) -> str:
    return json_text(value, indent=2) + "\n"
