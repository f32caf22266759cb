"""Where gradients are switched off: by a decorator, a ``with``, a switch, or by whoever calls the function."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from perflint.index.names import dotted
from perflint.index.scopes import Place, Scope, Statement

if TYPE_CHECKING:
    from perflint.index.file import FileIndex
    from perflint.index.project import Project

_OFF = re.compile(r"no_?grad|inference_mode", re.IGNORECASE)
_SWITCHED = re.compile(r"set_grad_enabled|no_grad\(\)(\(|\.__enter__)")
_MOST_SITES = 100

Site = tuple["FileIndex", Scope, ast.Call]


class NoGrad:
    """Answers for one project where gradients are off."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._held: dict[Scope, bool] = {}

    def over_scope(self, file: FileIndex, scope: Scope) -> bool:
        """Whether a function runs with gradients off: by its decorators, or because every known caller sees to it."""
        if scope not in self._held:
            self._held[scope] = False  # a recursive call decides nothing
            self._held[scope] = self.decorated(file, scope) or self._by_callers(file, scope)
        return self._held[scope]

    def decorated(self, file: FileIndex, scope: Scope) -> bool:
        """Whether a decorator switches gradients off, itself or in the wrapper that it puts around the function."""
        if isinstance(scope.node, ast.Module):
            return False
        return any(self._turns_off(decorator, file, scope.parent or scope) for decorator in scope.node.decorator_list)

    def over_statement(self, file: FileIndex, scope: Scope, statement: Statement) -> bool:
        """Whether a ``with`` around a statement switches gradients off, or a ``no_grad`` is in one of its calls."""
        return self._under_with(file, scope, statement.place) or any(
            _OFF.search(dotted(call.func) or "") for call in statement.calls
        )

    def whole_body(self, file: FileIndex, scope: Scope) -> bool:
        """Whether everything that calls anything in a function stands under such a ``with``."""
        working = [statement for statement in scope.statements if statement.calls]
        return bool(working) and all(
            self.over_statement(file, scope, statement) or isinstance(statement.node, (ast.With, ast.Return))
            for statement in working
        )

    def _under_with(self, file: FileIndex, scope: Scope, place: Place | None) -> bool:
        return place is not None and any(
            self._turns_off(item.context_expr, file, scope)
            for link in place.chain()
            if isinstance(link.node, (ast.With, ast.AsyncWith))
            for item in link.node.items
        )

    def _turns_off(self, node: ast.expr, file: FileIndex, scope: Scope) -> bool:
        if isinstance(node, ast.IfExp):  # `no_grad() if testing else nullcontext()`: its author has thought of it
            return self._turns_off(node.body, file, scope) or self._turns_off(node.orelse, file, scope)
        called = node.func if isinstance(node, ast.Call) else node
        name = dotted(called)
        if name is None:
            return False
        last = name.rpartition(".")[2]
        if _OFF.search(last) or last == "set_grad_enabled":
            return True
        if not isinstance(node, ast.Call):
            value = self._project.definitions(file, scope).get(name)
            if isinstance(value, ast.Call):
                return self._turns_off(value, file, scope)
        found = self._project.callee(file, scope, name, {})
        return found is not None and self._mentions(found[0], found[1])

    def _mentions(self, file: FileIndex, scope: Scope) -> bool:
        node = scope.node
        if isinstance(node, ast.Module):
            return False
        rows = file.source.text.splitlines()[node.lineno - 1 : node.end_lineno]
        return any(_OFF.search(row) for row in rows)

    # -- callers -----------------------------------------------------------------------------------------------

    def _by_callers(self, file: FileIndex, scope: Scope) -> bool:
        if isinstance(scope.node, ast.Module):
            return False
        known: list[bool] = []
        for site_file, caller, call in self._project.callers.named(scope.name)[:_MOST_SITES]:
            if caller is scope:
                continue
            reached = self._reaches(site_file, caller, call, file, scope)
            if reached is False:
                continue
            holds = self._holds(site_file, caller, call)
            if reached is None:
                if holds:
                    return True  # not sure that it comes here, but if it does, all is well
                continue
            known.append(holds)
        return bool(known) and all(known)

    def _holds(self, file: FileIndex, caller: Scope, call: ast.Call) -> bool:
        statement = next((item for item in caller.statements if call in item.calls), None)
        if statement is not None and self.over_statement(file, caller, statement):
            return True
        return self.over_scope(file, caller)

    def _reaches(self, file: FileIndex, caller: Scope, call: ast.Call, home: FileIndex, scope: Scope) -> bool | None:
        """Whether a call leads to a function; None when it cannot be told."""
        name = dotted(call.func)
        found = self._project.callee(file, caller, name, {}) if name else None
        if found is None:
            if isinstance(call.func, ast.Attribute):
                return None if scope.owner is not None and _may_fit(call, scope) else False
            return None if file is home else False
        if found[1] is scope:
            return True
        # `self.evaluate()` in a base class reaches the method of the class that inherits from it.
        return None if found[1].owner is not None and scope.owner is not None else False


def _may_fit(call: ast.Call, scope: Scope) -> bool:
    """Whether a method could take a call's arguments, as far as their number and names go."""
    assert not isinstance(scope.node, ast.Module)
    args = scope.node.args
    names = {*scope.parameters, *(arg.arg for arg in args.kwonlyargs)}
    required = len(scope.parameters) - len(args.defaults)
    given = len(call.args) + len(call.keywords)
    if args.kwarg is None and not {item.arg for item in call.keywords} <= {*names, None}:
        return False
    return given >= required and (args.vararg is not None or args.kwarg is not None or given <= len(names))


def is_switched(file: FileIndex) -> bool:
    """Whether a file switches gradients by hand, so that what is on where cannot be read off its blocks."""
    return file.matches(_SWITCHED)
