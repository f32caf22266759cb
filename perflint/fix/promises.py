"""Checks what a safe fix promises, as far as a comparison of the code before and after can show it.

A safe fix keeps the trained weights bit for bit, nothing new can fail, comments survive, and the program prints, logs
and saves the same as before. Most of that only the rule can ensure, and the tests run it. What the two texts show is
checked here for every safe fix, so that no rule can break it by mistake:

* each comment is still there;
* no statement is under a test or in a loop that it was not under before;
* no call that prints, logs, saves or counts is removed.

For example, putting ``print(...)`` under ``if step % 10 == 0:`` breaks the second promise, whatever the rule says.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter

from perflint.fix.parsed_text import Reading
from perflint.syntax.scopes import terminal

_TESTS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.Match)
_REPORTS = frozenset(
    {"print", "pprint", "debug", "info", "warning", "warn", "error", "critical", "exception", "log"}
    | {"add_scalar", "add_scalars", "add_histogram", "add_image", "add_text", "set_postfix", "set_description"}
    | {"save", "async_save", "save_state_dict", "save_pretrained", "savez", "savetxt", "dump", "write", "writelines"}
    | {"append", "update", "step", "backward"}
)
"""Calls that show or store something, by their last name."""


def broken_promise(before: Reading, after: Reading) -> str:
    """The promise that an edit of this code breaks, as the reason of an unsafe fix; empty if none is seen."""
    if before.tree is None or after.tree is None:
        return ""
    if "#" in before.text and _comments(before.text) - _comments(after.text):
        return "a comment would be lost"
    if _runs_less_often(before.tree, after.tree):
        return "the code under the new test would run less often"
    lost = _reports(before.tree) - _reports(after.tree)
    return f"`{next(iter(lost))}` would no longer be called there" if lost else ""


def _comments(text: str) -> Counter[str]:
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return Counter()
    return Counter(token.string for token in tokens if token.type == tokenize.COMMENT)


def _runs_less_often(before: ast.Module, after: ast.Module) -> bool:
    """Whether a remaining statement is under more tests and loops than before."""
    if _tests(before) == _tests(after):
        return False
    old, new = _depths(before), _depths(after)
    return any(text in new and new[text][0] == count and new[text][1] > depth for text, (count, depth) in old.items())


def _tests(tree: ast.Module) -> int:
    return sum(isinstance(node, _TESTS) for node in ast.walk(tree))


def _depths(tree: ast.Module) -> dict[str, tuple[int, int]]:
    """Each simple statement, as text, with its number of occurrences and the tests and loops around them."""
    found: dict[str, tuple[int, int]] = {}
    stack: list[tuple[ast.AST, int]] = [(tree, 0)]
    while stack:
        node, depth = stack.pop()
        inside = depth + isinstance(node, _TESTS)
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):
                continue
            if not hasattr(child, "body"):
                text = ast.dump(child)
                count, total = found.get(text, (0, 0))
                found[text] = (count + 1, total + inside)
            stack.append((child, inside))
    return found


def _reports(tree: ast.Module) -> Counter[str]:
    """How many calls there are of each function that shows or stores something, by its last name."""
    names = (terminal(node) or "" for node in ast.walk(tree) if isinstance(node, ast.Call))
    return Counter(name for name in names if name in _REPORTS)
