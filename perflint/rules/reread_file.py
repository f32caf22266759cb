"""PPF108: a dataset that reads the same file again for each sample."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from perflint import catalogue
from perflint.facts.dataset_methods import sample_methods
from perflint.findings import Fix, Level
from perflint.index.hierarchy import Hierarchy
from perflint.index.project import FileIndex
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, rule
from perflint.lint.statement_code import statement_around
from perflint.query import query
from perflint.syntax import reaching
from perflint.syntax.bindings import bindings_of
from perflint.syntax.names import dotted
from perflint.syntax.parameters import all_parameters, argument_of
from perflint.syntax.scopes import Scope, Statement
from perflint.syntax.tree import walk

if TYPE_CHECKING:
    from perflint.index.project import FileIndex


# Finds files that a dataset reads again for each sample, although they are the same each time.
#
# ``pd.read_csv(self.annotations)`` in ``__getitem__`` parses the whole table for one row of it. A path that depends
# on the index, such as ``self.files[index]``, is another file each time.

_READS = re.compile(
    r"numpy\.(?:load|loadtxt|genfromtxt|fromfile)$|pandas\.read_\w+$|json\.load$|pickle\.load$|h5py\.File$|lmdb\.open$"
    r"|paddle\.load$|scipy\.io\.loadmat$|yaml\.(?:safe_)?load$|joblib\.load$|cv2\.imread$|PIL\.Image\.open$"
    r"|(?:skimage\.io|imageio|matplotlib\.(?:pyplot|image))\.imread$|xml\.etree\.ElementTree\.parse$|open$"
)
_WORDS = ("load", "open", "imread", "read_csv", "loadtxt", "File", "genfromtxt", "fromfile", "loadmat", "parse")
_SAME = re.compile(r"os\.path\.\w+$|os\.fspath$|pathlib\.(?:Pure)?Path$|(?:str|int|len|list|sorted|tuple)$")
_SAME_METHODS = frozenset({"format", "join", "joinpath", "lower", "upper", "replace", "strip", "with_suffix"})
_UNKNOWN = (ast.Lambda, ast.Await, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_DEEPEST = 6


@query
def repeated_reads(file: FileIndex) -> tuple[ast.Call, ...]:
    """The calls of a file's datasets that read the same file for each sample."""
    if not file.has_words(*_WORDS):
        return ()
    methods = [scope for method in sample_methods(file) for scope in _with_helpers(method)]
    return tuple(call for scope in dict.fromkeys(methods) for call in _of_method(file, scope))


def _with_helpers(method: Scope) -> list[Scope]:
    """A method, and those of its class that it runs: ``self.load(index)``."""
    own = method.owner.methods if method.owner is not None else {}
    found = [method]
    for scope in found:
        called = [dotted(call.func) or "" for call in scope.calls]
        helpers = [own[name[5:]] for name in called if name.startswith("self.") and name[5:] in own]
        found += [helper for helper in dict.fromkeys(helpers) if helper not in found]
    return found


def _of_method(file: FileIndex, scope: Scope) -> Iterator[ast.Call]:
    """The outermost of these calls: ``json.load(open(path))`` is one read, and so is reading an open file."""
    jumps = any(isinstance(call.func, ast.Attribute) and call.func.attr == "seek" for call in scope.calls)
    for statement in scope.statements:
        if jumps or _is_kept(statement) or any(map(_asks_for_kept, _tests(statement))):
            continue
        inside: set[ast.AST] = set()
        for call in statement.calls:
            if call not in inside and _reads_the_same(file, scope, statement, call):
                yield call
                inside.update(walk(call))


def _reads_the_same(file: FileIndex, scope: Scope, statement: Statement, call: ast.Call) -> bool:
    qualified = file.names.resolve(dotted(call.func) or "")
    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    if not _READS.match(qualified) or not values:
        return False
    if qualified == "numpy.load" and argument_of(call, "mmap_mode", 1) is not None:
        return False
    return all(_is_same(file, scope, statement, value, 0) for value in values)


def _is_same(file: FileIndex, scope: Scope, statement: Statement, node: ast.expr, depth: int) -> bool:
    """Whether an expression has the same value for each sample, judging by the class."""
    if depth > _DEEPEST:
        return False
    return all(_is_same_part(file, scope, statement, item, depth) for item in walk(node))


def _is_same_part(file: FileIndex, scope: Scope, statement: Statement, item: ast.AST, depth: int) -> bool:
    if isinstance(item, ast.Name):
        return _is_same_name(file, scope, statement, item.id, depth)
    if isinstance(item, ast.Call):
        return _gives_the_same(file, item)
    if isinstance(item, ast.Attribute) and dotted(item.value) == "self" and scope.owner is not None:
        return item.attr in _SAME_METHODS or _is_set_at_the_start(file, scope, item.attr)
    return not isinstance(item, _UNKNOWN)


def _is_same_name(file: FileIndex, scope: Scope, statement: Statement, name: str, depth: int) -> bool:
    """Whether a name has the same value each time; not for an open file, where the opening is the finding."""
    if name == "self" or hasattr(builtins, name):
        return True
    if name in all_parameters(scope):
        return False
    bindings = [binding.statement for binding in reaching.before(name, statement, scope)]
    if bindings:
        return all(_is_same_binding(file, scope, binding, depth) for binding in bindings)
    return len(bindings_of(file.scopes.module).get(name, ())) == 1 or file.names.is_bound(name)


def _is_same_binding(file: FileIndex, scope: Scope, statement: Statement, depth: int) -> bool:
    node = statement.node
    is_plain = isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
    if not isinstance(node, ast.Assign) or not is_plain:
        return False
    opens = isinstance(node.value, ast.Call) and _READS.match(file.names.resolve(dotted(node.value.func) or ""))
    return not opens and _is_same(file, scope, statement, node.value, depth + 1)


def _is_set_at_the_start(file: FileIndex, scope: Scope, name: str) -> bool:
    """Whether only ``__init__`` sets an attribute."""
    assert scope.owner is not None
    lineage = Hierarchy.of(file.project).lineage(file, scope.owner)
    setters = [method.name for _, owner in lineage for _, method in owner.attributes.get(name, ())]
    return bool(setters) and all(setter == "__init__" for setter in setters)


def _gives_the_same(file: FileIndex, call: ast.Call) -> bool:
    """Whether a call returns the same for the same arguments."""
    qualified = file.names.resolve(dotted(call.func) or "")
    if _SAME.match(qualified) or _READS.match(qualified):
        return True
    return isinstance(call.func, ast.Attribute) and call.func.attr in _SAME_METHODS


def _tests(statement: Statement) -> Iterator[ast.expr]:
    return (link.node.test for link in statement.around if isinstance(link.node, ast.If))


def _asks_for_kept(test: ast.expr) -> bool:
    """Whether a test checks what the object has already read: ``if self.file is None``."""
    return any(
        (isinstance(item, ast.Compare) and any(isinstance(operator, (ast.Is, ast.NotIn)) for operator in item.ops))
        or (isinstance(item, ast.UnaryOp) and isinstance(item.op, ast.Not))
        for item in walk(test)
    )


def _is_kept(statement: Statement) -> bool:
    """Whether a statement stores what it reads in the object: ``self.file = h5py.File(path)``."""
    targets = statement.node.targets if isinstance(statement.node, ast.Assign) else []
    return any(
        isinstance(item, ast.Attribute) and dotted(item.value) == "self" for target in targets for item in walk(target)
    )


# PPF108: a dataset that reads the same file again for each sample.

CODE = "PPF108"
_LAZILY = "open it lazily and keep it in the object, since worker processes must not share a handle"
_HANDLES = ("h5py.File", "lmdb.open")


def _places(file: FileIndex) -> Iterator[Candidate]:
    for call in repeated_reads(file):
        statement = statement_around(file.tree, call)
        if statement is not None:
            yield Candidate(call, statement)


@rule(CODE, at=At.ANYWHERE, find=_places, claims=False, heeds_claims=False, needs_kinds=False)
def reads_again(call: ast.Call, context: Context) -> None:
    """Report a read in ``__getitem__`` that does not depend on the index."""
    said = catalogue.shipped()[CODE]
    reason = _LAZILY if context.name(call.func) in _HANDLES else said.fix_reason
    context.report(Fix(said.fix_title, (), Level.DISPLAY, reason))
