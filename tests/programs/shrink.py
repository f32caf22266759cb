"""Cuts a failing program down: statements are taken out, and blocks give way to what is in them, while it fails."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from textwrap import dedent, indent

from perflint.text.source import Source
from tests.programs.texts import START, Program

Edit = tuple[int, int, list[str]]
"""Rows from (0 the first) and to (behind the last) with what stands there afterwards."""


def shrink_program(program: Program, fails: Callable[[Program], bool], most: int = 200) -> Program:
    """The smallest program found that still fails: with fewer files, plainly written, and each file cut down."""
    plain = Program(
        tuple(replace(item, text=_plain(item.text), encoding="utf-8", bom=False) for item in program.sources)
    )
    program = plain if plain != program and fails(plain) else program
    before = None
    while program != before:
        before = program
        for path in [source.path for source in program.sources if source.path != START]:
            fewer = program.without(path)
            program = fewer if fails(fewer) else program
        for source in program.sources:
            if "\r" not in source.text and source.encoding == "utf-8":
                program = _smaller(program, source, fails, most)
    return program


def _smaller(program: Program, source: Source, fails: Callable[[Program], bool], most: int) -> Program:
    """The program with one of its files cut down."""
    text = shrink(source.text, lambda smaller: fails(program.having({source.path: smaller})), most)
    changed = program.having({source.path: text})
    return changed if fails(changed) else program


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "")


def shrink(text: str, fails: Callable[[str], bool], most: int = 400) -> str:
    """The smallest text found that still fails.

    Args:
        fails: whether a text fails as the first one does; it must hold for ``text`` itself.
        most: how many texts may be tried.
    """
    tried = 0
    before = ""
    while text != before:  # one pass after another, until a pass takes nothing out
        before, at = text, 0
        edits = _edits(text)
        while at < len(edits) and tried < most:
            candidate = _edited(text, edits[at])
            tried += 1
            if _parses(candidate) and fails(candidate):
                text, edits = candidate, _edits(candidate)
            else:
                at += 1
    return re.sub(r"\n{4,}", "\n\n\n", text).strip("\n") + "\n"


def _edits(text: str) -> list[Edit]:
    """What may be tried, the largest pieces first."""
    rows = text.splitlines()
    tree = ast.parse(text)
    found: list[Edit] = []
    for block in _blocks(tree):
        for node in block:
            assert node.end_lineno is not None
            first = min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", ()))]) - 1
            filler = [" " * node.col_offset + "pass"] if len(block) == 1 and block is not tree.body else []
            if filler != rows[first : node.end_lineno]:
                found.append((first, node.end_lineno, filler))
            if isinstance(node, (ast.For, ast.While, ast.If, ast.Try, ast.With, ast.FunctionDef, ast.ClassDef)):
                for inner in _bodies(node):
                    found.append((first, node.end_lineno, _unwrapped(rows, node, inner)))
    return sorted(found, key=lambda edit: len(edit[2]) - (edit[1] - edit[0]))


def _bodies(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        inner = getattr(node, name, None)
        if inner:
            yield inner


def _unwrapped(rows: list[str], node: ast.stmt, inner: list[ast.stmt]) -> list[str]:
    last = inner[-1].end_lineno
    body = "\n".join(rows[inner[0].lineno - 1 : last])
    return indent(dedent(body), " " * node.col_offset).split("\n")


def _blocks(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield block


def _edited(text: str, edit: Edit) -> str:
    rows = text.splitlines()
    first, last, instead = edit
    return "\n".join([*rows[:first], *instead, *rows[last:]]) + "\n"


def _parses(text: str) -> bool:
    try:
        compile(text, "train.py", "exec")
    except (SyntaxError, ValueError):
        return False
    return True
