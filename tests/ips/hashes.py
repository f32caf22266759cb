"""What a measurement was taken of: hashes of the script, of the fixed script, of the rule and of the method.

Evidence keeps them, and a test compares them with those of today.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import yaml

from perflint import catalogue
from tests.ips import cases, method
from tests.ips.program_text import digest, with_helpers

WORDS = {
    "script": "the script, or what it uses of the modules beside it",
    "fixed": "what the fix makes of the script",
    "rule": "what the rule's file tells the fix to write",
}
"""What each hash is of; that of the method has numbers of its own."""


@dataclass(frozen=True)
class Hashes:
    """What a measurement was taken of, as hashes, and the number of the method (``tests/ips/method.py``)."""

    script: str
    fixed: str
    rule: str
    method: int
    engine: str


@cache
def current(code: str) -> Hashes:
    """The hashes of a rule's script, its fix and the method as they are today."""
    case = cases.cases()[code]
    texts = (case.script.read_text(encoding="utf-8"), cases.fixed(case))
    script, fixed = (digest(with_helpers(text, cases.SCRIPTS)) for text in texts)
    return Hashes(script, fixed, _rule(code), method.CURRENT, method.current_hash())


def changed(then: Hashes, now: Hashes) -> list[str]:
    """What has changed since a measurement, in words; a method that measures the same has not."""
    found = [words for name, words in WORDS.items() if getattr(then, name) != getattr(now, name)]
    if then.method != now.method or then.engine not in method.METHODS.get(then.method, {}):
        found.append(f"how steps are timed and compared (method {then.method}, now {now.method})")
    return found


def as_hashes(data: Mapping[str, object] | None) -> Hashes | None:
    """The hashes that a file has; None where it has none."""
    return Hashes(**data) if data else None  # type: ignore[arg-type]  # the fields are checked by the class


def _rule(code: str) -> str:
    """The hash of the parameters and values that ``match`` in a rule's file has for the fix.

    A rule whose fix is made by a check in Python has none there: then the fixed script alone tells.
    """
    found = yaml.safe_load(catalogue.shipped()[code].path.read_text(encoding="utf-8")).get("match", [])
    entries = [found] if isinstance(found, dict) else found
    written = sorted({(str(each.get("parameter", "")), str(each.get("set", ""))) for each in entries})
    return digest(json.dumps(written))
