"""The call graph: which functions a call may reach (``callees``), and which calls may reach a function (``callers``).

Both follow one relation between calls and functions. A ``Certainty`` says what it rests on: names and types, an
override in a subclass, or only the name of a method.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple, TypeVar

from perflint.flow.evaluate import Env, Evaluator
from perflint.flow.values import Values
from perflint.index.hierarchy import Hierarchy
from perflint.index.imports import Imports
from perflint.index.in_use import Callers, InUse, Placed, held_names
from perflint.index.kinds import (
    DATASET_TAG,
    DICT_TAG,
    EITHER,
    FUNCTION_TAG,
    LAYER_TAG,
    LOADER_TAG,
    OBJECT_TAG,
    UNKNOWN_TAG,
    Kind,
    dict_of,
    join,
)
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Part, Place, Project
from perflint.paddle.tensor_methods import may_have
from perflint.query import query
from perflint.syntax.names import dotted, super_method
from perflint.syntax.parameters import (
    all_parameters,
    argument_of,
    fits,
    keyword_parameter,
    position_of,
    written_entries,
)
from perflint.syntax.scopes import Class, Scope, Statement, terminal

Declared = TypeVar("Declared")

_MOST_CALLS = 200
"""How many calls of one name are examined; if there are more, it is unknown whether all were seen."""
_MOST_BY_NAME = 400
"""With more methods of one name than this, the name does not show which one is meant."""

_LASTING = frozenset({OBJECT_TAG, LAYER_TAG, LOADER_TAG, FUNCTION_TAG, DATASET_TAG})
"""Kinds that an object keeps while the program runs; the kind of a tensor depends on the place."""

_HARMLESS = ("staticmethod", "classmethod", "property", "override", "paddle.no_grad", "no_grad", "abstractmethod")
"""Decorators that do not expose what they decorate."""

_NOTHING: Mapping[str, Kind] = {}

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


class Certainty(enum.IntEnum):
    """How certain it is that a call reaches a function."""

    NO = 0
    NAME = 1
    """It has the function's name and may mean it, but the object before the name is unknown."""
    OVERRIDE = 2
    """It reaches a method of a class, and this function overrides that method in a subclass."""
    SURE = 3
    """Names and types lead there."""


class Callee(NamedTuple):
    """A function that a call may reach.

    ``bound``: the call's arguments are those of the function (unlike with a ``partial`` or a ``lambda``).
    ``creates``: it is the ``__init__`` of an object that the call creates.
    """

    place: Place
    certainty: Certainty = Certainty.SURE
    bound: bool = True
    creates: bool = False

    @property
    def file(self) -> FileIndex:
        """The file of the function."""
        return self.place.file

    @property
    def scope(self) -> Scope:
        """The function."""
        return self.place.scope

    @property
    def sure(self) -> bool:
        """Whether names and types lead there, whatever the arguments are, on which the parts of a new object depend."""
        return self.certainty >= Certainty.OVERRIDE and not self.creates


class CallSite(NamedTuple):
    """A call that reaches a function, or may reach it, with its function (``scope``) and statement.

    ``is_unbound``: it calls a method through its class, so the object comes first: ``Base.__init__(self, x)``.
    """

    file: FileIndex
    scope: Scope
    statement: Statement
    call: ast.Call
    certainty: Certainty
    is_unbound: bool = False

    @property
    def place(self) -> Place:
        """Where the call is."""
        return Place(self.file, self.scope, self.statement)

    @property
    def function(self) -> Place:
        """Anywhere in the function of the call."""
        return Place(self.file, self.scope)

    def argument(self, called: Scope, parameter: str) -> ast.expr | None:
        """The argument for a parameter; None if the call leaves it out, or hides it by unpacking (``is_spread``)."""
        position = position_of(called, parameter)
        return argument_of(self.call, parameter, position if position is None else position + self.is_unbound)


class CallGraph(Part):
    """Who calls the functions of one project."""

    def __init__(self, project: Project) -> None:
        super().__init__(project)
        self._modules = Modules.of(project)

    def callers(self, at: Place, least: Certainty = Certainty.SURE) -> list[CallSite]:
        """The calls that reach a function of a file, those in the file itself first.

        The calls of an ``__init__`` are those that create an object of its class.

        Args:
            at: the function.
            least: the required certainty that a call reaches it.
        """
        return [site for site in self._callers(at)[0] if site.certainty >= least]

    @query(cycle=((), False))  # where a call leads may depend on what an object was given, and so on other calls
    def _callers(self, at: Place) -> tuple[tuple[CallSite, ...], bool]:
        named = self._named(at)
        sites = tuple(self._reaching(islice(named, _MOST_CALLS), at, Certainty.NAME))
        return sites, next(named, None) is not None

    def each(self, at: Place, least: Certainty) -> Iterator[CallSite]:
        """All calls of which ``callers`` lists the first: files are parsed as the calls are requested."""
        return self._reaching(self._named(at), at, least)

    def objects(self, home: FileIndex, owner: Class) -> Iterator[Placed]:
        """All calls that create an object of a class itself, not of a subclass."""
        for name in sorted(self._project.mentions.other_names(owner.name)):
            for file, caller, statement, call in Callers.of(self._project).named(name, home):
                made = self._modules.class_at(file, call.func)
                if made is not None and made[1] is owner:
                    yield file, caller, statement, call

    def _reaching(self, calls: Iterator[Placed], function: Place, least: Certainty) -> Iterator[CallSite]:
        for call in calls:
            certainty = self._certainty(call, function, least)
            if certainty >= least:
                yield CallSite(*call, certainty, self._is_unbound(call[0], call[3], function.scope))

    # -- which calls may be meant ------------------------------------------------------------------------------

    def _named(self, at: Place) -> Iterator[Placed]:
        """The calls that have the name of a function, of an attribute that stores it, or of a class that it builds."""
        scope = at.scope
        if scope.name == "__init__" and scope.owner is not None:
            yield from self._building(at.file, scope.owner)
            return
        callers, names = Callers.of(self._project), {scope.name}
        if scope.owner is None:
            names |= self._project.mentions.other_names(scope.name)
        for name in sorted(names | callers.attributes_holding(scope.name), key=lambda name: (name != scope.name, name)):
            yield from callers.named(name, at.file)

    def _building(self, home: FileIndex, owner: Class) -> Iterator[Placed]:
        """The calls with the names of a class and its subclasses, and of ``__init__`` where a subclass is created."""
        for file, one in ((home, owner), *Hierarchy.of(self._project).descendants(owner)):
            own = one.methods.get("__init__")
            if one is owner or own is None:
                yield from self.objects(file, one)
            else:
                for statement in own.statements:
                    yield from ((file, own, statement, call) for call in statement.calls if terminal(call) == own.name)

    # -- where a call leads ------------------------------------------------------------------------------------

    def callees(
        self,
        at: Place,
        call: ast.Call,
        env: Env | None = None,
        least: Certainty = Certainty.NAME,
    ) -> list[Callee]:
        """The functions of the project that a call may reach, the likeliest first; empty if it leaves the project.

        Args:
            at: the function of the call.
            call: the call.
            env: the kinds of names at the call; without it, only what they mean everywhere in the function counts.
            least: the required certainty. Of the methods that only have the right name, those that are unlikely to be
                meant are left out, although ``callers`` counts them.
        """
        found = self._of_bases(at.file, at.scope.owner, super_method(call))
        found = found or self._by_kinds(at, call, env, least)
        return found or (self._closure(at.file, call, env) if env is not None else [])

    def reached(self, at: Place, call: ast.Call) -> list[Place]:
        """The functions of the project that a call certainly reaches, as far as names and types show."""
        found = self.callees(at, call, least=Certainty.SURE)
        return [callee.place for callee in found]

    def called(self, at: Place, function: ast.expr | str, env: Env | None = None) -> Place | None:
        """The function of the project that an expression, or a dotted name, certainly refers to; not a class."""
        node = ast.parse(function, mode="eval").body if isinstance(function, str) else function
        found = self.callees(at, ast.Call(node, [], []), env, Certainty.SURE)
        return next((callee.place for callee in found if not callee.creates), None)

    def _of_bases(self, file: FileIndex, owner: Class | None, method: str | None) -> list[Callee]:
        """The method that ``super().name(...)`` runs: the one that a class inherits from its bases."""
        if owner is None or method is None:
            return []
        bases = Hierarchy.of(self._project).bases(file, owner)
        found = (self._modules.method_of(*base, method) for base in bases)
        return [Callee(place) for place in found if place is not None][:1]

    def _created(self, at: Place, call: ast.Call) -> list[Callee]:
        """The ``__init__`` that runs if a call creates an object."""
        made = self._modules.class_at(at.file, call.func)
        init = self._modules.method_of(*made, "__init__") if made is not None else None
        return [Callee(init, creates=True)] if init is not None and dotted(call.func) not in at.scope.parameters else []

    def _by_kinds(self, at: Place, call: ast.Call, env: Env | None, least: Certainty) -> list[Callee]:
        """What a call reaches according to the kind of what is called, or of the object whose method it calls."""
        called = self._meaning(at, call.func, env)
        found = self._functions(called)
        if not found and called.type:
            method = self._modules.method(called.type, "__call__")
            found = [Callee(method)] if method is not None else []
            if called.tag != LAYER_TAG:
                return found
        if found:
            others = self._overrides(found[0].scope, call, at.scope) if least < Certainty.SURE else []
            return others if others and self._is_replaced(found[0].place) else [*found, *others]
        if not isinstance(call.func, ast.Attribute):
            return self._created(at, call)
        receiver = self._meaning(at, call.func.value, env)
        if receiver.type:
            return self._methods_of(receiver, call.func, at.scope, least)
        is_open = receiver.tag == UNKNOWN_TAG or (receiver.guess and not may_have(call.func.attr))
        made = self._created(at, call)
        if made or least > Certainty.NAME or not is_open or self._is_module(at.file, call.func.value):
            return made
        return self._by_name(at, call)

    def _meaning(self, at: Place, node: ast.expr, env: Env | None) -> Kind:
        """The kind of an expression at a call; a name of a function means that, whatever its words suggest."""
        values, name = Values.of(self._project), dotted(node)
        if env is None:
            return values.lasting_kind(at, node)
        known = env.get(name) if name is not None else None
        if known is not None and known.tag == FUNCTION_TAG:
            return known
        return (values.function(at, name) if name is not None else None) or Evaluator(at.file, env).kind(node)

    def _methods_of(self, receiver: Kind, called: ast.Attribute, scope: Scope, least: Certainty) -> list[Callee]:
        """The methods of the classes that an object may be of, or else of their subclasses."""
        found: list[Callee] = []
        for part in receiver.type.split(EITHER):
            method = self._modules.method(part, called.attr)
            home = self._modules.class_named(part)
            if method is not None:
                found.append(Callee(method))
            elif home is not None:
                heirs = self.overriding(home[1], called.attr)
                if dotted(called.value) == "self":  # a hook that only subclasses have
                    heirs = [each for each in heirs if self._runs(each, scope)]
                    if called.attr not in home[1].attributes:
                        heirs[:1] = [each._replace(certainty=Certainty.SURE) for each in heirs[:1]]
                found += [each for each in heirs if each.certainty >= least]
        return found

    def _functions(self, kind: Kind | None) -> list[Callee]:
        if kind is None or kind.tag != FUNCTION_TAG:
            return []
        return [Callee(place, bound=not kind.guess) for place in self._modules.functions_of_kind(kind)]

    def _closure(self, file: FileIndex, call: ast.Call, env: Env) -> list[Callee]:
        """The function of the project that is passed to an optimizer to be called: ``optimizer.step(closure)``."""
        closure = closure_of(call)
        found = self._functions(Evaluator(file, env).kind(closure)) if closure is not None else []
        return [callee._replace(bound=False) for callee in found]

    def _is_module(self, file: FileIndex, receiver: ast.expr) -> bool:
        name = dotted(receiver)
        return name is not None and file.names.is_bound(name.partition(".")[0])

    # -- subclasses --------------------------------------------------------------------------------------------

    def overriding(self, owner: Class, method: str) -> list[Callee]:
        """The versions of a method in the subclasses of a class."""
        found = Hierarchy.of(self._project).descendants(owner)
        return [
            Callee(Place(file, heir.methods[method]), Certainty.OVERRIDE)
            for file, heir in found
            if method in heir.methods
        ]

    def _overrides(self, method: Scope, call: ast.Call, caller: Scope) -> list[Callee]:
        """Other classes' versions of a method of ``self``; an object stored in ``self`` has its known class."""
        if method.owner is None or dotted(call.func) != f"self.{method.name}":
            return []
        return [each for each in self.overriding(method.owner, method.name) if self._runs(each, caller)][:_MOST_BY_NAME]

    @query
    def _is_replaced(self, at: Place) -> bool:
        """Whether nothing creates an object that runs a method: only classes with their own version are created."""
        hierarchy = Hierarchy.of(self._project)
        running = hierarchy.running(at)
        others = [placed for placed in hierarchy.descendants(running[0][1]) if placed not in running] if running else []
        is_seen = any(self._may_be_created(*placed) for placed in others)
        return is_seen and not any(self._may_be_created(*placed) for placed in running)

    def _may_be_created(self, file: FileIndex, owner: Class) -> bool:
        in_use = InUse.of(self._project)
        if owner.node.decorator_list or in_use.is_looked_up(file) or Imports.of(self._project).by_settings(file):
            return True
        return any(not there.is_quiet for there, _, _ in in_use.loads_of(file, owner))

    def _runs(self, callee: Callee, caller: Scope) -> bool:
        """Whether an object of a method's class runs a function that calls the method on ``self``.

        ``Base.loop`` calls ``self.step()``; a class with its own ``loop`` and ``step`` never gets there.
        """
        owner = callee.scope.owner
        if owner is None or caller.owner is None or caller.owner.methods.get(caller.name) is not caller:
            return True
        return Hierarchy.of(self._project).runs(callee.file, owner, caller)

    # -- names alone -------------------------------------------------------------------------------------------

    def _by_name(self, at: Place, call: ast.Call) -> list[Callee]:
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
            Callee(method, Certainty.NAME)
            for method in found
            if method.scope is not at.scope
            and fits(method.scope, call)
            and (method.file is at.file or self._may_be_meant(method.file))
        ]
        beside = [callee for callee in fitting if callee.file.parts[:-1] == at.file.parts[:-1]]
        return beside or fitting

    def _may_be_meant(self, file: FileIndex) -> bool:
        """Whether a program may load a file, so that a call may mean one of its methods by name alone."""
        return Imports.of(self._project).may_be_loaded(file) and not InUse.of(self._project).is_left_over(file)

    @query
    def _methods(self, name: str) -> list[Place]:
        """The methods of this name of all classes."""
        return [
            Place(file, owner.methods[name])
            for file in self._project.mentions.of(name)
            if not file.is_quiet and not file.is_foreign
            for owner in file.scopes.classes.values()
            if name in owner.methods
        ]

    # -- how certain it is that a call reaches a function -------------------------------------------------------

    def _certainty(self, call: Placed, function: Place, least: Certainty) -> Certainty:
        at, node, scope = Place(call[0], call[1]), call[3], function.scope
        callees = self._callees(at, node, max(least, Certainty.OVERRIDE))
        known = max((each.certainty for each in callees if each.scope is scope), default=Certainty.NO)
        if known is Certainty.SURE:
            return known
        if least is Certainty.SURE or self._never_gets_there(at.scope, node, function):
            return Certainty.NO
        reached = [each.scope for each in callees if each.certainty is Certainty.SURE]
        if scope.owner is None:
            may_be = not callees and self._may_be_imported(at.file, node, function.file)
        elif scope.name == "__init__" or super_method(node) is not None:
            return Certainty.NO
        elif known is Certainty.OVERRIDE or self._is_overridden(at.scope, node, reached, function):
            return Certainty.OVERRIDE
        elif least is Certainty.OVERRIDE:
            return Certainty.NO
        else:
            may_be = not callees and self._may_be_of(at, node, scope)
        return Certainty.NAME if may_be else Certainty.NO

    @query(cycle=())  # what an object is may depend on the calls that pass it
    def _callees(self, at: Place, call: ast.Call, least: Certainty) -> tuple[Callee, ...]:
        """The same as ``callees``, kept: each function of one name asks where all calls of the name lead."""
        return tuple(self.callees(at, call, least=least))

    def _is_overridden(self, caller: Scope, call: ast.Call, reached: list[Scope], function: Place) -> bool:
        """Whether a method of a class overrides the method that a call reaches."""
        owner = function.scope.owner
        if owner is None or not owner.bases:
            return False
        owners = [each.owner for each in reached]
        if dotted(call.func) == f"self.{terminal(call)}":
            owners.append(caller.owner)
        return not self._above(function.file, owner).isdisjoint(owners)

    def _never_gets_there(self, caller: Scope, call: ast.Call, method: Place) -> bool:
        """Whether a method is called on ``self``, but its class overrides the caller, so this call never reaches it."""
        owner, heir = caller.owner, method.scope.owner
        if heir is None or owner is None or dotted(call.func) != f"self.{method.scope.name}":
            return False
        if owner.methods.get(caller.name) is not caller or owner not in self._above(method.file, heir):
            return False
        return not Hierarchy.of(self._project).runs(method.file, heir, caller)

    @query
    def _above(self, file: FileIndex, owner: Class) -> frozenset[Class | None]:
        return frozenset(base for _, base in Hierarchy.of(self._project).ancestors(file, owner))

    def _may_be_of(self, at: Place, call: ast.Call, method: Scope) -> bool:
        """Whether a call on an unknown object may be a call of a method, judging by its arguments."""
        if not isinstance(call.func, ast.Attribute) or not fits(method, call):
            return False
        receiver = call.func.value
        name = dotted(receiver)
        if name is None:
            return not isinstance(receiver, (ast.Constant, ast.JoinedStr))
        if name == "self" and at.scope.owner is not None:
            return self._share_an_heir(at.scope.owner, method.owner)
        return not at.file.names.is_bound(name.partition(".")[0]) or self._is_kept_in_a_module(at.file, name)

    def _share_an_heir(self, one: Class, other: Class | None) -> bool:
        """Whether an object can be of both of two classes."""
        heirs = Hierarchy.of(self._project).descendants
        family = {one, *(child for _, child in heirs(one))}
        return other is not None and (other in family or any(child in family for _, child in heirs(other)))

    def _is_kept_in_a_module(self, file: FileIndex, name: str) -> bool:
        """Whether a dotted name that begins with an import is an object bound in a module of the project."""
        modules = self._modules
        qualified = file.names.resolve(name)
        if modules.find(qualified, file) is not None or modules.module_named(qualified, file) is not None:
            return False
        parts = qualified.split(".")
        return any(modules.module_named(".".join(parts[:end]), file) is not None for end in range(1, len(parts)))

    def _may_be_imported(self, file: FileIndex, call: ast.Call, home: FileIndex) -> bool:
        """Whether a call may be that of a function of ``home``, imported by a path that does not begin at the root."""
        name = dotted(call.func)
        if name is None or file is home:
            return False
        is_bound = file.names.is_bound(name.partition(".")[0])
        modules = [file.names.resolve(name).rpartition(".")[0]] if is_bound else file.names.stars
        last = home.module.rpartition(".")[2]
        return any(
            module.rpartition(".")[2] == last and self._modules.module_named(module, file) is None for module in modules
        )

    def _is_unbound(self, file: FileIndex, call: ast.Call, method: Scope) -> bool:
        """Whether a call of a method names its class, and passes the object explicitly."""
        func = call.func
        if method.owner is None or not isinstance(func, ast.Attribute) or func.attr != method.name:
            return False
        named = self._modules.class_at(file, func.value)
        return named is not None and not _is_bound_to_class(method)

    # -- what the configuration declares -----------------------------------------------------------------------

    def declared(self, table: Mapping[str, Declared], at: Place, name: str, env: Env | None = None) -> Declared | None:
        """What the configuration declares about the function that a dotted name calls, by name or by definition."""
        last = name.rpartition(".")[2]
        if not table or all(known.rpartition(".")[2] != last for known in table):
            return None
        qualified = at.file.names.resolve(name)
        if qualified in table:
            return table[qualified]
        made = self._made_by(at, name)
        if made in table:
            return table[made]
        found = self.called(at, name, env) or self._modules.find(qualified, at.file)
        if found is None:
            return None
        defined = f"{found[0].module}.{found[1].qualname}"
        return next((call for known, call in table.items() if f".{known}".endswith(f".{defined}")), None)

    def place_of(self, at: Place, name: str, parameter: str) -> int | None:
        """The position of a parameter in calls of a function by this dotted name, None if its code is not known."""
        found = self.called(at, name)
        return position_of(found[1], parameter) if found is not None else None

    def _made_by(self, at: Place, name: str) -> str:
        """``lib.Meter.update`` for ``meter.update`` if ``meter`` is bound once, to ``lib.Meter(...)``."""
        receiver, _, method = name.rpartition(".")
        value = Values.of(self._project).definitions(at).get(receiver)
        if value is None and receiver.startswith("self.") and at.scope.owner is not None:
            assigned = at.scope.owner.attributes.get(receiver[5:], ())
            value = assigned[0][0] if len(assigned) == 1 else None
        made = dotted(value.func) if isinstance(value, ast.Call) else None
        return f"{at.file.names.resolve(made)}.{method}" if made else ""

    # -- who else may call -------------------------------------------------------------------------------------

    def is_handed_over(self, at: Place) -> bool:
        """Whether a function may be called by something else: Python itself, a decorator, ``cls()``."""
        is_init = at.scope.name == "__init__" and at.scope.owner is not None
        if at.scope.name == "forward" or (at.scope.is_special and not is_init):
            return True
        return not all(_is_plain(target) for _, target in self._called_as(at))

    def others(self, at: Place) -> Certainty:
        """How certain it is that a function has more callers than ``callers`` lists.

        ``SURE``: it is passed on as a value, or has too many calls. ``NAME``: unseen code creates objects of its class,
        or some code looks up functions by a computed name.
        """
        if self.is_handed_over(at) or self._callers(at)[1]:
            return Certainty.SURE
        found = Certainty.NO
        for there, target in self._called_as(at):
            found = max(found, self._held(target.name, isinstance(target, Scope) and at.scope.owner is not None))
            if isinstance(target, Class) and not self._is_seen(there, target):
                found = max(found, Certainty.NAME)
        return found

    def _is_seen(self, file: FileIndex, owner: Class) -> bool:
        """Whether all bases of a class are in the project, and something there creates an object of it."""
        is_made = any(Callers.of(self._project).named(owner.name, file))
        return is_made and Hierarchy.of(self._project).is_plain(file, owner)

    def _called_as(self, at: Place) -> list[tuple[FileIndex, Scope | Class]]:
        """What a call of a function calls: the function itself, or, for an ``__init__``, the classes that it builds."""
        if at.scope.name != "__init__" or at.scope.owner is None:
            return [(at.file, at.scope)]
        heirs = Hierarchy.of(self._project).descendants(at.scope.owner)
        return [(at.file, at.scope.owner), *((there, heir) for there, heir in heirs if "__init__" not in heir.methods)]

    @query
    def _held(self, name: str, is_method: bool) -> Certainty:
        """How certain it is that something uses a name as a value, or looks it up by a computed text."""
        found = Certainty.NO
        for file in self._project.mentions.of(name):
            if file.is_quiet or file.is_foreign:
                continue
            values = held_names(file)
            if name in values.held:
                return Certainty.SURE
            if values.finds_methods if is_method else values.finds_names:
                found = Certainty.NAME
        return found

    # -- what calls pass on ----------------------------------------------------------------------------------

    @query(cycle=_NOTHING)  # a recursive call adds nothing
    def handed(self, at: Place) -> Mapping[str, Kind]:
        """The kinds of objects that the known callers pass to a function, by parameter."""
        env: dict[str, Kind] = {}
        parameters, others = all_parameters(at.scope), keyword_parameter(at.scope)
        for site in self.callers(at) if parameters or others else ():
            named = self._named_by(site)
            given = {**named, **{name: site.argument(at.scope, name) or named.get(name) for name in parameters}}
            for name, argument in given.items():
                if argument is None or not (others or name in parameters):
                    continue
                kind = Values.of(self._project).lasting_kind(site.function, argument)
                if kind.tag in _LASTING or (kind.tag == DICT_TAG and any(item.type for item in kind.items)):
                    known = env.get(name)
                    env[name] = kind if known is None else join(known, kind)
        found = {name: kind for name, kind in env.items() if kind.tag != UNKNOWN_TAG}
        if others is None:
            return found
        extra = {name: found.pop(name) for name in found.keys() - {*parameters}}
        return {**found, others: dict_of(extra)} if extra else found

    def _named_by(self, site: CallSite) -> dict[str, ast.expr]:
        """What a call passes by name: as keywords, or out of dicts that it unpacks and that its function writes."""
        definitions = Values.of(self._project).definitions(site.function)
        found = dict[str, ast.expr]()
        for item in site.call.keywords:
            held = definitions.get(dotted(item.value) or "", item.value)
            written = written_entries(held) if item.arg is None else None
            found |= {item.arg: item.value} if item.arg is not None else written.values if written is not None else {}
        return found


def closure_of(call: ast.Call) -> ast.expr | None:
    """The argument of ``optimizer.step(closure)`` that may be a function, which then runs the whole step."""
    given = [*call.args, *(item.value for item in call.keywords if item.arg == "closure")]
    if terminal(call) != "step" or len(given) != 1 or not isinstance(call.func, ast.Attribute):
        return None
    return given[0] if isinstance(given[0], (ast.Name, ast.Attribute, ast.Lambda)) else None


def _is_bound_to_class(method: Scope) -> bool:
    """Whether a method is called without an object: a ``staticmethod`` or a ``classmethod``."""
    return any(dotted(item) in ("staticmethod", "classmethod") for item in method.decorators)


def _is_plain(target: Scope | Class) -> bool:
    """Whether no decorator of a function or class exposes it, and no method creates its objects without its name."""
    methods = target.methods.values() if isinstance(target, Class) else ()
    names = {dotted(call.func) for method in methods for statement in method.statements for call in statement.calls}
    is_kept = all((dotted(item) or dotted(getattr(item, "func", item))) in _HARMLESS for item in target.decorators)
    return is_kept and names.isdisjoint(("cls", "self.__class__"))
