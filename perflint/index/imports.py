"""Finds which files import a file, directly and indirectly, and which names that it imports anything needs.

``is_needed`` and ``is_taken`` say whether anything besides the code of a file needs a name that it imports: another
file, a string, a comment. They say yes in doubt: an import that is left over does no harm.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, product

from perflint.index.modules import Modules, knows_paddle
from perflint.index.project import FileIndex, Part, Project
from perflint.query import query
from perflint.syntax.always_bound import always_does, given_by
from perflint.syntax.bindings import bindings_of, definitions_of, values_bound_by
from perflint.syntax.file_text import places
from perflint.syntax.names import Names, dotted, imported_name
from perflint.syntax.parameters import argument_for
from perflint.syntax.scopes import Scope
from perflint.syntax.tree import string_of, walk

_NAMES = re.compile(r"[\w\s,.()\\]*")
_ROW = re.compile(r"[^#\r\n]*")
_OF_ITS_PACKAGE = re.compile(r"\bfrom\s+\.")
_DYNAMIC = ("import_module", "__import__")
_BY_SETTINGS = re.compile(r"\b(?:(?:instantiate|locate|import_string)\(|_target_\b)")
BRINGING = {"numpy": ("paddle",)}
"""Packages that import others whenever they are imported."""
_LOADED = ("__name__", "__module__")
"""Names of modules that are loaded already: ``import_module(__name__)``."""
_BY_PATH = ("spec_from_file_location", "SourceFileLoader", "load_source", "run_path", "run_module")


class Imports(Part):
    """The imports among the files of one project."""

    def closure(self, starts: Iterable[FileIndex]) -> frozenset[FileIndex]:
        """The files that are loaded with these: what they import, and so on; including themselves."""
        return _closure(starts, self.direct)

    def users(self, files: Iterable[FileIndex]) -> frozenset[FileIndex]:
        """The files that load some of these: they import one, directly or not; including these."""
        return _closure(files, lambda file: [other for other in self._may_load(file) if file in self.direct(other)])

    def importers(self, file: FileIndex) -> Iterator[FileIndex]:
        """The files with a statement that imports a file, scripts first; each is parsed when it is needed.

        Who imports a module of a package imports the package as well.
        """
        return (other for other in self._may_load(file) if file in self._stated(other))

    @query
    def may_be_loaded(self, file: FileIndex) -> bool:
        """Whether some other file imports a file, or may do so by its path, or from a directory of ``sys.path``."""
        return next(self.loaders(file), None) is not None or self._loads_by_path()

    @query(cycle=False)
    def fails(self, file: FileIndex) -> bool:
        """Whether the import of a file certainly fails.

        It takes a name from a file beside it that has no such name, or from below a file that is no package:
        ``from utils.seeds import seed`` where ``utils.py`` is all there is of ``utils``.
        """
        for node in file.tree.body:
            if isinstance(node, ast.ImportFrom) and node.level == 0 and self._is_below_a_file(node.module or "", file):
                return True
            target = self._beside(file, node) if isinstance(node, ast.ImportFrom) else None
            if target is None or not isinstance(node, ast.ImportFrom):
                continue
            if self.fails(target) or any(self._lacks(target, alias.name) for alias in node.names):
                return True
        return False

    def _beside(self, file: FileIndex, node: ast.ImportFrom) -> FileIndex | None:
        """The file that a statement imports from, if it is in the same folder or named relative to it.

        A file ``typing.py`` of a package is not what ``from typing import Any`` means: that is Python's own.
        """
        folder, named = file.parts[: len(file.parts) - max(node.level, 1)], (node.module or "").split(".")
        if node.level == 0 and named[0] in sys.stdlib_module_names:
            return None
        found = self._project.modules.get((*folder, *named)) if node.module else None
        alike = (parts for parts in self._project.modules if parts[-len(named) :] == tuple(named))
        is_clear = node.level > 0 or not folder or (len(named) == 1 and next(islice(alike, 1, None), None) is None)
        return found if is_clear and found is not file else None

    def _is_below_a_file(self, module: str, file: FileIndex) -> bool:
        """Whether a module is named as a part of a file, in a folder that a program finds other modules in."""
        first, dot, _ = module.partition(".")
        modules, directory = self._project.modules, file.parts[:-1]
        at = [(folder, modules.get((*folder, first))) for folder in Modules.of(self._project).folders(directory, first)]
        found = [(folder, there) for folder, there in at if there is not None]
        if not dot or len(found) != 1 or found[0][1].is_package or found[0][1] is file or file.has("sys.path"):
            return False
        others = {name.partition(".")[0] for name in file.names.imported} - {first}
        is_in_a_package = bool(directory) and directory in modules
        return not is_in_a_package and any((*found[0][0], other) in modules for other in others)

    def _lacks(self, file: FileIndex, name: str) -> bool:
        """Whether a module has no such name; a package may have modules that are built, or generated."""
        is_known = not (name == "*" or file.is_package or file.has("import *"))
        return is_known and not file.has_words(name, "__getattr__", "globals")

    def loaders(self, file: FileIndex) -> Iterator[FileIndex]:
        """The files that import a file, or may do so from a directory of ``sys.path``, scripts first."""
        return (other for other in self._may_load(file) if file in self.direct(other) or self._may_find(file, other))

    def _may_find(self, file: FileIndex, other: FileIndex) -> bool:
        """Whether the path of a file ends like a module that another file imports but that is not found from there."""
        own = file.parts[:-1] if file.is_package else file.parts
        return bool(own) and any(_ends_with(own, target) for target in self._not_found(other))

    @query
    def on_path(self, file: FileIndex) -> frozenset[FileIndex]:
        """The files next to a script, or below it, that it may import from a directory that it adds to ``sys.path``."""
        if not file.has("sys.path"):
            return frozenset()
        folder = file.parts[:-1]
        below = (each for each in self._project.files.values() if each.parts[: len(folder)] == folder)
        return frozenset(each for each in below if each is not file and self._may_find(each, file))

    @query
    def _not_found(self, file: FileIndex) -> list[list[str]]:
        """The parts of the qualified names that a file imports and that are not found from its directory."""
        targets = file.names.imported
        return [target.split(".") for target in targets if next(self.brought_by(target, file), None) is None]

    @query
    def _loads_by_path(self) -> bool:
        """Whether some file may load others by their paths: ``SourceFileLoader(name, path).load_module()``."""
        return any(file.has_words(*_BY_PATH) for file in self._project.files.values())

    @query
    def _may_load(self, file: FileIndex) -> list[FileIndex]:
        """The files whose text may contain an import of a file."""
        name, mentions = file.module.rpartition(".")[2], self._project.mentions
        found = {other for other in mentions.of(name) if _may_name(other, name, file.is_package)} if name else set()
        found.update(mentions.of(*_DYNAMIC, *(scope.name for _, scope, _ in self._importing())))
        if file.is_package:
            depth = len(file.parts) - 1
            inside = (other for other in mentions.of("from") if other.parts[:depth] == file.parts[:depth])
            found.update(other for other in inside if other.matches(_OF_ITS_PACKAGE))
        order = self._order()
        return sorted(found - {file}, key=lambda other: (not other.has("__main__"), order[other]))

    @query
    def _order(self) -> Mapping[FileIndex, int]:
        """The position of each file among those of the project."""
        return {file: place for place, file in enumerate(self._project.files.values())}

    @query
    def direct(self, file: FileIndex) -> frozenset[FileIndex]:
        """The files that one file imports, including packages on the way."""
        return (self._stated(file) | self.named_by_calls(file)) - {file}

    @query
    def _stated(self, file: FileIndex) -> frozenset[FileIndex]:
        """The files that the import statements of one file bring in."""
        return frozenset(found for target in file.names.imported for found in self.brought_by(target, file))

    @query(cycle=False)
    def always_loads(self, file: FileIndex, package: str) -> bool:
        """Whether importing a file has always imported a package, such as Paddle."""
        return self.have_loaded(file.tree.body, package, file)

    def have_loaded(self, statements: Iterable[ast.stmt], package: str, file: FileIndex) -> bool:
        """Whether some statements of a module have always imported a package, themselves or through another file."""
        return any(always_does(item, lambda node: self._loads(node, package, file)) for item in statements)

    def _loads(self, node: ast.stmt, package: str, file: FileIndex) -> bool:
        """Whether an import brings in a package: by its name, or by a file that does not import this one in turn."""
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            return False
        bringing = (package, *BRINGING.get(package, ()))
        if any(each.loads.partition(".")[0] in bringing for each in given_by(node)):
            return True
        one = Names(file.module, file.is_package)
        one.add_import(node)
        found = {loaded for target in one.imported for loaded in self.brought_by(target, file)}
        return any(self.always_loads(other, package) and file not in self.closure([other]) for other in found - {file})

    def brought_by(self, target: str, origin: FileIndex) -> Iterator[FileIndex]:
        """The modules that importing a qualified name runs: the one with or around the name, and its packages."""
        parts, directory = tuple(part for part in target.split(".") if part), origin.parts[:-1]
        for folder in Modules.of(self._project).folders(directory, parts[0]) if parts else ():
            found = [self._project.modules.get((*folder, *parts[:size])) for size in range(1, len(parts) + 1)]
            if any(found[-2:]):
                yield from filter(None, found)
                return

    @query
    def named_by_calls(self, file: FileIndex) -> frozenset[FileIndex]:
        """What ``importlib.import_module("models." + name)`` may bring in: the files of the package that it names."""
        found = {one for _, _, name in _imported_by_call(file) for one in self._below(name, file)}
        return frozenset(found.union(*map(partial(self.brought_by, origin=file), self._passed(file))))

    def _passed(self, file: FileIndex) -> Iterator[str]:
        """The modules that a file names to functions that import them: ``load("trainers", "fast")``."""
        for where, scope, name in self._importing():
            for _, _, call in file.calls_named(scope.name) if file.has_words(scope.name) else ():
                texts = [(each, argument_for(scope, call, each)) for each in scope.parameters]
                given = {each: [text] for each, text in texts if text is not None and string_of(text) is not None}
                if given and (where is file or scope.name in file.names.bound or isinstance(call.func, ast.Attribute)):
                    yield from _texts(name, scope, given)

    @query
    def _importing(self) -> tuple[tuple[FileIndex, Scope, ast.expr], ...]:
        """The functions that import a module that a parameter names, each with the expression of the name."""
        return tuple(
            (file, scope, name)
            for file in self._project.mentions.of(*_DYNAMIC)
            if not (file.is_quiet or file.is_foreign)
            for scope, name, prefix in _imported_by_call(file)
            if scope.parameters and not prefix and not isinstance(name, ast.Constant)
        )

    @query
    def by_settings(self, file: FileIndex) -> bool:
        """Whether configuration files may name objects of a file: ``instantiate({"_target_": "models.net.Net"})``.

        A program that uses such settings may mean what is in its own folder, if it is also in a top folder that it
        imports from.
        """
        return any(
            not tops.isdisjoint((file.parts[0], "")) and any(file.parts[: len(folder)] == folder for folder in folders)
            for tops, folders in self._named_by_settings()
        )

    @query
    def _named_by_settings(self) -> list[tuple[frozenset[str], frozenset[tuple[str, ...]]]]:
        """For each file that imports what settings name: the top folders that it loads files of, ``""`` for the top
        itself, and the folders of the files that load it."""
        asking = [file for file in self._project.files.values() if not file.is_foreign and _asks_settings(file)]
        return [
            (
                frozenset(each.parts[0] if len(each.parts) > 1 else "" for each in self.closure([file])),
                frozenset(each.parts[:-1] for each in self.users([file])),
            )
            for file in asking
        ]

    def _below(self, prefix: str, file: FileIndex) -> Iterator[FileIndex]:
        named = tuple(part for part in prefix.split(".") if part)
        directory = file.parts[:-1]
        bases = [directory[:length] for length in range(len(directory), -1, -1)] if named else [directory]
        for base in bases:
            package = (*base, *named)
            found = [one for one in self._project.files.values() if one.parts[: len(package)] == package]
            if found:
                yield from found
                return


def _closure(
    starts: Iterable[FileIndex], neighbours: Callable[[FileIndex], Iterable[FileIndex]]
) -> frozenset[FileIndex]:
    found: set[FileIndex] = set()
    queue = list(starts)
    while queue:
        file = queue.pop()
        if file not in found:
            found.add(file)
            queue += neighbours(file)
    return frozenset(found)


def _ends_with(module: tuple[str, ...], target: list[str]) -> bool:
    """Whether the first parts of a qualified name are the last ones of a module's: ``net.Net`` and ``models.net``."""
    return any(
        part == module[-1] and size <= len(module) and tuple(target[:size]) == module[-size:]
        for size, part in enumerate(target, 1)
    )


def _imported_by_call(file: FileIndex) -> Iterator[tuple[Scope, ast.expr, str]]:
    """The names that are passed to ``import_module``, each with its function and its beginning, as far as it is known.

    Those of modules that are loaded already are left out.
    """
    if file.has_words(*_DYNAMIC):
        for scope in file.scopes.scopes:
            for call in scope.calls:
                if _last(call.func) in _DYNAMIC and call.args and _last(call.args[0]) not in _LOADED:
                    known = definitions_of(file.scopes.module) | definitions_of(scope)
                    yield scope, call.args[0], _prefix(call.args[0], known)


def _texts(node: ast.expr, scope: Scope, given: Mapping[str, Sequence[ast.expr]]) -> list[str]:
    """What an expression may be for the literals that a call passes: sums, and names that the function sets."""
    text = string_of(node)
    if text is not None:
        return [text]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [a + b for a in _texts(node.left, scope, given) for b in _texts(node.right, scope, given)]
    if isinstance(node, ast.JoinedStr):
        parts = (_texts(getattr(each, "value", each), scope, given) for each in node.values)
        return ["".join(each) for each in product(*parts)]
    name = dotted(node) or ""
    if name in given:
        return [each for value in given[name] for each in _texts(value, scope, {**given, name: ()})]
    bound = [pair for statement in bindings_of(scope).get(name, ()) for pair in values_bound_by(statement.node)]
    values = [value for to, value in bound if to == name and value is not None]
    return [each for value in values for each in _texts(value, scope, {**given, name: ()})]


def _last(node: ast.expr) -> str:
    return (dotted(node) or "").rpartition(".")[2]


def _asks_settings(file: FileIndex) -> bool:
    """Whether a file creates objects of classes, or imports modules, that settings name."""
    if file.has_words("instantiate", "locate", "import_string", "_target_") and file.matches(_BY_SETTINGS):
        return True
    return any(not (isinstance(name, ast.Constant) or prefix) for _, name, prefix in _imported_by_call(file))


@query
def _may_name(file: FileIndex, name: str, is_package: bool) -> bool:
    """Whether the text of a file may contain an import of a module of this name, or from it."""
    text = file.source.text
    return any(_is_imported(text, at, name, is_package) for at in places(text, name))


def _is_imported(text: str, at: int, name: str, is_package: bool) -> bool:
    """Whether a name is in a possible import: after the word itself, or in a row of only names and commas."""
    start = max(text.rfind(end, 0, at) for end in "\r\n") + 1
    row = next(_ROW.finditer(text, start)).group()
    if at >= start + len(row):
        return False
    if "from" in row:
        return is_package or not text.startswith(".", at + len(name))  # from name.module import other
    return "import" in row or _NAMES.fullmatch(row) is not None


def _prefix(node: ast.expr, known: Mapping[str, ast.expr]) -> str:
    """The literal part of a module's name: ``"models." + name``, ``f"models.{name}"``."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)):
        return _prefix(node.left, known).partition("%")[0].rpartition(".")[0]
    if isinstance(node, ast.JoinedStr) and node.values:
        return _prefix(node.values[0], known).rpartition(".")[0]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return _prefix(node.func.value, known).partition("{")[0].rpartition(".")[0]
    if isinstance(node, ast.Name) and node.id in known:
        return _prefix(known[node.id], {name: value for name, value in known.items() if name != node.id})
    return ""


_LOOK_UPS = frozenset({"eval", "exec", "globals"})
"""Builtins that can find a name of the module that the code does not spell."""
_OWN_NAMES = frozenset({"vars", "locals", "dir"})
"""The same without an argument."""
_WORD = re.compile(r"\w+")
_ON_PURPOSE = re.compile(
    r"#.*\b(?:noqa|pylint|pyright|mypy|flake8|type:|side.?effects?|keep|kept|needed|required|used|re-?exports?"
    r"|(?:not|n't) (?:remove|delete))",
    re.IGNORECASE,
)
"""A comment that says that an import is there on purpose."""
_BY_NAME = (
    *("getattr", "attrgetter", "vars", "dir", "__dict__", "eval", "exec", "globals"),
    *("import_module", "__import__", "modules"),
)
"""What a file that does not have a name itself needs to take it from another one."""
_EXAMPLE = ">>>"
_MAIN = re.compile(
    r"\bimport\s+__main__|\bmodules\s*\[\s*[\"']__main__|_module\(\s*[\"']__main__|__import__\(\s*[\"']__main__"
)
_ONLY_NAMES = re.compile(r"get_?logger$|^(?:Flask|Blueprint)$", re.IGNORECASE)
"""Functions that take ``__name__`` as a mere text."""


@query
def is_needed(file: FileIndex, name: str) -> bool:
    """Whether something may need a name that a file imports besides the code of the file that reads it."""
    return (
        file.is_package
        or _is_kept_on_purpose(file, name)
        or _is_found_by_text(file, name)
        or _is_open_to_all(file.project)
        or is_taken(file, name)
    )


@query
def is_taken(file: FileIndex, name: str) -> bool:
    """Whether another file of the project may take a name from a file."""
    imports, module = Imports.of(file.project), file.parts[-1]
    others = {*imports.users([file]), *imports.loaders(file)} - {file}
    if any(file in imports.brought_by(target, file) for target in file.names.imported):
        others.add(file)  # it imports itself, in a function
    if any(file in imports.named_by_calls(other) or _may_take(other, file, name) for other in others):
        return True
    by_path = re.compile(rf"\b{re.escape(module)}\s*\.\s*{re.escape(name)}\b")
    return any(other.matches(by_path) for other in file.project.mentions.of(module) if other is not file)


@query
def _is_open_to_all(project: Project) -> bool:
    """Whether some file looks into modules that it does not name: into the main one, or those of its callers."""
    return any(
        file.has_words("f_globals") or file.matches(_MAIN) for file in project.mentions.of("f_globals", "__main__")
    )


def _is_kept_on_purpose(file: FileIndex, name: str) -> bool:
    """Whether a comment beside or above the import of a name says why it is there."""
    lines = file.source.lines
    for node in walk(file.tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)) and any(imported_name(alias) == name for alias in node.names):
            rows = [lines.line(row) for row in range(node.lineno, (node.end_lineno or node.lineno) + 1)]
            above = lines.line(node.lineno - 1) if node.lineno > 1 else ""
            if any(map(_ON_PURPOSE.search, [*rows, above if above.lstrip().startswith("#") else ""])):
                return True
    return False


def _is_found_by_text(file: FileIndex, name: str) -> bool:
    """Whether a file may look a name up in its own module: by ``eval``, from a string, or in an example of its docs."""
    word = re.escape(name)
    code = re.compile(rf"(?<![\w.]){word}\s*[.(]|\bimport\b[^\n]*\b{word}\b|^{word}$")
    nodes = walk(file.tree)
    docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        text = string_of(node)
        if text is not None and (id(node) not in docs or _EXAMPLE in text) and code.search(text):
            return True
        if isinstance(node, ast.Name) and node.id in _LOOK_UPS:
            return True
        if isinstance(node, ast.Call) and not node.args and dotted(node.func) in _OWN_NAMES:
            return True
    return file.matches(re.compile(rf"#[ \t]*type:[^\n]*\b{word}\b")) or _asks_for_itself(file)


@query
def _asks_for_itself(file: FileIndex) -> bool:
    """Whether a file uses its own name for more than a test or the name of a logger: ``sys.modules[__name__]``."""
    if not file.has_words("__name__"):
        return False
    nodes = walk(file.tree)
    texts = {id(part) for node in nodes if isinstance(node, ast.Compare) for part in (node.left, *node.comparators)}
    for node in nodes:
        if isinstance(node, ast.Call) and _ONLY_NAMES.search(_last(node.func)):
            texts |= {id(part) for part in node.args}
    return any(isinstance(node, ast.Name) and node.id == "__name__" and id(node) not in texts for node in nodes)


def _may_take(other: FileIndex, file: FileIndex, name: str) -> bool:
    """Whether a file that loads another one may take a name from it, under whatever name it knows that module."""
    module = file.parts[-1]
    for node in walk(other.tree) if other.has_words(name, module) or other.may_have_stars else ():
        if isinstance(node, ast.ImportFrom):
            is_from_it = (node.module or "").rpartition(".")[2] == module
            if is_from_it and any(_takes(alias.name, name, file) for alias in node.names):
                return True
        elif isinstance(node, ast.Attribute) and node.attr == name:
            if not _is_outside(node.value, other, module):
                return True
        elif _names_it(string_of(node) or "", name, module) and other.has_words(name, *_BY_NAME):
            return True
    names = _names_of(other, module) if other.has_words(module) else frozenset()
    return bool(names) and any(dotted(used) in names for used in _used_whole(other, module))


def _names_it(text: str, name: str, module: str) -> bool:
    """Whether a string is a name or ends in it, is the module, or is code with both."""
    if text == module or text.rpartition(".")[2] == name:
        return True
    return module in text and {module, name}.issubset(_WORD.findall(text))


def _takes(written: str, name: str, file: FileIndex) -> bool:
    """Whether ``from file import written`` takes a name; a star takes private ones only by ``__all__``."""
    return written == name or (written == "*" and (not name.startswith("_") or file.has_words("__all__")))


def _is_outside(node: ast.expr, file: FileIndex, module: str) -> bool:
    """Whether an expression is a module that does not belong to the project, nor has the name of the module asked for.

    (A program may find that one in a directory of ``sys.path``.)
    """
    name, imports = dotted(node), Imports.of(file.project)
    if name is None or not file.names.is_bound(name.partition(".")[0]):
        return False
    meanings = file.names.meanings(name)
    return not any(module in meaning.split(".") or any(imports.brought_by(meaning, file)) for meaning in meanings)


def _names_of(file: FileIndex, module: str) -> frozenset[str]:
    """The names that the imports of a file give to modules of such a name: ``S`` of ``import steps as S``."""
    return frozenset(
        alias.asname or alias.name
        for node in walk(file.tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
        if alias.name.rpartition(".")[2] == module
    )


def _used_whole(file: FileIndex, module: str) -> Iterator[ast.expr]:
    """The names in a file that are not only asked for an attribute, except ``__dict__``: the file may do anything."""
    if not file.has_words(module):
        return
    nodes = walk(file.tree)
    asked = {id(node.value) for node in nodes if isinstance(node, ast.Attribute) and node.attr != "__dict__"}
    yield from (node for node in nodes if isinstance(node, (ast.Name, ast.Attribute)) and id(node) not in asked)


@query
def serves_paddle(file: FileIndex) -> bool:
    """Whether the models passed to a file may be Paddle's: it imports Paddle, or a file that imports it does."""
    return knows_paddle(file) or any(map(knows_paddle, Imports.of(file.project).importers(file)))
