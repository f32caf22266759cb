"""Answers what the evaluator of expressions needs from the project: results of calls, and kinds of attributes."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import reduce

from perflint.dataflow.call_graph import CallGraph
from perflint.dataflow.forwards import Forwards
from perflint.dataflow.tables import Tables
from perflint.dataflow.values import Values
from perflint.index.kinds import UNKNOWN, Kind, function, join
from perflint.index.modules import Modules
from perflint.index.part import Part
from perflint.index.project import FileIndex
from perflint.syntax.scopes import Scope

_Kinds = list[Kind]
_Named = dict[str, Kind]


class Resolving(Part):
    """Answers for the evaluators of one project's files."""

    def call_project(self, file: FileIndex, name: str, arguments: _Kinds, keywords: _Named) -> Kind | None:
        """The result of a project function or class by qualified name, None if it is neither."""
        return Values.of(self._project).call(name, file, arguments, keywords)

    def call_method(self, owner: str, method: str, arguments: _Kinds, keywords: _Named) -> Kind | None:
        """The result of a method of a project class, None if there is none."""
        found = Modules.of(self._project).method(owner, method)
        return Values.of(self._project).result(*found, owner, arguments, keywords) if found else None

    def forward_parts(self, owner: str, arguments: _Kinds, keywords: _Named) -> Kind | None:
        """The parts of the result of calling a layer of the project, if some are numbers; otherwise None."""
        return Forwards.of(self._project).parts(owner, arguments, keywords)

    def call_looked_up(self, file: FileIndex, call: ast.Call, arguments: _Kinds, keywords: _Named) -> Kind | None:
        """The result of a function or class that a call looks up by a literal name, None if it is not known."""
        return Tables.of(self._project).call(file, call, arguments, keywords)

    def call_function(self, qualified: str, arguments: _Kinds, keywords: _Named) -> Kind | None:
        """The result of calling a function that is a value."""
        values = Values.of(self._project)
        results = [
            values.result(file, scope, "", arguments, keywords) or UNKNOWN
            for file, scope in Modules.of(self._project).functions_of_kind(function(qualified))
        ]
        return reduce(join, results) if results else None

    def attribute(self, owner: str, name: str) -> Kind | None:
        """The kind of an attribute of a project class, from the assignments to ``self.name``."""
        return Values.of(self._project).attribute(owner, name)

    def handed(self, file: FileIndex, scope: Scope) -> Mapping[str, Kind]:
        """The kinds of objects that the known callers pass to a function, by parameter."""
        return CallGraph.of(self._project).handed(file, scope)
