"""A file that is edited: whoever asks for what is in it is noted, and an edit tells what is not as it was."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Container, Hashable, Iterable
from functools import cached_property
from typing import Any, cast

from perflint.incremental.graft import Graft, watch
from perflint.incremental.kept_file import OF_TEXT, OWN, KeptFile
from perflint.incremental.kept_mentions import WORD, KeptMentions
from perflint.incremental.pieces import Pieces
from perflint.incremental.splice import Nodes, Splice, Window
from perflint.incremental.tracking import Asked, Need
from perflint.incremental.watched_source import WatchedSource
from perflint.index.project import FileIndex, NamedLoad, Project
from perflint.syntax.file_text import Answer
from perflint.syntax.names import Names
from perflint.syntax.scopes import Class, FileScopes, Scope, Statement
from perflint.syntax.words import Uses
from perflint.text.source import Source, lines_of
from perflint.training.steps import Points

_ACROSS = "[^"
"""What a pattern has that may match from one definition into the next."""
_CONTENT = frozenset({"tree", "identifiers", "loads", "syntax_error"})
_NOTED = frozenset({*OF_TEXT, *_CONTENT, "scopes"})


class WatchedFile(KeptFile):
    """A file that is edited: whoever asks for what is in it is noted in the project's log."""

    source: WatchedSource
    uses: Uses

    def __init__(self, source: Source, parts: tuple[str, ...], project: Project) -> None:
        super().__init__(WatchedSource.of(source), parts, project)
        path = source.path
        self._needs: dict[str, Need] = {name: (name, path) for name in (*OF_TEXT, "names")}
        self._needs |= dict.fromkeys(_CONTENT, ("content", path)) | {"scopes": ("list", path)}
        self._calls: dict[str, list[tuple[Scope, Statement, ast.Call]]] = {}
        self._parsed: tuple[str, ast.Module | Splice] | None = None
        self.window = Window((1, 0), (1, 0))
        """The rows in which the text parsed last is not as the one before it."""
        self._pieces = Pieces(source.text)
        self._nodes = Nodes()
        self.renewed: list[Need] | None = None
        """What holds other nodes since the last edit; None: everything."""
        self.is_as_it_was = False
        """Whether the last edit has changed no more than comments and layout."""
        self.is_grafted = False
        """Whether functions and classes that were there before the last edit are the same objects."""
        self._where: dict[str, tuple[Callable[[FileIndex, Scope], bool], list[Scope]]] = {}

    @property
    def names(self) -> Names:
        """What the file's imports and definitions bind."""
        self.memory.log.note(self._needs["names"])
        return cast("Names", vars(self)["scopes"].names)

    def of_text(self, question: Hashable, answer: Callable[[str], Answer]) -> Answer:
        """What a function of the text alone says of it."""
        self.memory.log.note(("text", self.source.path, question))
        if question not in self._questions:
            self._questions[question] = answer, answer(self.source.plain_text)
        return cast("Answer", self._questions[question][1])

    def matches(self, pattern: re.Pattern[str]) -> bool:
        """Whether a pattern matches somewhere in the text."""
        if _ACROSS in pattern.pattern:
            return super().matches(pattern)
        return self.of_text(("matches", pattern.pattern), lambda _: self._pieces.matches(pattern))

    def of_itself(self, question: str, answer: Callable[[FileIndex], Answer]) -> Answer:
        """What a function of this file alone says of it."""
        return self.of_text(question, lambda _: self._unnoted(answer))

    def scopes_where(self, question: str, answer: Callable[[FileIndex, Scope], bool]) -> list[Scope]:
        """The functions for which a function says so that looks at them and at the names of the file alone."""
        self.memory.log.note(("where", self.source.path, question))
        if question not in self._where:
            found = self._unnoted(lambda file: FileIndex.scopes_where(file, question, answer))
            self._where[question] = answer, found
        return self._where[question][1]

    def _ask_again(self, scopes: Container[Scope] | None) -> list[Need]:
        """Ask of some functions again (all, for None) what was asked of all; what is not as it was."""
        changed: list[Need] = []
        for question, (answer, before) in self._where.items():
            now = self._answers_now(answer, frozenset(before), scopes)
            if now != before:
                self._where[question] = answer, now
                changed.append(("where", self.source.path, question))
        return changed

    def _answers_now(
        self, answer: Callable[[FileIndex, Scope], bool], known: frozenset[Scope], scopes: Container[Scope] | None
    ) -> list[Scope]:
        """The functions that a question holds for: as known, but asking again of ``scopes`` (of all, for None)."""

        def holds(scope: Scope) -> bool:
            return answer(self, scope) if scopes is None or scope in scopes else scope in known

        return self._unnoted(lambda file: list(filter(holds, file.scopes.scopes)))

    def _unnoted(self, answer: Callable[[FileIndex], Answer]) -> Answer:
        start = len(self.memory.log.asked)
        found = answer(self)
        del self.memory.log.asked[start:]
        return found

    def calls_named(self, name: str) -> list[tuple[Scope, Statement, ast.Call]]:
        """The calls whose last name is this one, each with its statement."""
        log = self.memory.log
        log.note(("calls", self.source.path, name))
        if name not in self._calls:
            start = len(log.asked)
            self._calls[name] = FileIndex.calls_named(self, name)
            del log.asked[start:]
        return self._calls[name]

    def loads_named(self, name: str) -> list[NamedLoad]:
        """The places in statements that read a name or an attribute."""
        self.memory.log.note(self._needs["tree"])
        return self._unnoted(lambda file: FileIndex.loads_named(file, name))

    def may_call(self, name: str) -> bool:
        """Whether something by this name is called, as the text has it."""
        return name in self.uses.called

    def may_hold(self, name: str) -> bool:
        """Whether something by this name stands in the text without being called."""
        return name in self.uses.others

    def may_derive(self, name: str) -> bool:
        """Whether a class has a base of this name, as the text has it."""
        return name in self.uses.bases

    def open(self) -> None:
        """Note who asks for the text from now on."""
        self._look()
        self._note()

    def parse(self, text: str) -> Exception | None:
        """Parse what may take the place of the text; what is wrong with it."""
        old, new = (lines_of(one) for one in (self.source.plain_text, text))
        self.window = Window.between(old, new)
        known = vars(self)
        try:
            splice = Splice.of(known["tree"], self.window, old, new) if self._is_whole else None
            self._parsed = text, splice or ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            return error
        return None

    @property
    def _is_whole(self) -> bool:
        """Whether the tree is that of the text."""
        return "tree" in vars(self) and self.source.path not in self.project.broken

    def replace(self, text: str) -> list[Need]:
        """Put another text in the place of the old one; what is not as it was."""
        path, log, known = self.source.path, self.memory.log, vars(self)
        before = {name: known[name] for name in (*OF_TEXT, "scopes", "words", "uses")}
        if self._parsed is None or self._parsed[0] != text:
            self.parse(text)
        splice = self._parsed[1] if self._parsed is not None and isinstance(self._parsed[1], Splice) else None
        parsed = self._is_whole
        self._forget()
        self.source = WatchedSource(path, text, self.source.encoding, self.source.bom)
        self._look()
        graft = Graft(path, before["scopes"], known["scopes"], self.window, splice)
        grafted = self.is_grafted = parsed and path not in self.project.broken and graft.apply()
        self.renewed = graft.renewed if grafted and splice is not None else None
        if grafted:
            changed = [("content", path), *graft.changed, *(("calls", path, name) for name in graft.calls)]
            self._let_go(graft.gone)
        else:
            changed = log.needs_of(path)
            self._let_go([*before["scopes"].scopes, *before["scopes"].classes.values()])
        self._note()
        self.is_as_it_was = grafted and not graft.looked_at and not graft.gone
        same_names = before["scopes"].names.same(known["scopes"].names)
        changed += self._ask_again(graft.looked_at if grafted and same_names else None)
        changed += [(name, path) for name in OF_TEXT if before[name] != known[name]]
        if not same_names:
            changed.append(("names", path))
        changed += self._changed_answers(text)
        cast("KeptMentions", self.project.mentions).move(self, *_moved(before["words"].words, known["words"].words))
        for one, other in (
            (before["words"], known["words"]),
            *zip(_parts(before["uses"]), _parts(known["uses"]), strict=True),
        ):
            changed += one.changes(other.words)
        return changed

    def _note(self) -> None:
        """Note who asks for the text, the functions and the classes from now on."""
        watch(vars(self)["scopes"], self.source.path, self.memory.log)
        need = self._needs["tree"]
        self.source.told = lambda: self.memory.log.note(need)

    def _look(self) -> None:
        """Work out what the text alone says, which nobody has asked for."""
        log, known, source = self.memory.log, vars(self), self.source
        start = len(log.asked)
        if self._parsed is not None and self._parsed[0] == source.text:
            parsed = self._parsed[1]
            if isinstance(parsed, Splice):
                parsed.apply(self._nodes)
                parsed = parsed.tree
            else:
                self._nodes.clear()
            known["tree"], known["scopes"] = parsed, FileScopes(parsed, Names(self.module, self.is_package))
        self._parsed = None
        _ = self.tree  # and the scopes, which the parts below are worked out from
        self._pieces.put(source.text)
        known["words"] = Asked(self._pieces.words, log, (WORD,))
        for name in OF_TEXT:
            getattr(self, name)
        kinds = zip(("called", "others", "bases"), _parts(self._pieces.uses), strict=True)
        known["uses"] = Uses(*(cast("frozenset[str]", Asked(part, log, (kind, source.path))) for kind, part in kinds))
        del log.asked[start:]

    def _changed_answers(self, text: str) -> list[Need]:
        changed: list[Need] = []
        for question, (answer, before) in self._questions.items():
            now = answer(text)
            if now != before:
                self._questions[question] = answer, now
                changed.append(("text", self.source.path, question))
        return changed

    def _forget(self) -> None:
        """Forget all about the old text."""
        Points.of(self.project).forget(self)
        self._calls.clear()
        self.project.broken.pop(self.source.path, None)
        for name in OWN:
            if name not in ("is_quiet", "module"):
                vars(self).pop(name, None)

    def _let_go(self, parts: Iterable[Scope | Class]) -> None:
        """Take apart what is gone: its parts point at one another, and the collector is not there to see it."""
        for part in parts:
            self.memory.log.owned.pop(part, None)
            for table in vars(part).values():
                if isinstance(table, (dict, list)):
                    table.clear()


def _moved(before: frozenset[str], after: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    return after - before, before - after


def _parts(known: Uses) -> tuple[Any, Any, Any]:
    return known.called, known.others, known.bases


def _noted(name: str) -> property:
    """What a file remembers of its own text, or is given (``scopes``), with a note of who asks."""
    original: Any = inspect.getattr_static(FileIndex, name)
    work_out = original.func if isinstance(original, cached_property) else original.fget
    is_kept = isinstance(original, cached_property)

    def get(self: WatchedFile) -> Any:
        self.memory.log.note(self._needs[name])
        known = vars(self)
        if name in known:
            return known[name]
        value = work_out(self)
        if is_kept:
            known[name] = value
        return value

    def put(self: WatchedFile, value: Any) -> None:
        vars(self)[name] = value

    return property(get, put, doc=original.__doc__)


for _name in _NOTED:
    setattr(WatchedFile, _name, _noted(_name))
