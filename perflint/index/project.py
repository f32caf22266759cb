"""All files of a run as one project: the files, and what is known of all of them together."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cached_property

from perflint.configuration.settings import DeclaredCall
from perflint.findings import Confidence
from perflint.index import amp, loader_facts, open_widths, registries, training
from perflint.index.claims import Claims
from perflint.index.file import FileIndex, module_parts
from perflint.index.kinds import Kind
from perflint.index.live import Live, live
from perflint.index.mentions import Mentions
from perflint.index.modules import Modules
from perflint.index.names import dotted
from perflint.index.resolving import Resolving
from perflint.index.scopes import Class, Scope
from perflint.index.shared_saves import EveryRank, every_rank
from perflint.index.training_calls import TrainingCalls
from perflint.index.values import Values
from perflint.inputs.projects import common_root, relative_parts
from perflint.query import Memory, query
from perflint.text.source import Source

Worked = Mapping[str, object]
"""What was worked out of a whole project, by the name of the property that has it."""

_WHOLE = ("worker_defaults", "saves_on_every_rank", "amp_files", "open_widths")


class Project(Modules):
    """The index of one run.

    Args:
        sources: every readable file by path.  They are parsed when something asks for what is in them; those that
            do not parse are then listed in ``broken`` with the error, and hold nothing.
        loaders: the functions that make loaders, by qualified name, as the configuration declares them.
        memory: keeps the answers; of its own where none is given.
    """

    def __init__(
        self,
        sources: Mapping[str, Source],
        loaders: Mapping[str, DeclaredCall] | None = None,
        memory: Memory | None = None,
    ) -> None:
        super().__init__(Memory() if memory is None else memory)
        self.loaders = loaders or {}
        self.resolving = Resolving.of(self)
        self.broken: dict[str, Exception] = {}
        self.parsed: Claims | None = None
        """Where processes share the project: the files that this one has parsed."""
        self.stepped: Claims | None = None
        """Where processes share the project: the files in which steps have been found so far."""
        for path, parts in relative_parts(sources, common_root(sources)).items():
            self._add(sources[path], module_parts(parts))
        self.mentions = Mentions(self.files.values())

    def _add(self, source: Source, parts: tuple[str, ...]) -> None:
        index = self.files[source.path] = FileIndex(source, parts, self)
        self._modules[parts[:-1] if parts[-1] == "__init__" else parts] = index

    def close(self) -> None:
        """Let go of everything.  The parts of an index point at one another, so nothing else would free them before
        the garbage collector runs, and that is paused while a project is checked."""
        for file in self.files.values():
            if not file.is_parsed:
                continue
            for scope in file.scopes.scopes:
                scope.statements.clear()
                scope.functions.clear()
            for owner in file.scopes.classes.values():
                owner.methods.clear()
                owner.attributes.clear()
            file.points.clear()
            file.tree.body.clear()
        for table in (self.files, self._modules, self._found, self._classes, self._functions):
            table.clear()
        self.memory.clear()
        self.parts.clear()
        for name, part in vars(type(self)).items():
            if isinstance(part, cached_property):  # what it holds points back at the project
                vars(self).pop(name, None)

    def registered(self, name: str, registry: str | None = None) -> Kind | None:
        """An instance of the class that a registry (any, for None) knows by a name."""
        found = self._registered_class(name)
        if found and registry and not registries.belongs(found[1], registry):
            return None
        return self.kind_of_instance(*found) if found else None

    @query
    def _registered_class(self, name: str) -> tuple[FileIndex, Class] | None:
        files = self.mentions.of(name) if name.isidentifier() else self.files.values()
        return registries.registered(name, files)

    # -- parts of the index ------------------------------------------------------------------------------------

    @cached_property
    def live(self) -> Live:
        """Which files can hold a step loop, and which functions may train."""
        return live(self)

    # -- facts of all files ------------------------------------------------------------------------------------

    @cached_property
    def worker_defaults(self) -> Mapping[str, Mapping[tuple[int, int], loader_facts.WorkerDefault]]:
        """Places that leave a training loader elsewhere without workers, by path and offsets."""
        return loader_facts.worker_defaults(self)

    @cached_property
    def saves_on_every_rank(self) -> Mapping[str, Mapping[int, EveryRank]]:
        """The checkpoints that every process writes, by path and offset."""
        return every_rank(self)

    @cached_property
    def amp_files(self) -> Mapping[str, Confidence]:
        """The paths of the files whose layers are trained under AMP, and how sure that is."""
        return {file.source.path: confidence for file, confidence in amp.driven(self).items()}

    @cached_property
    def open_widths(self) -> frozenset[str]:
        """The paths of the files that can hold a layer of a misaligned width under AMP."""
        return open_widths.files(self)

    def may_be_misaligned(self, file: FileIndex) -> bool:
        """Whether a layer of a file may have a misaligned width and be trained under AMP; quicker to ask."""
        return file.source.path in self.open_widths

    # -- training ----------------------------------------------------------------------------------------------

    def trains(self, file: FileIndex, scope: Scope) -> bool:
        """Whether one call of a function makes one training step."""
        return TrainingCalls.of(self).trains(file, scope)

    def call_trains(self, file: FileIndex, scope: Scope, call: ast.Call) -> bool:
        """Whether a call makes one training step, itself or in a project function that it reaches."""
        return TrainingCalls.of(self).call_trains(file, scope, call)

    @query(again=True)
    def optimizes(self, file: FileIndex) -> bool:
        """Whether a file takes optimizer steps, itself or through functions it calls."""
        return any(
            training.takes_optimizer_step(call) or self._calls_optimizer(file, scope, call)
            for scope in file.scopes.scopes
            for statement in scope.statements
            for call in statement.calls
        )

    def _calls_optimizer(self, file: FileIndex, scope: Scope, call: ast.Call) -> bool:
        name = dotted(call.func)
        if name is None or name.rpartition(".")[2] not in self.optimizing_names:
            return False
        found = Values.of(self).callee(file, scope, name, {})
        return found is not None and found[1] in self._optimizing

    @cached_property
    def optimizing_names(self) -> frozenset[str]:
        """Names of the functions that take an optimizer step themselves."""
        return frozenset(scope.name for scope in self._optimizing)

    @cached_property
    def _optimizing(self) -> frozenset[Scope]:
        return frozenset().union(*(training.optimizing(file) for file in self._may_optimize))

    @property
    def _may_optimize(self) -> Iterator[FileIndex]:
        named = {*self.mentions.calls("step"), *self.mentions.calls("minimize")}
        return (file for file in self.files.values() if file in named or file.scales)

    # -- other processes ---------------------------------------------------------------------------------------

    @property
    def worked(self) -> Worked:
        """What was worked out of the whole project so far and can be sent to another process."""
        return {name: vars(self)[name] for name in _WHOLE if name in vars(self)}

    def worked_out(self, worked: Worked) -> None:
        """Take what another process has worked out of the same project."""
        vars(self).update(worked)
