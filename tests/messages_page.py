"""Prints what all rules say, on one page: ``python -m tests.messages_page``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from perflint import catalogue

CHECKS = Path(catalogue.__file__).parent / "rules"
_LETTERS = re.compile(r"[a-z]+ [a-z]+ [a-z]+")
"""Three words in a row: a sentence for people, and not a name."""


def of_rules() -> Iterator[str]:
    """The summary, the message and the fix of each rule."""
    for code, rule in catalogue.shipped().items():
        yield f"{code}\n  summary: {rule.summary}\n  message: {rule.message}\n  fix: {rule.fix_title}"
        if rule.fix_reason:
            yield f"  reason: {rule.fix_reason}"


def of_checks() -> Iterator[str]:
    """The sentences that checks put into these messages, with file and line; docstrings are left out."""
    for path in sorted(CHECKS.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docs)
        for node in constants:
            if isinstance(node.value, str) and _LETTERS.search(node.value):
                yield f"{path.name}:{node.lineno}: {node.value}"


def main() -> None:
    """Print both lists."""
    for line in (*of_rules(), *of_checks()):
        print(line)


if __name__ == "__main__":
    main()
