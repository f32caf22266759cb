"""Finds which functions of the project a call may reach, even if the name alone does not show it."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from perflint.dataflow.evaluate import Env, Evaluator
from perflint.dataflow.values import Values
from perflint.index.hierarchy import Hierarchy
from perflint.index.imports import Imports
from perflint.index.in_use import InUse
from perflint.index.kinds import EITHER, FUNCTION_TAG, LAYER_TAG, UNKNOWN_TAG, Kind
from perflint.index.modules import Modules
from perflint.index.part import Part
from perflint.query import query
from perflint.syntax.names import dotted, super_method
from perflint.syntax.parameters import fits
from perflint.syntax.scopes import Class, Scope, terminal

if TYPE_CHECKING:
    from perflint.index.project import FileIndex

_MOST_BY_NAME = 400
"""With more methods of one name than this, the name does not show which one is meant."""

# Methods of Tensors, Layers, optimizers, loaders and of Python's own containers: these names say nothing.
_COMMON = frozenset(
    {"add_histogram", "add_image", "add_parameter", "add_scalar", "add_sublayer", "as_tensor", "clear_grad"}
    | {"clear_gradient", "clear_gradients", "create_parameter", "eval_batch", "from_dict", "full_name"}
    | {"get_device", "get_input", "get_item", "get_lr", "get_output", "get_tensor", "index_select", "load_dict"}
    | {"load_state_dict", "masked_select", "named_parameters", "named_sublayers", "no_grad", "register_buffer"}
    | {"set_description", "set_device", "set_dict", "set_epoch", "set_item", "set_lr", "set_postfix"}
    | {"set_state_dict", "set_value", "state_dict", "stop_gradient", "test_batch", "to_dict", "to_tensor"}
    | {"train_batch", "zero_grad"}
)


@dataclass(frozen=True)
class Target:
    """A function that a call may reach. ``sure``: names and types lead there, not only the method name.

    ``bound``: the call's arguments are those of the function (unlike with a ``partial`` or a ``lambda``).
    """

    file: FileIndex
    scope: Scope
    sure: bool = True
    bound: bool = True


class Dispatch(Part):
    """Resolves calls of one project."""

    def targets(self, file: FileIndex, scope: Scope, call: ast.Call, env: Env) -> list[Target]:
        """What a call may reach, the likeliest first; empty if it leaves the project."""
        name = dotted(call.func)
        if name is not None:
            local = self._function_values(env.get(name))
            if local:
                return local
            several = self._several(file, scope, name, env)
            if several:
                return several
            found = Values.of(self._project).callee(file, scope, name, env)
            if found is not None:
                return [Target(*found), *self._overrides(found[1], name, scope)]
        inherited = self._of_bases(file, scope, call) if name is None else []
        return inherited or self._by_value(file, scope, call, env) or self._closure(file, call, env)

    def targets_by_names(self, file: FileIndex, scope: Scope, call: ast.Call) -> list[Target]:
        """What a call may reach, from names and from permanent attributes of objects: ``targets`` without a flow."""
        name = dotted(call.func)
        if name in scope.parameters:
            return []
        several = self._several(file, scope, name, {}) if name is not None else []
        if several:
            return several
        found = Values.of(self._project).callee(file, scope, name, {}) if name is not None else None
        if found is not None and name is not None:
            return [Target(*found), *self._overrides(found[1], name, scope)]
        made = self.building(file, call)
        if made:
            return made
        kept = Values.of(self._project).lasting_kind(file, scope, call.func)
        functions = self._function_values(kept)
        if functions or not isinstance(call.func, ast.Attribute):
            return functions
        receiver = Values.of(self._project).lasting_kind(file, scope, call.func.value)
        if receiver.type:
            return self._methods_of(receiver, call.func, scope)
        return [] if self._is_module(file, call.func.value) else self._by_name(file, scope, call)

    def _of_bases(self, file: FileIndex, scope: Scope, call: ast.Call) -> list[Target]:
        """The method that ``super().name(...)`` runs."""
        method = super_method(call)
        if method is None or scope.owner is None:
            return []
        bases = Hierarchy.of(self._project).bases(file, scope.owner)
        found = (Modules.of(self._project).method_of(*base, method) for base in bases)
        return [Target(*place) for place in found if place is not None][:1]

    def building(self, file: FileIndex, call: ast.Call) -> list[Target]:
        """The ``__init__`` that runs if a call creates an object; not ``sure``, as it may depend on its arguments."""
        found = Modules.of(self._project).find(file.names.resolve(dotted(call.func) or ""), file)
        if found is None or not isinstance(found[1], Class):
            return []
        init = Modules.of(self._project).method_of(found[0], found[1], "__init__")
        return [Target(*init, sure=False)] if init is not None else []

    def _closure(self, file: FileIndex, call: ast.Call, env: Env) -> list[Target]:
        """The function of the project that is passed to an optimizer to be called: ``optimizer.step(closure)``."""
        closure = closure_of(call)
        found = self._function_values(Evaluator(file, env).kind(closure)) if closure is not None else []
        return [replace(target, bound=False) for target in found]

    def _several(self, file: FileIndex, scope: Scope, name: str, env: Env) -> list[Target]:
        """The methods of an object that may be of several classes."""
        receiver, _, method = name.rpartition(".")
        kind = env.get(receiver)
        if kind is None and scope.owner is not None and receiver.startswith("self.") and receiver.count(".") == 1:
            own = Modules.of(self._project).kind_of_instance(file, scope.owner)
            kind = Values.of(self._project).attribute(own.type, receiver[5:])
        if kind is None or EITHER not in kind.type:
            return []
        return [
            target
            for part in kind.type.split(EITHER)
            for target in _one(Modules.of(self._project).method(part, method))
        ]

    def _by_value(self, file: FileIndex, scope: Scope, call: ast.Call, env: Env) -> list[Target]:
        evaluator = Evaluator(file, env)
        called = evaluator.kind(call.func)
        functions = self._function_values(called)
        if functions:
            return functions
        if called.type and called.tag != LAYER_TAG:
            return _one(Modules.of(self._project).method(called.type, "__call__"))
        if not isinstance(call.func, ast.Attribute):
            return []
        receiver = evaluator.kind(call.func.value)
        if receiver.type:
            return self._methods_of(receiver, call.func, scope)
        if receiver.tag == UNKNOWN_TAG and not self._is_module(file, call.func.value):
            return self._by_name(file, scope, call)
        return []

    def _methods_of(self, receiver: Kind, called: ast.Attribute, scope: Scope) -> list[Target]:
        """The methods of the classes that an object may be of."""
        caller = scope if dotted(called.value) == "self" else None
        return [
            target
            for part in receiver.type.split(EITHER)
            for target in _one(Modules.of(self._project).method(part, called.attr))
            or self._in_subclasses(part, called.attr, caller)
        ]

    def _function_values(self, kind: Kind | None) -> list[Target]:
        if kind is None or kind.tag != FUNCTION_TAG:
            return []
        return [Target(*place, bound=not kind.guess) for place in Modules.of(self._project).functions_of_kind(kind)]

    def _is_module(self, file: FileIndex, receiver: ast.expr) -> bool:
        name = dotted(receiver)
        return name is not None and file.names.is_bound(name.partition(".")[0])

    # -- subclasses --------------------------------------------------------------------------------------------

    def _overrides(self, scope: Scope, name: str, caller: Scope) -> Iterable[Target]:
        """Other classes' versions of a method of ``self``; an object stored in ``self`` has its known class."""
        if name != f"self.{scope.name}":
            return []
        return [hook for hook in self.hooks(scope, scope.name) if self._runs(hook, caller)][:_MOST_BY_NAME]

    def _runs(self, target: Target, caller: Scope) -> bool:
        """Whether an object of a method's class runs a function that calls the method on ``self``.

        ``Base.loop`` calls ``self.step()``; a class with its own ``loop`` and ``step`` never gets there.
        """
        owner = target.scope.owner
        if owner is None or caller.owner is None or caller.owner.methods.get(caller.name) is not caller:
            return True
        return Hierarchy.of(self._project).runs(target.file, owner, caller)

    def hooks(self, scope: Scope, method: str) -> list[Target]:
        """The subclasses' versions of a method of the class that a scope belongs to."""
        found = Hierarchy.of(self._project).descendants(scope.owner) if scope.owner is not None else []
        return [Target(file, owner.methods[method]) for file, owner in found if method in owner.methods]

    def _in_subclasses(self, type_name: str, method: str, caller: Scope | None) -> list[Target]:
        """The versions of a method in the subclasses of a class; ``caller``: the function that calls it on ``self``."""
        found = Modules.of(self._project).class_named(type_name)
        heirs = Hierarchy.of(self._project).descendants(found[1]) if found is not None else []
        targets = (Target(file, owner.methods[method]) for file, owner in heirs if method in owner.methods)
        return [target for target in targets if caller is None or self._runs(target, caller)]

    # -- names alone -------------------------------------------------------------------------------------------

    def _by_name(self, file: FileIndex, caller: Scope, call: ast.Call) -> list[Target]:
        """Methods with a distinctive name that fit the call's arguments, if nothing is known about the receiver.

        If some are in the caller's own directory, only these: a script next to its model uses that one. The caller
        itself is excluded: a trainer's ``training_step`` that calls ``self.model.training_step(batch)`` delegates to
        the model's. An old version of a module that nothing imports any more is excluded as well.
        """
        assert isinstance(call.func, ast.Attribute)
        name = call.func.attr
        if "_" not in name.strip("_") or name.startswith("_") or name in _COMMON:
            return []
        found = self._methods(name)
        if len(found) > _MOST_BY_NAME:
            return []
        fitting = [
            Target(owner, scope, sure=False)
            for owner, scope in found
            if scope is not caller and fits(scope, call) and (owner is file or self._may_be_meant(owner))
        ]
        beside = [target for target in fitting if target.file.parts[:-1] == file.parts[:-1]]
        return beside or fitting

    def _may_be_meant(self, file: FileIndex) -> bool:
        """Whether a program may load a file, so that a call may mean one of its methods by name alone."""
        return Imports.of(self._project).may_be_loaded(file) and not InUse.of(self._project).is_left_over(file)

    @query
    def _methods(self, name: str) -> list[tuple[FileIndex, Scope]]:
        """The methods of this name of all classes."""
        return [
            (file, owner.methods[name])
            for file in self._project.mentions.of(name)
            if not file.is_quiet and not file.is_foreign
            for owner in file.scopes.classes.values()
            if name in owner.methods
        ]


def closure_of(call: ast.Call) -> ast.expr | None:
    """The argument of ``optimizer.step(closure)`` that may be a function, which then runs the whole step."""
    given = [*call.args, *(item.value for item in call.keywords if item.arg == "closure")]
    if terminal(call) != "step" or len(given) != 1 or not isinstance(call.func, ast.Attribute):
        return None
    return given[0] if isinstance(given[0], (ast.Name, ast.Attribute, ast.Lambda)) else None


def _one(found: tuple[FileIndex, Scope] | None) -> list[Target]:
    return [Target(*found)] if found else []
