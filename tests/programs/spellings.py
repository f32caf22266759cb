"""How a file gets at Paddle and NumPy: the spellings of its imports, when they run, and what hides their names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from textwrap import indent

from tests.programs.draft import Draft, Lines

PACKAGES = {
    "np": "import numpy as np",
    "paddle": "import paddle",
    "F": "import paddle.nn.functional as F",
}
"""The names of packages in drafts, with the plain statements that bind them."""


@dataclass
class Spelled:
    """A text with what it needs above it.

    ``bound`` are the names that the file binds for good, ``first`` lines that stand above all imports of packages.
    """

    body: str
    imports: Lines = field(default_factory=list)
    first: Lines = field(default_factory=list)
    future: Lines = field(default_factory=list)
    bound: set[str] = field(default_factory=set)


def spelled(draft: Draft, body: str, names: set[str]) -> Spelled:
    """A text whose packages are imported in one of many ways.

    Args:
        names: the names of packages that it reads, and that it has to import itself.
    """
    if draft.is_lazy:
        return Spelled(_in_functions(body, names))
    text = Spelled(body)
    wrap = _guarded if draft.is_guarded else _wrapped
    for name in sorted(names, key=lambda name: (draft.chance.random(), name)):
        statement, text.body, bound = _statement(draft, name, text.body)
        text.imports += wrap(draft, statement, bound)
        text.bound |= {bound} - {""}
    is_plain = all(re.fullmatch(r"(import|from) [^#]*", line) for line in text.imports)
    if is_plain and len(text.imports) > 1 and draft.often(0.3):
        text.imports = [draft.one(("; ", " ; ", ";")).join(text.imports)]
    if "paddle" not in names and not re.search(r"\bpaddle\b", body):
        _unneeded(draft, text)
    if draft.often(0.2):
        text.body = _hidden(draft, text.body, {"paddle", "np", "F", *text.bound})
    if text.bound and not draft.is_guarded and draft.often(0.06):
        name = draft.one(sorted(text.bound))
        text.body += f"\n\nprint({draft.one(_LOOKUPS).format(name=name)}.__name__)"
    return text


_LOOKUPS = (
    "eval('{name}')",
    "globals()['{name}']",
    "globals().get('{name}')",
    "vars()['{name}']",
    "__import__('sys').modules[__name__].__dict__['{name}']",
    "getattr(__import__('sys').modules[__name__], '{name}')",
)
"""Ways to get at a name that do not name it."""


def _statement(draft: Draft, name: str, body: str) -> tuple[str, str, str]:
    """An import statement, the text as it reads the name then, and the name that it binds (empty: several)."""
    plain = (PACKAGES[name], body, name)
    if draft.often(0.45):
        return plain
    if name == "np":
        other = draft.one(("numpy", "numpy_"))
        return (
            "import numpy" if other == "numpy" else f"import numpy as {other}",
            _renamed(body, "np", other),
            other,
        )
    if name == "paddle":
        other = draft.one(("P", "pd", "paddle_"))
        return f"import paddle as {other}", _renamed(body, "paddle", other), other
    used = sorted(set(re.findall(r"(?<![\w.])F\.(\w+)", body)))
    if draft.often(0.3) and used:
        return f"from paddle.nn.functional import {', '.join(used)}", re.sub(r"(?<![\w.])F\.(?=\w)", "", body), ""
    if draft.often(0.3):
        return (
            draft.one(("import paddle.nn as nn", "from paddle import nn")),
            _renamed(body, "F", "nn.functional"),
            "nn",
        )
    if draft.often(0.15):
        return "from paddle.nn.functional import *", re.sub(r"(?<![\w.])F\.(?=\w)", "", body), ""
    return draft.one((("from paddle.nn import functional as F", body, "F"), plain))


def _renamed(body: str, name: str, other: str) -> str:
    return re.sub(rf"(?<![\w.'\"]){name}(?=\.\w| is None)", other, body)


def _wrapped(draft: Draft, statement: str, name: str) -> Lines:
    if draft.often(0.8):
        return [statement + draft.one(("", "", "", "  # noqa: F401", "  # needed below", "  # noqa"))]
    return draft.one(
        (
            ["if True:", f"    {statement}"],
            ["import sys", "if sys.version_info >= (3, 8):", f"    {statement}"],
            [
                "try:",
                f"    {statement}",
                "except ImportError as error:",
                "    raise SystemExit('not there') from error",
            ],
            ["try:", f"    {statement}", "finally:", "    pass"],
            ["from contextlib import suppress", "with suppress(ImportError):", f"    {statement}"],
            ["for _ in range(1):", f"    {statement}"],
        )
    )


def _guarded(draft: Draft, statement: str, name: str) -> Lines:
    """An import for programs that also run where Paddle is not installed."""
    instead = [f"    {name} = None"] if name else ["    pass"]
    handler = draft.one(("except ImportError:", "except Exception:", "except (ImportError, OSError):"))
    return ["try:", f"    {statement}", handler, *instead]


def _unneeded(draft: Draft, text: Spelled) -> None:
    """Something named ``paddle`` in a file that does not read that name."""
    share = draft.chance.random()
    if share < 0.12:
        text.future.append("from __future__ import annotations")
        text.first.append("from typing import TYPE_CHECKING")
        text.imports += draft.one((["if TYPE_CHECKING:", "    import paddle"], ["if TYPE_CHECKING: import paddle"]))
        text.body = re.sub(r"(?m)^( *def \w+\((?:self, )?)model,", r"\1model: paddle.nn.Layer,", text.body)
    elif share < 0.3:
        text.imports += draft.one(
            (
                ["import paddle"],
                ["import paddle  # noqa: F401"],
                ["import paddle  # noqa: F401  kept for what it does"],
                ["import paddle.nn  # noqa: F401"],
                ["if False:", "    import paddle"],
                ["import sys", "if sys.platform == 'none':", "    import paddle"],
                ["try:", "    import paddle", "except ImportError:", "    paddle = None"],
                ["try:", "    import missing_package", "    import paddle", "except ImportError:", "    pass"],
                ["import numpy as paddle  # noqa: F401"],
                ["import paddle", "del paddle"],
                ["import paddle", "paddle = None"],
                ["paddle = 'not the package'"],
                ["def paddle():", "    return None"],
                ["for paddle in ():", "    pass"],
                ["import paddle as paddle"],
                ["def later():", "    import paddle", "    return paddle"],
                ["class Kept:", "    import paddle"],
            )
        )


def _hidden(draft: Draft, body: str, names: Iterable[str]) -> str:
    """A text in which a function has its own meaning for the name of a package that it does not use."""
    rows = body.split("\n")
    places = [
        (node, name)
        for node in ast.walk(ast.parse(body))
        if isinstance(node, ast.FunctionDef) and node.args.args
        for name in sorted(names)
        if not re.search(rf"\b{name}\b", "\n".join(rows[node.lineno - 1 : node.end_lineno]))
    ]
    if not places:
        return body
    node, name = draft.one([place for place in places if place[1] == "paddle"] or places)
    first, last = node.lineno - 1, node.end_lineno or node.lineno
    if draft.often(0.4) and any(item.arg == "model" for item in node.args.args) and node.name != "train":
        part = "\n".join(rows[first:last])
        rows[first:last] = re.sub(r"(?<![\w.])model\b(?!=)", name, part).split("\n")
    elif draft.often(0.5) and rows[first].endswith("):") and "*" not in rows[first]:
        rows[first] = f"{rows[first][:-2]}, {name}=None):"
    else:
        deep = " " * node.body[0].col_offset
        at = node.body[0].end_lineno if ast.get_docstring(node) else node.body[0].lineno - 1
        lines = draft.one(
            (
                [f"{name} = len('abc')"],
                [f"for {name} in ():", "    pass"],
                [f"import json as {name}"],
                [f"_ = [{name} for {name} in (1, 2)]"],
                [f"def {name}():", "    return None"],
                ["try:", "    pass", f"except ValueError as {name}:", "    pass"],
            )
        )
        rows[at:at] = [f"{deep}{line}" for line in lines]
    return "\n".join(rows)


def _in_functions(body: str, names: set[str]) -> str:
    """A text whose functions import what they need."""
    rows = body.split("\n")
    tree = ast.parse(body)
    tops = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    tops += [
        item
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        for item in node.body
        if isinstance(item, ast.FunctionDef)
    ]
    for node in sorted(tops, key=lambda node: -node.lineno):
        used = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} & names
        at = node.body[0].end_lineno if ast.get_docstring(node) else node.body[0].lineno - 1
        deep = " " * node.body[0].col_offset
        rows[at:at] = [f"{deep}{PACKAGES[name]}" for name in sorted(used)]
    return "\n".join(rows)


def in_main(lines: Lines) -> Lines:
    """Lines of a script in a function that binds the same names, and the call of it."""
    text = "\n".join(lines)
    bound = sorted(
        {
            node.id
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
    )
    return ["def main():", f"    global {', '.join(bound)}", *indent(text, "    ").split("\n"), "", "", "main()"]
