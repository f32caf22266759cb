"""Finds rules by what a user knows: a Paddle call, a group, or a symptom seen during training."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from perflint.catalogue import Group, Rule

_ENOUGH = 0.6
"""How similar a symptom has to be to the words searched for (``_share``)."""
_STEM = 5
"""Words that share this part of their letters at the beginning count as the same: "utilisation" and "utilization"."""
_SHORTEST = 3
"""The least number of letters of a name to search for in examples."""
_OFTEN = 2
"""How often a name has to occur in the reported lines of a rule's examples: once may be chance."""
_WORDS = re.compile(r"[a-z0-9_.]+|[\u4e00-\u9fff]+")


def search(wanted: str, rules: Mapping[str, Rule], groups: Mapping[str, Group]) -> list[Rule]:
    """The rules that some words match, those that are on by default first.

    The words may be a group (``io``), a call of Paddle (``paddle.io.DataLoader``, or the end of it: ``DataLoader``), a
    part of a rule's name (``workers``), what a user sees (``reader_cost high``), or a name in the lines that a rule
    reports (``num_workers``, ``.item()``).
    """
    asked = wanted.strip().lower()
    found = _in_groups([asked], rules) or _about_call(asked, rules) or _named(asked, rules)
    found = found or _in_groups(_with_symptom(asked, groups), rules) or _reporting(asked, rules)
    return sorted(found, key=lambda rule: not rule.default)


def _in_groups(names: Iterable[str], rules: Mapping[str, Rule]) -> list[Rule]:
    wanted = set(names)
    return [rule for rule in rules.values() if wanted.intersection(rule.groups)]


def _about_call(asked: str, rules: Mapping[str, Rule]) -> list[Rule]:
    """The rules about a call, by its full name or its last parts."""
    asked = asked.removesuffix("()")
    return [
        rule
        for rule in rules.values()
        if any(
            f".{call.lower()}".endswith(f".{asked}")
            for call in (*rule.calls, *(each.call or each.item_of for each in rule.match))
        )
    ]


def _named(asked: str, rules: Mapping[str, Rule]) -> list[Rule]:
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
    """The number of words that two texts have in common, as a share of the words of the longer one."""
    words, held = _WORDS.findall(asked), _WORDS.findall(symptom.lower())
    if not words:
        return 0.0
    alike = (max((_likeness(word, other) for other in held), default=0.0) for word in words)
    return sum(alike) / max(len(words), len(held))


def _likeness(word: str, other: str) -> float:
    """How similar two words are, from 0 to 1."""
    if word[0] > "\u3000":  # Chinese, which has no spaces between its words
        part, whole = sorted((word, other), key=len)
        return len(part) / len(whole) if part in whole else 0.0
    same_stem = len(word) >= _STEM and word[:_STEM] == other[:_STEM]
    return float(same_stem or word.removesuffix("s") == other.removesuffix("s"))
