"""A project of which some files are edited: its answers know which parts of those files they depend on.

The contents of such a file are cached like any answer, because an edit may change them.
"""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import Any, cast

from perflint.configuration.settings import Settings
from perflint.flow.resolving import resolver_of
from perflint.incremental.revisions import Part, RevisedMemory
from perflint.index.project import FileIndex, Mentions, Project
from perflint.query import gathered, query
from perflint.syntax.file_text import FileText
from perflint.syntax.names import Names
from perflint.syntax.scopes import FUNCTIONS, Class, FileScopes, Scope
from perflint.syntax.tree import alike, walk
from perflint.text.source import Source, lines_of

# --- files

_PARTS = {"source": "text", "words": "text", "tree": "text", "scopes": "definitions"}
"""The attributes with nodes and text, and the part of the file that each counts as."""


class KeptFile(FileIndex):
    """A file of a kept project; if it is edited, it is recorded who uses which of its parts.

    The parts are its text, the names that it binds, the list of its definitions, and each definition.
    """

    memory: RevisedMemory

    def __init__(self, source: Source, parts: tuple[str, ...], project: Project, is_edited: bool) -> None:
        self._path = source.path
        self._named = {part: (source.path, part) for part in ("text", "names", "definitions")}
        self._is_edited = is_edited
        super().__init__(source, parts, project)

    @property
    def path(self) -> str:
        """The path of the file."""
        return self._path

    @property
    def names(self) -> Names:
        """What the file's imports and definitions bind."""
        self.note("names")
        return cast("FileScopes", vars(self)["scopes"]).names if self._is_edited else super().names

    @query
    def row(self, node: ast.AST) -> int:
        """The row of a node, which an edit may move."""
        self.note("text")
        return super().row(node)

    def note(self, part: str) -> None:
        """Note that a part of the file is used."""
        if self._is_edited:
            self.memory.note(self._named[part])

    def take_over(self, other: FileIndex) -> None:
        """Take over what another project's index of the same text has."""
        vars(self).update({name: known for name, known in vars(other).items() if name in _PARTS})

    def open(self) -> None:
        """Start recording who uses the definitions."""
        note_looks(self.scopes, self._named["text"], self.memory.note)

    def put(self, text: str, tree: ast.Module) -> tuple[list[Part], list[Scope | Class]]:
        """Replace the text and the tree.

        Returns:
            The parts of the file that have changed, and the functions and classes that are gone.
        """
        source, scopes = self.source, self.scopes
        renew_body(self.tree.body, tree.body, lines_of(source.text), lines_of(text))
        now = FileScopes(tree, Names(self.module, self.is_package))
        changed, gone = renew_scopes(scopes, now)
        vars(self).update(source=replace(source, text=text), tree=tree, scopes=now)
        del vars(self)["words"]
        self.open()
        parts: list[Part] = [self._named["text"], *changed]
        if scopes.scopes != now.scopes or scopes.classes != now.classes:
            parts.append(self._named["definitions"])
        if not scopes.names.same(now.names):
            parts.append(self._named["names"])
        return parts, gone


def _noted(name: str) -> property:
    """An attribute of a file, or something cached about its text, that records who uses it."""
    original = inspect.getattr_static(FileIndex, name, None)

    def get(self: KeptFile) -> Any:
        self.note(_PARTS[name])
        known = vars(self)
        if name not in known:
            known[name] = original.func(self)
        return known[name]

    def put(self: KeptFile, value: object) -> None:
        vars(self)[name] = value

    return property(get, put, doc=getattr(original, "__doc__", None))


def _is_answer(member: object) -> bool:
    """Whether a method of a file returns an answer that can be kept."""
    returned = member.__annotations__.get("return", "") if inspect.isfunction(member) else "None"
    return returned != "None" and not returned.startswith("Iterator")


def _cache_like_answers() -> None:
    """Make the cached properties and the public methods of a file queries, so that they are right after an edit."""
    inherited = vars(FileText) | vars(FileIndex)
    for name, member in inherited.items():
        if name in _PARTS:
            setattr(KeptFile, name, _noted(name))
        elif isinstance(member, cached_property):
            setattr(KeptFile, name, property(query(member.func)))
        elif not name.startswith("_") and name not in vars(KeptFile) and _is_answer(member):
            setattr(KeptFile, name, query(member))
    setattr(KeptFile, "source", _noted("source"))  # noqa: B010 - a field, which has no default


_cache_like_answers()


class KeptProject(Project):
    """The index of files that are checked again and again while some of them are edited.

    Args:
        sources: every readable file by path.
        settings: the settings of the run.
        paths: the files that may be edited.
        known: an index of an earlier state; files with the same source are not parsed again.
    """

    memory: RevisedMemory
    mentions: KeptMentions
    is_edited = True

    def __init__(
        self,
        sources: Mapping[str, Source],
        settings: Settings,
        paths: frozenset[str] = frozenset(),
        known: Project | None = None,
    ) -> None:
        self.paths = paths
        self._earlier = known.files if known is not None else {}
        super().__init__(sources, settings, RevisedMemory())
        self._earlier = {}
        self.resolving = resolver_of(self)
        for path in paths:
            self._edited(path).open()

    def _file(self, source: Source, parts: tuple[str, ...]) -> FileIndex:
        made = KeptFile(source, parts, self, source.path in self.paths)
        before = self._earlier.get(source.path)
        if before is not None and before.source is source and source.path not in self.paths:
            made.take_over(before)
            if source.path in before.project.broken:
                self.broken[source.path] = before.project.broken[source.path]
        return made

    def _mentions(self) -> Mentions[FileIndex]:
        return KeptMentions(self.files.values(), self.memory)

    def _edited(self, path: str) -> KeptFile:
        return cast("KeptFile", self.files[path])

    def put(self, path: str, text: str, anyway: bool = False) -> Exception | None:
        """Replace the text of a file; return the syntax error, if any.

        Args:
            path: one of those that may be edited.
            text: the new one.
            anyway: also accept a text that does not parse; the file is then empty.
        """
        error: Exception | None = None
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
            error, tree = problem, ast.Module([], [])
        if error is None or anyway:
            self.broken.pop(path, None)
            if error is not None:
                self.broken[path] = error
            self._renew(self._edited(path), text, tree)
        return error

    def _renew(self, file: KeptFile, text: str, tree: ast.Module) -> None:
        """Record what an edit changes: parts of the file, and which files contain a word."""
        words = file.words
        changed, gone = file.put(text, tree)
        self.memory.change([*changed, *self.mentions.move(file, words)])
        self.memory.forget(frozenset(gone))
        for part in gone:
            take_apart(part)


class KeptMentions(Mentions[FileIndex]):
    """The inverted index of a kept project; it records who looks up a word."""

    def __init__(self, files: Iterable[FileIndex], memory: RevisedMemory) -> None:
        super().__init__(files)
        self.memory = memory
        _ = self._by_word  # before recording who looks up words

    @query
    def of(self, *names: str) -> list[FileIndex]:
        """The files that contain one of these words."""
        for name in names:
            self.memory.note((name, "word"))
        found = {id(file) for name in names for file in self._by_word.get(name, ())}
        return [file for file in self._files if id(file) in found]

    @query
    def other_names(self, name: str) -> frozenset[str]:
        """The other names that a function or class of this name may have anywhere."""
        return self._find_other_names(name)

    def move(self, file: FileIndex, before: frozenset[str]) -> list[Part]:
        """Add a file under the words that it has gained, and remove it under those it has lost; return these words.

        Args:
            file: one of the files, which has another text now.
            before: the words that it had.
        """
        known, words = cast("dict[str, list[FileIndex]]", self._by_word), file.words
        for word in before - words:
            known[word].remove(file)
        for word in words - before:
            known.setdefault(word, []).append(file)
        return [(word, "word") for word in before ^ words]


# Keeps the tree, functions and classes of a file through an edit: unchanged code stays the same object.

_POSITION = ("lineno", "col_offset", "end_lineno", "end_col_offset")


def renew_body(old: list[ast.stmt], new: list[ast.stmt], before: list[str], now: list[str]) -> None:
    """Put the old nodes of unchanged code into a module or a class that has been parsed again.

    Args:
        old: the statements of the body before the edit.
        new: those after it, some of which are replaced.
        before: the text before the edit, in rows.
        now: the text after it.
    """
    by_text = gathered((_text(node, before), node) for node in old)
    others: list[tuple[int, Any]] = []
    for at, node in enumerate(new):
        same = by_text.get(_text(node, now))
        if same:
            new[at] = _moved(same.pop(0), node.lineno)
        else:
            others.append((at, node))
    left: dict[Hashable, Any] = {_called(node): node for node in chain(*by_text.values())}
    for at, node in others:
        known = left.pop(_called(node), None)
        if isinstance(known, ast.ClassDef):
            renew_body(known.body, node.body, before, now)
        elif isinstance(known, FUNCTIONS) and alike(known, node):  # equal except for comments and layout
            new[at] = _placed(known, node)


def _called(node: ast.stmt) -> Hashable:
    return node.__class__, getattr(node, "name", None)


def _text(node: ast.stmt, rows: list[str]) -> Hashable:
    """The rows of a statement, and where it begins on the first of them."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(item.lineno for item in decorators)])
    return "".join(rows[first - 1 : node.end_lineno]), node.col_offset


def _moved(node: ast.stmt, row: int) -> ast.stmt:
    """A statement, moved to another row."""
    shift = row - node.lineno
    for part in walk(node) if shift else ():
        if hasattr(part, "lineno"):
            part.lineno += shift
            part.end_lineno += shift  # type: ignore[attr-defined]  # what has the one has the other
    return node


def _placed(node: ast.stmt, other: ast.stmt) -> ast.stmt:
    """A statement, moved to the place of an equal one."""
    for one, there in zip(walk(node), walk(other), strict=True):
        for name in _POSITION if hasattr(there, "lineno") else ():
            setattr(one, name, getattr(there, name))
    return node


class NotedScope(Scope):
    """A function of an edited file, which records who uses it."""


class NotedClass(Class):
    """A class of an edited file, which records who uses it."""

    @property
    def decorators(self) -> list[ast.expr]:
        """The decorators of the class."""
        known = vars(self)
        known["note"](self)
        return cast("ast.ClassDef", known["node"]).decorator_list


def _noted_field(name: str, whole: bool = False) -> property:
    """A field of a function or class; ``whole``: it contains nodes from the whole file, so it depends on the text."""

    def get(self: Any) -> Any:
        known = self.__dict__
        known["note"](known["text"] if whole else self)
        return known[name]

    def put(self: Any, value: object) -> None:
        self.__dict__[name] = value

    return property(get, put)


for _name in ("statements", "functions", "node"):
    setattr(NotedScope, _name, _noted_field(_name))
for _name in ("methods", "attributes", "bases"):
    setattr(NotedClass, _name, _noted_field(_name))
setattr(NotedClass, "node", _noted_field("node", whole=True))  # noqa: B010 - a field of its base, as a property here


def note_looks(scopes: FileScopes, text: Hashable, note: Callable[[Hashable], None]) -> None:
    """Start recording who uses the functions and classes of a file, whose ``text`` part has this name."""
    for part in _by_key(scopes).values():
        if not isinstance(part, (NotedScope, NotedClass)):
            part.__class__ = NotedScope if isinstance(part, Scope) else NotedClass
            vars(part).update(text=text, note=note)


def renew_scopes(old: FileScopes, new: FileScopes) -> tuple[list[Scope | Class], list[Scope | Class]]:
    """Make the old functions and classes represent the current ones after an edit.

    Args:
        old: those of the tree before.
        new: those of a tree that ``renew_body`` has been through.

    Returns:
        The functions and classes whose contents have changed, and those that are gone.
    """
    before, after = _by_key(old), _by_key(new)
    same: dict[Any, Any] = {part: before.get(key, part) for key, part in after.items()}
    changed = [
        same[part]
        for part in same
        if (_fill_scope if isinstance(part, Scope) else _fill_class)(vars(same[part]), vars(part), same)
    ]
    new.scopes = [same[scope] for scope in new.scopes]
    new.classes = {name: same[owner] for name, owner in new.classes.items()}
    new.module = same[new.module]
    for part, kept in same.items():
        if part is not kept:
            vars(part).clear()  # they refer to one another, and garbage collection is paused
    return changed, [part for key, part in before.items() if key not in after]


def take_apart(part: Scope | Class) -> None:
    """Take apart a removed function or class: its parts refer to one another, and garbage collection is paused."""
    for table in vars(part).values():
        if isinstance(table, (dict, list)):
            table.clear()


def _by_key(scopes: FileScopes) -> dict[Hashable, Scope | Class]:
    """The functions and classes of a file by what encloses them, their names, and their number among equal names."""
    keys: dict[Scope | Class | None, Hashable] = {None: None}
    counts = Counter[Hashable]()
    owners = (scope.owner for scope in scopes.scopes if scope.owner is not None)
    parts: list[Scope | Class] = [*dict.fromkeys((*scopes.classes.values(), *owners)), *scopes.scopes]
    for part in parts:
        around = (keys[part.parent], keys[part.owner]) if isinstance(part, Scope) else part.qualname
        keys[part] = around, part.name, counts[around, part.name]
        counts[around, part.name] += 1
    return {keys[part]: part for part in parts}


def _fill_scope(old: dict[str, Any], new: dict[str, Any], same: Mapping[Any, Any]) -> bool:
    """Copy the contents of a new function to the old one; return whether they have changed."""
    functions = {name: same[inner] for name, inner in new["functions"].items()}
    statements = old["statements"]
    if old["node"] is not new["node"]:
        known = {statement.node: statement for statement in statements}
        found = [known.get(statement.node, statement) for statement in new["statements"]]
        for kept, statement in zip(found, new["statements"], strict=True):
            kept.place = statement.place
        statements = statements if found == statements and isinstance(new["node"], ast.Module) else found
    has_changed = statements is not old["statements"] or functions != old["functions"]
    parent, owner = new["parent"] and same[new["parent"]], new["owner"] and same[new["owner"]]
    old.update(node=new["node"], statements=statements, functions=functions, parent=parent, owner=owner)
    return has_changed


def _fill_class(old: dict[str, Any], new: dict[str, Any], same: Mapping[Any, Any]) -> bool:
    """Copy the contents of a new class to the old one; return whether they have changed."""
    is_decorated = alike(*(known["node"].decorator_list for known in (old, new)))
    now = {
        "bases": new["bases"],
        "methods": {name: same[method] for name, method in new["methods"].items()},
        "attributes": {
            name: [(value, same[scope]) for value, scope in items] for name, items in new["attributes"].items()
        },
    }
    has_changed = not is_decorated or any(old[name] != value for name, value in now.items())
    old.update(now, node=new["node"])
    return has_changed
