"""Finds where gradients are off: because of a decorator, a ``with``, a mode switch, or the callers of the function."""

from __future__ import annotations

import ast
import re
from itertools import takewhile
from typing import TYPE_CHECKING

from perflint.dataflow.call_graph import CallGraph, CallSite, Certainty
from perflint.dataflow.values import Values
from perflint.index.part import Part
from perflint.query import query
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Place, Scope, Statement

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

_OFF = re.compile(r"no_?grad|inference_mode", re.IGNORECASE)
_SWITCHED = re.compile(r"set_grad_enabled|no_grad\(\)(\(|\.__enter__)")
_MOST_GUESSES = 2


class NoGrad(Part):
    """Answers for one project where gradients are off."""

    def over_scope(self, file: FileIndex, scope: Scope, guesses: int = _MOST_GUESSES) -> bool:
        """Whether a function runs with gradients off: by its decorators, or because all known callers turn them off.

        Args:
            file: the file of the function.
            scope: the function.
            guesses: how many calls on the path may be known only by a method's name.
        """
        return self._is_over(file, scope, guesses)

    @query(cycle=False)  # a recursive call decides nothing
    def _is_over(self, file: FileIndex, scope: Scope, guesses: int) -> bool:
        return self.decorated(file, scope) or self._by_callers(file, scope, guesses)

    def decorated(self, file: FileIndex, scope: Scope) -> bool:
        """Whether a decorator switches gradients off, directly or in its wrapper of the function."""
        if isinstance(scope.node, ast.Module):
            return False
        return any(self._turns_off(decorator, file, scope.parent or scope) for decorator in scope.node.decorator_list)

    def over_statement(self, file: FileIndex, scope: Scope, statement: Statement) -> bool:
        """Whether a ``with`` around a statement switches gradients off, or a ``no_grad`` is in one of its calls."""
        return self._under_with(file, scope, statement.place) or any(
            _OFF.search(dotted(call.func) or "") for call in statement.calls
        )

    def _under_with(self, file: FileIndex, scope: Scope, place: Place | None) -> bool:
        return place is not None and any(
            self._turns_off(item.context_expr, file, scope)
            for link in place.chain()
            if isinstance(link.node, (ast.With, ast.AsyncWith))
            for item in link.node.items
        )

    def _turns_off(self, node: ast.expr, file: FileIndex, scope: Scope) -> bool:
        if isinstance(node, ast.IfExp):  # `no_grad() if testing else nullcontext()`: this was considered
            return self._turns_off(node.body, file, scope) or self._turns_off(node.orelse, file, scope)
        called = node.func if isinstance(node, ast.Call) else node
        name = dotted(called)
        if name is None:
            return False
        last = name.rpartition(".")[2]
        if _OFF.search(last) or last == "set_grad_enabled":
            return True
        if not isinstance(node, ast.Call):
            value = Values.of(self._project).definitions(file, scope).get(name)
            if isinstance(value, ast.Call):
                return self._turns_off(value, file, scope)
        found = Values.of(self._project).callee(file, scope, name, {})
        return found is not None and self._mentions(found[0], found[1])

    def _mentions(self, file: FileIndex, scope: Scope) -> bool:
        node = scope.node
        if isinstance(node, ast.Module):
            return False
        last = node.end_lineno or node.lineno
        lines = file.source.lines
        return _OFF.search(file.source.text, lines.line_start(node.lineno), lines.line_end(last)) is not None

    # -- callers -----------------------------------------------------------------------------------------------

    def _by_callers(self, file: FileIndex, scope: Scope, guesses: int) -> bool:
        """Whether all calls that lead to a function, or one that may lead there, run with gradients off."""
        if isinstance(scope.node, ast.Module):
            return False
        open_sites: list[CallSite] = []
        closed = False
        for site in CallGraph.of(self._project).calls(file, scope, Certainty.NAME):
            if site.scope is scope:
                continue
            if not (
                self.over_statement(site.file, site.scope, site.statement) or self.decorated(site.file, site.scope)
            ):
                open_sites.append(site)
            elif site.certainty is Certainty.SURE:
                closed = True
            elif guesses:
                return True  # it is uncertain whether it leads here, but if it does, gradients are off
        return self._all_held(open_sites, closed, file, guesses)

    def _all_held(self, sites: list[CallSite], closed: bool, file: FileIndex, guesses: int) -> bool:
        """``_by_callers`` for the calls that do not switch gradients off themselves; ``closed``: some do."""
        sure = {site.scope: site.file for site in sites if site.certainty is Certainty.SURE}
        if (sure or closed) and all(self.over_scope(there, caller, guesses) for caller, there in sure.items()):
            return True
        unsure = {site.scope: site.file for site in sites if site.scope not in sure} if guesses else {}
        likely = sorted(unsure.items(), key=lambda item: -_nearness(item[1], file))
        return any(self.over_scope(there, caller, guesses - 1) for caller, there in likely)


def _nearness(file: FileIndex, other: FileIndex) -> int:
    """How many directories from the root on two files share."""
    pairs = zip(file.parts[:-1], other.parts[:-1], strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def is_switched(file: FileIndex) -> bool:
    """Whether a file switches gradients by hand, so that its blocks do not show where they are on."""
    return file.matches(_SWITCHED)
