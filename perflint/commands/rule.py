"""``perflint rule``: explains a rule, or lists all rules."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches

from perflint import catalogue
from perflint.catalogue import CatalogueError, Group, Rule
from perflint.commands import CommandError, as_command_error
from perflint.output import rule_page
from perflint.output.console import Console


def run(options: argparse.Namespace, console: Console) -> int:
    """Print one rule, all rules (``--all``), or otherwise one line for each rule.

    Other words are searched for (`search`); one line is printed for each rule found.

    Raises:
        CommandError: no rule matches the words, or the installation lacks the rule files.
    """
    with as_command_error(CatalogueError):
        rules = catalogue.shipped()
    as_json = options.output_format == "json"
    wanted = " ".join(options.rule)
    rule = _named(wanted, rules)
    found = [rule] if rule is not None else _found(wanted, rules)
    if as_json:
        pages = [rule_page.data(each) for each in found]
        console.write(_dump(pages if rule is None else pages[0]))
    elif rule is not None or options.all:
        console.write("\n".join(rule_page.text(each, full=options.full) for each in found))
    else:
        console.write("".join(_index(found)))
    if not (wanted or as_json or options.all):
        console.write("".join(_groups()))
    return 0


def _named(wanted: str, rules: Mapping[str, Rule]) -> Rule | None:
    """The rule of a code, of its number, or of a name."""
    by_word = _by_word(rules)
    return by_word.get(f"PPF{wanted}") or by_word.get(wanted.upper()) or by_word.get(wanted.lower())


def _by_word(rules: Mapping[str, Rule]) -> dict[str, Rule]:
    return {word: rule for rule in rules.values() for word in (rule.code, rule.name)}


def _found(wanted: str, rules: Mapping[str, Rule]) -> list[Rule]:
    """The rules that these words mean; without any, all rules."""
    if not wanted:
        return [*rules.values()]
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
    from perflint.output.report import json_text  # the pages for people do not need it

    return json_text(value, indent=2) + "\n"


# -- search by what a user knows --------------------------------------------------------------------------------------

_ENOUGH = 0.6
"""How similar a symptom has to be to the words searched for (``_share``)."""
_STEM = 5
"""Words that share this part of their letters at the beginning count as the same: "utilisation" and "utilization"."""
_SHORTEST = 3
"""The least number of letters of a name to search for in examples."""
_OFTEN = 2
"""How often a name has to occur in the reported lines of a rule's examples: once may be chance."""
_ANY_RULE = frozenset({"slow", "slower", "training", "paddle", "is", "the", "why", "too"})
"""Words that say nothing about which rule is meant."""
_CALL = re.compile(r"(?:[\w.]*\.)?(?P<name>\w+)(?:\(.*\))?")
"""A call or an attribute with its owner, such as ``float(loss)`` and ``loss.item()``."""
_WORDS = re.compile(r"[a-z0-9_.]+|[\u4e00-\u9fff]+")


def search(wanted: str, rules: Mapping[str, Rule], groups: Mapping[str, Group]) -> list[Rule]:
    """The rules that some words match, those that are on by default first.

    The words may be a group (``io``), a call of Paddle (``paddle.io.DataLoader``, or the end of it: ``DataLoader``), a
    part of a rule's name (``workers``), what a user sees (``reader_cost high``), or a name in the lines that a rule
    reports (``num_workers``, ``.item()``).  Else the rules whose page mentions them (``if loss``), and at last those
    that are found without words that any rule could have (``dataloader slow``).
    """
    asked = " ".join(wanted.lower().split())
    found: list[Rule] = []
    call = _CALL.fullmatch(asked)
    for words in (asked, telling(asked), call["name"] if call else ""):
        found = found or (_search(words, rules, groups) if telling(words) else [])
    return sorted(found, key=lambda rule: not rule.default)


def telling(asked: str) -> str:
    """The words that say which rules are meant: ``dataloader`` for ``dataloader slow``, and none for ``slow``."""
    return " ".join(word for word in asked.lower().split() if word not in _ANY_RULE)


def _search(asked: str, rules: Mapping[str, Rule], groups: Mapping[str, Group]) -> list[Rule]:
    found = _in_groups([asked], rules) or _about_call(asked, rules) or _with_name(asked, rules)
    found = found or _in_groups(_with_symptom(asked, groups), rules) or _reporting(asked, rules)
    return found or _mentioning(asked, rules)


def _in_groups(names: Iterable[str], rules: Mapping[str, Rule]) -> list[Rule]:
    wanted = set(names)
    return [rule for rule in rules.values() if wanted.intersection(rule.groups)]


def _about_call(asked: str, rules: Mapping[str, Rule]) -> list[Rule]:
    """The rules about a call, by its full name or its last parts."""
    end = f".{asked.removesuffix('()')}"
    calls = {code: (*rule.calls, *(each.call or each.item_of for each in rule.match)) for code, rule in rules.items()}
    return [rules[code] for code, names in calls.items() if any(f".{name}".lower().endswith(end) for name in names)]


def _with_name(asked: str, rules: Mapping[str, Rule]) -> list[Rule]:
    """The rules in whose name all the words stand."""
    words = set(re.split(r"[\s-]+", asked))
    return [rule for rule in rules.values() if words <= set(rule.name.split("-"))]


def _reporting(asked: str, rules: Mapping[str, Rule]) -> list[Rule]:
    """The rules that report lines with a name; those whose examples have most of them come first.

    No rules if a third of all rules match: a name such as ``loss`` says nothing.
    """
    name = asked.strip(".").removesuffix("()")
    if len(name) < _SHORTEST or not name.isidentifier():
        return []
    word = re.compile(rf"(?<![a-z0-9]){re.escape(name)}s?(?![a-z0-9])")
    counts = {code: sum(map(len, map(word.findall, _reported_lines(rule)))) for code, rule in rules.items()}
    found = sorted((code for code in rules if counts[code] >= _OFTEN), key=lambda code: -counts[code])
    return [rules[code] for code in found] if len(found) <= len(rules) / 3 else []


def _mentioning(asked: str, rules: Mapping[str, Rule]) -> list[Rule]:
    """The rules whose summary or explanation has these words in this order; none if a third of all rules do.

    One word has to be in the summary: half of the explanations have ``cost``.
    """
    if len(asked) < _SHORTEST:
        return []
    phrase = re.compile(rf"(?<!\w){re.escape(asked)}(?!\w)")
    is_word = " " not in asked
    texts = {code: rule.summary if is_word else f"{rule.summary} {rule.why}" for code, rule in rules.items()}
    found = [rules[code] for code, text in texts.items() if phrase.search(" ".join(text.lower().split()))]
    return found if len(found) <= len(rules) / 3 else []


def _reported_lines(rule: Rule) -> Iterator[str]:
    for example in rule.examples:
        lines = (example.bad or "").splitlines()
        yield from (lines[row - 1].lower() for row in example.lines if row <= len(lines))


def _with_symptom(asked: str, groups: Mapping[str, Group]) -> list[str]:
    """The groups of the symptoms that match the words best; several if they match equally well."""
    shares = {name: max((_share(asked, each) for each in group.symptoms), default=0) for name, group in groups.items()}
    best = max(shares.values(), default=0)
    return [name for name, share in shares.items() if share == best] if best >= _ENOUGH else []


def _share(asked: str, symptom: str) -> float:
    """The number of words that two texts have in common, as a share of the words of the longer one.

    1 if the symptom has several words as they are: ``memory grows`` is enough for ``memory grows during training``.
    """
    words, held = _WORDS.findall(asked), _WORDS.findall(symptom.lower())
    if not words:
        return 0.0
    alike = (max((_likeness(word, other) for other in held), default=0.0) for word in words)
    is_telling = len(words) > 1 or "_" in words[0]
    if is_telling and f" {' '.join(words)} " in f" {' '.join(held)} ":
        return 1.0
    return sum(alike) / max(len(words), len(held))


def _likeness(word: str, other: str) -> float:
    """How similar two words are, from 0 to 1."""
    if word[0] > "\u3000":  # Chinese, which has no spaces between its words
        part, whole = sorted((word, other), key=len)
        return len(part) / len(whole) if part in whole else 0.0
    same_stem = len(word) >= _STEM and word[:_STEM] == other[:_STEM]
    return float(same_stem or word.removesuffix("s") == other.removesuffix("s"))
