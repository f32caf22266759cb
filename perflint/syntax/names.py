"""Finds what a name in one file refers to, from the imports and definitions of the file."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from perflint.syntax.tree import walk

_TELLING = 4
"""How many letters of a name must be known to tell which functions it can mean, as in ``loss_``."""

# One name for functions that Paddle has had in several places over its releases (2.0 to 3.3).
_ALIASES = {
    "paddle.fluid.io.DataLoader": "paddle.io.DataLoader",
    "paddle.fluid.reader.DataLoader": "paddle.io.DataLoader",
    "paddle.io.reader.DataLoader": "paddle.io.DataLoader",
    "paddle.fluid.io.Dataset": "paddle.io.Dataset",
    "paddle.fluid.dygraph.DataParallel": "paddle.DataParallel",
    "paddle.fluid.dygraph.parallel.DataParallel": "paddle.DataParallel",
    "paddle.distributed.parallel.DataParallel": "paddle.DataParallel",
    "paddle.hapi.Model": "paddle.Model",
    "paddle.hapi.model.Model": "paddle.Model",
    "paddle.framework.save": "paddle.save",
    "paddle.framework.io.save": "paddle.save",
    "paddle.framework.async_save": "paddle.async_save",
    "paddle.framework.io.async_save": "paddle.async_save",
    "paddle.fluid.save_dygraph": "paddle.save",
    "paddle.fluid.dygraph.save_dygraph": "paddle.save",
    "paddle.fluid.dygraph.Layer": "paddle.nn.Layer",
    "paddle.fluid.dygraph.to_variable": "paddle.to_tensor",
    "paddle.fluid.dygraph.base.to_variable": "paddle.to_tensor",
    "paddle.fluid.dygraph.no_grad": "paddle.no_grad",
    "paddle.fluid.dygraph.amp_guard": "paddle.amp.auto_cast",
    "paddle.amp.amp_guard": "paddle.amp.auto_cast",
    "paddle.fluid.dygraph.AmpScaler": "paddle.amp.GradScaler",
    "paddle.amp.AmpScaler": "paddle.amp.GradScaler",
}
_ALIAS_PREFIXES = (
    ("paddle.hapi.callbacks.", "paddle.callbacks."),
    ("paddle.nn.layer.common.", "paddle.nn."),
    ("paddle.nn.layer.conv.", "paddle.nn."),
    ("paddle.nn.layer.loss.", "paddle.nn."),
)

# What `from paddle.X import *` imports, as far as perflint needs it.
_STAR_NAMES = {
    "paddle": ("save", "async_save", "Model", "to_tensor", "no_grad"),
    "paddle.io": ("DataLoader", "Dataset", "IterableDataset", "BatchSampler", "DistributedBatchSampler"),
    "paddle.nn": ("Layer", "Linear", "Conv1D", "Conv2D", "Conv3D", "Sequential", "CrossEntropyLoss", "MSELoss"),
    "paddle.amp": ("auto_cast", "GradScaler", "decorate"),
}

_MOST_PARTS = 64
"""How many attributes of one dotted name are followed: each attribute of a chain looks up the names before it."""


def canonical(name: str) -> str:
    """The one name perflint uses for a qualified Paddle name; other names are returned unchanged."""
    if not name.startswith("paddle."):
        return name
    if name in _ALIASES:
        return _ALIASES[name]
    for old, new in _ALIAS_PREFIXES:
        if name.startswith(old):
            return new + name[len(old) :]
    return name


def spellings(names: Iterable[str]) -> frozenset[str]:
    """Qualified Paddle names, and older names for the same."""
    wanted = frozenset(names)
    return wanted | {old for old, new in _ALIASES.items() if new in wanted}


def dotted(node: ast.AST) -> str | None:
    """``a.b.c`` for a chain of at most 64 attributes on a name, None for anything else."""
    if node.__class__ is ast.Name:
        return node.id
    parts: list[str] = []
    while node.__class__ is ast.Attribute and len(parts) < _MOST_PARTS:
        parts.append(node.attr)
        node = node.value
    if node.__class__ is not ast.Name:
        return None
    parts.append(node.id)
    return ".".join(reversed(parts))


def name_pattern(node: ast.expr) -> tuple[str, str] | None:
    """The literal beginning and end of a text: ``"loss_" + kind`` gives ``("loss_", "")``."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _written(node.left), _written(node.right)
    if isinstance(node, ast.JoinedStr) and node.values:
        return _written(node.values[0]), _written(node.values[-1])
    template = _written(node.left) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) else ""
    parts = template.split("%s")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        parts = _written(node.func.value).split("{}")
    return (parts[0], parts[-1]) if len(parts) == 2 else None


def is_like(name: str, begin: str, end: str) -> bool:
    """Whether a name begins and ends this way, if these are long enough to be meaningful."""
    return len(begin + end) >= _TELLING and name.startswith(begin) and name.endswith(end)


def _written(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def names_in(node: ast.AST) -> list[str]:
    """The names and the attributes in an expression, separately: ``self.loss`` gives ``loss`` and ``self``."""
    return [
        item.id if isinstance(item, ast.Name) else item.attr
        for item in walk(node)
        if isinstance(item, (ast.Name, ast.Attribute))
    ]


def plain_names(node: ast.AST) -> set[str]:
    """The names in an expression, without attributes: ``self.loss`` gives ``self``."""
    return {item.id for item in walk(node) if isinstance(item, ast.Name)}


def stored_names(node: ast.AST) -> set[str]:
    """The names that are bound somewhere in a node: ``a, b`` of ``for a, b in pairs``."""
    return {item.id for item in walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)}


def dotted_names(node: ast.AST) -> set[str]:
    """The names in an expression, with dotted ones and their prefixes: ``self.loss`` and ``self``."""
    found = (dotted(item) for item in walk(node) if isinstance(item, (ast.Name, ast.Attribute)))
    return {name for name in found if name}


def imported_name(alias: ast.alias) -> str:
    """The name that a part of an import statement binds: ``os`` for ``import os.path``, ``np`` for ``numpy as np``."""
    return alias.asname or alias.name.partition(".")[0]


class Names:
    """Local name to qualified name for one file.

    Imports count wherever they are (in functions, under ``try``); a definition in the file hides an import of the same
    name, so that a repository's own ``DataLoader`` is never mistaken for Paddle's.

    Args:
        module: the file's dotted module name (``ppdet.engine.trainer``), for relative imports.
        is_package: whether the file is an ``__init__.py``.
    """

    def __init__(self, module: str = "", is_package: bool = False) -> None:
        self._module = module
        self._package = module if is_package else module.rpartition(".")[0]
        self._table: dict[str, str] = {}
        self._imports: dict[str, list[str]] = {}
        self._resolved: dict[str, str] = {}
        self._packages: set[str] = set()
        self._defined: set[str] = set()
        self.stars: list[str] = []
        """Modules whose names are all imported, in order."""
        self.modules: list[str] = []
        """Modules named in ``import a.b``, which binds only the first part."""

    def add_import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Add the names that one import statement binds."""
        self._resolved.clear()
        if isinstance(node, ast.Import):
            for alias in node.names:
                self._packages.add(alias.name.partition(".")[0])
                if alias.asname:
                    self._bind(alias.asname, alias.name)
                else:
                    first, dot, _ = alias.name.partition(".")
                    self._bind(first, first)
                    if dot:
                        self.modules.append(alias.name)
            return
        base = self._base(node)
        if not node.level:
            self._packages.add(base.partition(".")[0])
        for alias in node.names:
            if alias.name == "*":
                self.stars.append(base)
                for name in _STAR_NAMES.get(base, ()):
                    self._bind(name, f"{base}.{name}")
            else:
                self._bind(imported_name(alias), f"{base}.{alias.name}" if base else alias.name)

    def add_definitions(self, names: Iterable[str]) -> None:
        """Add the file's own top-level functions and classes."""
        self._resolved.clear()
        for name in names:
            self._defined.add(name)
            self._table[name] = f"{self._module}.{name}" if self._module else f".{name}"

    def resolve(self, name: str) -> str:
        """The qualified, canonical form of a dotted local name; unknown names are returned unchanged."""
        known = self._resolved.get(name)
        if known is None:
            first, dot, rest = name.partition(".")
            target = self._table.get(first)
            known = self._resolved[name] = name if target is None else canonical(target + dot + rest)
        return known

    def qualified(self, node: ast.AST) -> str:
        """The same for an expression; ``""`` for one that is computed."""
        name = dotted(node)
        return self.resolve(name) if name else ""

    def meanings(self, name: str) -> list[str]:
        """The qualified forms that a dotted local name may have, if several imports bind it.

        After ``if tiny: from tiny import Net`` and ``else: from large import Net``, ``Net`` may be either.
        """
        first, dot, rest = name.partition(".")
        others = () if first in self._defined else self._imports.get(first, ())
        return [self.resolve(name), *(canonical(target + dot + rest) for target in others[1:])]

    @property
    def packages(self) -> frozenset[str]:
        """The top-level packages that the file imports from."""
        return frozenset(self._packages)

    @property
    def targets(self) -> frozenset[str]:
        """The qualified names that imports and definitions bind."""
        return frozenset(self._table.values())

    @property
    def imported(self) -> frozenset[str]:
        """The qualified names that import statements name: bound names, modules, and sources of star imports."""
        bound = (target for name, targets in self._imports.items() if name not in self._defined for target in targets)
        return frozenset((*bound, *self.stars, *self.modules))

    @property
    def bound(self) -> frozenset[str]:
        """The names that imports and definitions bind."""
        return frozenset(self._table)

    def same(self, other: Names) -> bool:
        """Whether another file binds the same names to the same things."""
        one, two = ((it._table, it._imports, it._packages, it._defined, it.stars, it.modules) for it in (self, other))
        return one == two

    def is_bound(self, name: str) -> bool:
        """Whether an import or a definition binds this first name."""
        return name in self._table

    def _bind(self, name: str, target: str) -> None:
        self._table.setdefault(name, target)
        targets = self._imports.setdefault(name, [])
        if target not in targets:
            targets.append(target)

    def _base(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self._package.split(".") if self._package else []
        parts = parts[: max(len(parts) - (node.level - 1), 0)]
        return ".".join([*parts, *([node.module] if node.module else [])])


def super_method(call: ast.Call) -> str | None:
    """``name`` for ``super().name()``."""
    func = call.func
    if not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Call):
        return None
    return func.attr if dotted(func.value.func) == "super" else None


# Finds what one iteration of a loop passes to the next.


def hands_on(loop: ast.For, besides: str = "") -> bool:
    """Whether one iteration of a loop passes something to the next in a variable, like a recurrence.

    Sums (``+=``) do not count, nor does the name ``besides``.
    """
    everywhere = {name for statement in loop.body for name in stored_names(statement)} - {besides}
    bound: set[str] = set()
    for statement in loop.body:
        if isinstance(statement, ast.AugAssign):
            continue
        reads = {item.id for item in walk(statement) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load)}
        if (reads & everywhere) - bound:
            return True
        bound |= stored_names(statement)
    return False
