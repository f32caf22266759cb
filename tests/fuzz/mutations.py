"""Changes to Python texts at random: some leave them valid, some do not."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

_ODD = (
    "\x0c",
    "\t",
    "\x00",
    "\r",
    "\ufeff",
    "\u2028",
    "é",
    "数",
    "\U0001f600",
    "\ud800",
    "\\\n",
    ";",
    "#",
    '"""',
    "(",
    "]",
)
_STATEMENTS = (
    "break", "continue", "return", "pass", "yield loss", "raise", "global total", "nonlocal loss", "del loss",
    "loss = None", "step += 1", "loss.scale_(2)", "print(loss)", "total = float(total)", "import gc", "assert loss",
    "lambda: total", "total: float", "(total := 1)", "await total", "async def f(): pass", "@d",
    "total, loss = loss, total",
)  # fmt: skip
_HEADERS = (
    "if loss:", "if step % 10 == 0:", "while True:", "try:", "with paddle.no_grad():", "for _ in range(3):", "else:",
    "except Exception:", "finally:", "def inner():", "class Inner:", "match loss:", "async with x:",
)  # fmt: skip
Mutation = Callable[[list[str], random.Random], None]


def mutated(text: str, chance: random.Random) -> str:
    """The text with one to four changes."""
    rows = text.splitlines(keepends=True) or ["\n"]
    for _ in range(chance.randint(1, 4)):
        chance.choice(_MUTATIONS)(rows, chance)
        rows = rows or ["\n"]
    return "".join(rows)


def _indent(row: str) -> str:
    return row[: len(row) - len(row.lstrip())]


def _delete(rows: list[str], chance: random.Random) -> None:
    del rows[chance.randrange(len(rows))]


def _double(rows: list[str], chance: random.Random) -> None:
    at = chance.randrange(len(rows))
    rows.insert(at, rows[at])


def _swap(rows: list[str], chance: random.Random) -> None:
    one, other = chance.randrange(len(rows)), chance.randrange(len(rows))
    rows[one], rows[other] = rows[other], rows[one]


def _insert(rows: list[str], chance: random.Random) -> None:
    at = chance.randrange(len(rows))
    rows.insert(at, f"{_indent(rows[at])}{chance.choice(_STATEMENTS)}\n")


def _wrap(rows: list[str], chance: random.Random) -> None:
    """Put some rows under a header, indented as a person would."""
    first = chance.randrange(len(rows))
    last = min(len(rows), first + chance.randint(1, 6))
    header = f"{_indent(rows[first])}{chance.choice(_HEADERS)}\n"
    tail = [f"{_indent(rows[first])}finally:\n{_indent(rows[first])}    print(1)\n"] if "try" in header else []
    rows[first:last] = [header, *(f"    {row}" for row in rows[first:last]), *tail]


def _rename(rows: list[str], chance: random.Random) -> None:
    """Let one name of the file be another everywhere."""
    names = sorted(set(re.findall(r"\b[a-zA-Z_]\w*", "".join(rows))))
    if len(names) > 1:
        old, new = chance.sample(names, 2)
        rows[:] = "".join(re.sub(rf"\b{old}\b", new, row) for row in rows).splitlines(keepends=True)


def _replace_name(rows: list[str], chance: random.Random) -> None:
    """Put another name of the file in the place of one."""
    at = chance.randrange(len(rows))
    names = re.findall(r"\b[a-zA-Z_]\w*", "".join(rows)) or ["x"]
    found = list(re.finditer(r"\b[a-zA-Z_]\w*", rows[at]))
    if found:
        start, end = chance.choice(found).span()
        rows[at] = rows[at][:start] + chance.choice(names) + rows[at][end:]


def _odd(rows: list[str], chance: random.Random) -> None:
    at = chance.randrange(len(rows))
    place = chance.randrange(len(rows[at]) + 1)
    rows[at] = rows[at][:place] + chance.choice(_ODD) + rows[at][place:]


def _cut(rows: list[str], chance: random.Random) -> None:
    """Take some characters out, or end the text."""
    at = chance.randrange(len(rows))
    low = chance.randrange(len(rows[at]) + 1)
    high = chance.randrange(low, len(rows[at]) + 1)
    rows[at] = rows[at][:low] + rows[at][high:]
    if chance.random() < 0.1:
        del rows[at + 1 :]


def _join(rows: list[str], chance: random.Random) -> None:
    """Put a row behind another one, with a semicolon."""
    at = chance.randrange(len(rows))
    if at + 1 < len(rows):
        rows[at : at + 2] = [f"{rows[at].rstrip()}; {rows[at + 1].lstrip()}"]


def _ends(rows: list[str], chance: random.Random) -> None:
    end = chance.choice(("\r\n", "\r", "\n"))
    rows[:] = [row.rstrip("\r\n") + end for row in rows]


def _tabs(rows: list[str], _: random.Random) -> None:
    rows[:] = [_indent(row).replace("    ", "\t") + row.lstrip(" ") for row in rows]


_MUTATIONS: tuple[Mutation, ...] = (
    _delete, _double, _swap, _insert, _insert, _wrap, _wrap, _rename, _replace_name, _replace_name, _odd, _cut, _join,
    _ends, _tabs,
)  # fmt: skip
