"""Finds which calls do one training step: directly, or in a function of the project that they reach."""

from __future__ import annotations

import ast

from perflint.flow.calls import CallGraph, closure_of
from perflint.flow.known_arguments import Told, in_order
from perflint.flow.known_values import Known, told_to_method
from perflint.flow.values import Values
from perflint.index.modules import Modules, knows_paddle
from perflint.index.project import FileIndex, Part, Place, Project
from perflint.query import query
from perflint.syntax.names import dotted
from perflint.syntax.scopes import Scope, is_abstract
from perflint.syntax.vocabulary import is_no_training
from perflint.training import evidence
from perflint.training.every import HowOften
from perflint.training.live import held_names, live


class TrainingCalls(Part):
    """Decides whether calls and functions of one project train."""

    @query(cycle=False)
    def trains(self, at: Place) -> bool:
        """Whether one call of a function does one training step."""
        return evidence.trains_outside_loops(at.scope, lambda call: self.call_trains(at, call))

    def call_trains(self, at: Place, call: ast.Call) -> bool:
        """Whether a call does one training step, directly or in a project function that it reaches."""
        if evidence.makes_step(call, _optimizes(at.file), at.file.is_static):
            return True
        if evidence.runs_program(call):
            return self._trains_statically(at, call)
        return any(self._may_train(place, at, call) for place in self._reached(at, call))

    def _may_train(self, called: Place, at: Place, call: ast.Call) -> bool:
        """Whether the function that a call reaches trains, given what is known about its object."""
        if not self.trains(called):
            return False
        told = in_order(told_to_method(at, call, (), called.scope))
        return not told or self._trains_told(called, told)

    @query(cycle=False)
    def _trains_told(self, at: Place, told: Told) -> bool:
        """Whether a method does a training step on an object with known attributes."""
        path = HowOften(Known(at, dict(told)), at.scope)
        on = {call for each in at.scope.statements if not path.is_rare(each.place, None) for call in each.calls}
        return evidence.trains_outside_loops(
            at.scope, lambda call: call in on and self._trains_on_the_way(at, call, told)
        )

    def _trains_on_the_way(self, at: Place, call: ast.Call, told: Told) -> bool:
        if not self.call_trains(at, call):
            return False
        places = [place for place in self._reached(at, call) if self.trains(place)]
        if not places:
            return True  # it does the step itself
        known = [(place, in_order(told_to_method(at, call, told, place.scope))) for place in places]
        return any(self._trains_told(place, kept) if kept else True for place, kept in known)

    def trains_on_batch(self, at: Place, call: ast.Call) -> bool:
        """Whether a call takes several training steps, one after the other, on its argument."""
        return bool(call.args or call.keywords) and any(
            not self.trains(place) and self._trains_repeatedly(place) for place in self._reached(at, call)
        )

    @query(cycle=False)
    def _trains_repeatedly(self, at: Place) -> bool:
        return evidence.trains_outside_loops(at.scope, lambda call: self.call_trains(at, call), counted=True)

    def trains_elsewhere(self, at: Place, call: ast.Call) -> bool:
        """Whether a call in a file without Paddle leads to a training step in a file with it."""
        for called in self._reached(at, call):
            if knows_paddle(called.file):
                if self._may_train(called, at, call):
                    return True
            elif self._leads_elsewhere(called):
                return True
        return False

    @query(cycle=False)  # a recursive call adds nothing
    def _leads_elsewhere(self, at: Place) -> bool:
        """Whether a function in a file without Paddle leads to a training step in a file with it."""
        return any(
            self.trains_elsewhere(at, call)
            for statement in at.scope.statements
            if statement.loop is None
            for call in statement.calls
        )

    def _trains_statically(self, at: Place, call: ast.Call) -> bool:
        """Whether ``exe.run(...)`` runs a training program rather than a test one."""
        if is_no_training(at.scope.name) or evidence.runs_evaluation(call):
            return False
        if _optimizes(at.file):
            return True
        return "train" in f"{at.scope.name} {ast.unparse(call)} {at.file.parts[-1]}".lower()

    def _reached(self, at: Place, call: ast.Call) -> list[Place]:
        """The functions of the project that a call may reach for a training step."""
        name, graph = dotted(call.func), CallGraph.of(self._project)
        if name is None:
            return []
        closure = closure_of(call)
        if closure is not None:
            kind = Values.of(self._project).lasting_kind(at, closure)
            called = Modules.of(self._project).functions_of_kind(kind)
            if called:
                return called
        if name in at.scope.parameters or name in held_names(at.file, at.scope):
            return graph.reached(at, call)
        own = name[5:] if name.startswith("self.") and at.scope.owner is not None else ""
        kept = at.scope.owner is not None and own in at.scope.owner.attributes
        if name.rpartition(".")[2] not in live(self._project).names and not kept:
            return []
        found = graph.reached(at, call)
        is_hook = not found or is_abstract(found[0].scope)
        if own and is_hook and at.scope.owner is not None and not is_no_training(at.scope.name):
            found += [hook.place for hook in graph.overriding(at.scope.owner, own)]
        return [place for place in found if not _evaluates(place.scope)]


def _evaluates(scope: Scope) -> bool:
    return is_no_training(scope.name) or evidence.without_gradients(scope)


@query
def _optimizes(file: FileIndex) -> bool:
    """Whether a file takes optimizer steps, directly or through functions it calls."""
    calls = ((scope, call) for scope in file.scopes.scopes for call in scope.calls)
    return any(
        evidence.takes_optimizer_step(call) or _calls_optimizer(Place(file, scope), call) for scope, call in calls
    )


def _calls_optimizer(at: Place, call: ast.Call) -> bool:
    name = dotted(call.func)
    if name is None or name.rpartition(".")[2] not in _names(at.file.project):
        return False
    found = CallGraph.of(at.file.project).called(at, call.func)
    return found is not None and _takes_steps(found)


@query
def _names(project: Project) -> frozenset[str]:
    """Names of the functions that take an optimizer step directly."""
    named = {*project.mentions.calls("step"), *project.mentions.calls("minimize")}
    files = (file for file in project.files.values() if file in named or file.scales)
    return frozenset().union(*map(_names_in, files))


@query
def _names_in(file: FileIndex) -> frozenset[str]:
    return frozenset(scope.name for scope in file.scopes_where(_takes_steps))


def _takes_steps(at: Place) -> bool:
    return any(map(evidence.takes_optimizer_step, at.scope.calls))
