"""Finds code that uses gradients, directly or in what it calls."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Set
from typing import TYPE_CHECKING

from perflint.dataflow.dispatch import Dispatch
from perflint.dataflow.values import Values
from perflint.index.callers import Callers
from perflint.index.imports import Imports
from perflint.index.kinds import LAYER_TAG
from perflint.index.modules import Modules
from perflint.index.part import Part
from perflint.query import query
from perflint.syntax.names import dotted
from perflint.syntax.parameters import arguments_of, fits
from perflint.syntax.reaching import before
from perflint.syntax.scopes import Scope, Statement, terminal
from perflint.syntax.tree import walk
from perflint.training import evidence

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

_ASKS = (
    evidence.STEP_METHODS
    | {"backward", "append_backward", "minimize", "enable_grad", "grad", "gradients", "gradient", "vjp", "jvp"}
    | {"jacobian", "hessian", "Jacobian", "Hessian", "attack", "perturb", "saliency", "explain", "interpret"}
)
_MAKES = frozenset({"to_tensor", "to_variable", "Tensor"})
_HOOKS = ("register_forward_post_hook", "register_forward_pre_hook")
_SPELLINGS = ("paddle.grad(", "autograd", "gradients(", ".backward(", "jacobian", "Jacobian")


class Gradients(Part):
    """Decides which code of a project uses gradients."""

    @query
    def in_forward(self) -> frozenset[FileIndex]:
        """The files with a layer whose forward pass uses gradients, such as one that derives forces from energies."""
        kinds = Modules.of(self._project)
        return frozenset(
            file
            for file in self._project.files.values()
            if not file.is_quiet and not file.is_foreign and any(file.has(word) for word in _SPELLINGS)
            for owner in file.scopes.classes.values()
            if "forward" in owner.methods
            and kinds.kind_of_instance(file, owner).tag == LAYER_TAG
            and self.wanted_in(file, owner.methods["forward"])
        )

    @query
    def beside_forward(self) -> frozenset[FileIndex]:
        """The files that some program loads along with a layer whose forward pass uses gradients."""
        imports = Imports.of(self._project)
        return imports.closure(imports.users(self.in_forward()))

    @query
    def beside_hooks(self) -> frozenset[FileIndex]:
        """The files that some program loads along with one that lets each forward pass call a function which does."""
        imports = Imports.of(self._project)
        hooked = {
            file
            for file in self._project.mentions.of(*_HOOKS)
            for last in _HOOKS
            for scope, _, call in file.calls_named(last)
            for name in filter(None, map(dotted, call.args[:1]))
            if (found := Values.of(self._project).callee(file, scope, name, {})) is not None
            if self.wanted_in(*found) or any(terminal(inner) == "register_hook" for inner in found[1].calls)
        }
        return imports.closure(imports.users(hooked))

    def may_be_wanted(self, file: FileIndex, scope: Scope, statements: Iterable[Statement], models: Set[str]) -> bool:
        """Whether calls may reach a function that uses gradients, though nothing shows that they do.

        That is a method of an object of unknown class, or a function that is passed on and then gets one of ``models``.
        """
        dispatch = Dispatch.of(self._project)
        for call in (call for statement in statements for call in statement.calls):
            targets = dispatch.targets_by_names(file, scope, call)
            if any(self.wanted_in(target.file, target.scope) for target in targets):
                return True
            gets_one = not targets and not models.isdisjoint(map(dotted, arguments_of(call)))
            if gets_one and any(fits(function, call) for function in self._passed_on()):
                return True
        return False

    @query
    def _passed_on(self) -> list[Scope]:
        """The functions that use gradients and that some file uses as values: in a table, as an argument."""
        held = Callers.of(self._project).held_by
        files = [file for file in self._project.files.values() if not file.is_quiet and not file.is_foreign]
        return [
            scope
            for file in files
            if any(file.has_words(word) for word in _ASKS)
            for scope in file.scopes.scopes
            if scope.parent is not None and self.wanted_in(file, scope)
            if any(scope.name in held(other).held for other in self._project.mentions.values(scope.name))
        ]

    def wanted_by(self, file: FileIndex, scope: Scope, statements: Iterable[Statement]) -> bool:
        """Whether any of a scope's statements uses gradients or trains."""
        return any(self._wants(file, scope, statement) for statement in statements)

    @query(cycle=False)  # a recursive call adds nothing
    def wanted_in(self, file: FileIndex, scope: Scope) -> bool:
        """Whether a function uses gradients anywhere, including nested functions."""
        return self.wanted_by(file, scope, scope.statements) or any(
            self.wanted_in(file, inner) for inner in scope.functions.values()
        )

    def _wants(self, file: FileIndex, scope: Scope, statement: Statement) -> bool:
        if asks(statement):
            return True
        for call in statement.calls:
            name = dotted(call.func)
            found = Values.of(self._project).callee(file, scope, name, {}) if name else None
            if found is not None and found[1] is not scope and self.wanted_in(*found):
                return True
        return False


def asks(statement: Statement) -> bool:
    """Whether a statement itself trains, reads a gradient, or makes a tensor require one."""
    if evidence.terminal_names(statement) & _ASKS:
        return True
    if any(evidence.takes_optimizer_step(call) for call in statement.calls):
        return True
    node = statement.node
    if not isinstance(node, (ast.Assign, ast.Expr, ast.AugAssign, ast.Return, ast.AnnAssign)):
        return False
    if isinstance(node, ast.Assign) and _sets(node, "stop_gradient", False):
        return True
    return any(isinstance(item, ast.Attribute) and item.attr == "grad" for item in walk(node))


def freezes(statement: Statement, scope: Scope) -> bool:
    """Whether a statement freezes a weight: ``p.stop_gradient = True``, ``p.trainable = False``.

    In Paddle 1.x, tensors just created from a batch are marked the same way and do not count: ``label.stop_gradient =
    True``.
    """
    node = statement.node
    if not isinstance(node, ast.Assign):
        return False
    if _sets(node, "trainable", False):
        return True
    targets = [dotted(target.value) for target in node.targets if isinstance(target, ast.Attribute)]
    is_data = all(name is not None and _is_made_of_data(name, statement, scope) for name in targets)
    return _sets(node, "stop_gradient", True) and not is_data


def _is_made_of_data(name: str, at: Statement, scope: Scope) -> bool:
    """Whether the value of a name at a statement is a tensor that the function has created from host data."""
    values = [binding.value for binding in before(name, at, scope)]
    return bool(values) and all(isinstance(value, ast.Call) and terminal(value) in _MAKES for value in values)


def _sets(node: ast.Assign, attribute: str, value: bool) -> bool:
    return (
        isinstance(node.value, ast.Constant)
        and node.value.value is value
        and any(isinstance(target, ast.Attribute) and target.attr == attribute for target in node.targets)
    )
