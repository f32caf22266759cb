"""A project of which some files are edited: its answers know what of those files they were worked out from."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import Any, cast

from perflint.index import evaluation, layers
from perflint.index.file import Answer, FileIndex
from perflint.index.graft import Graft, WatchedScope, watch
from perflint.index.live import Live
from perflint.index.mentions import Mentions, Uses
from perflint.index.names import Names
from perflint.index.pieces import Pieces
from perflint.index.project import Project
from perflint.index.scopes import Class, FileScopes, Scope, Statement
from perflint.index.sizes import Sizes
from perflint.index.splice import Nodes, Splice, Window
from perflint.index.tracking import Asked, Entry, Log, Need, Registry, Table
from perflint.settings import DeclaredCall
from perflint.source import LineTable, Source, lines_of

_WORD = "word"
_ACROSS = "[^"
"""What a pattern has that may match from one definition into the next."""
_LIVE: Need = ("what may train", "")
_FROM_OTHERS = (
    "module_env",
    "knows_paddle",
    "misaligned",
    "evaluations",
    "runs_on_cpu",
    "optimizing",
    "amp_uses",
    "open_saves",
)
"""What a file remembers that other files, or its functions, decide."""
_WHOLE = ("_optimizing", "optimizing_names", "worker_defaults", "saves_on_every_rank", "amp_files", "open_widths")
"""What the project works out of all files at once."""
_BY_PATH = frozenset({"worker_defaults", "saves_on_every_rank", "amp_files"})
"""What of that is asked file by file."""
_OF_TEXT = ("is_foreign", "is_static", "is_offline", "may_have_stars", "scales")
"""Answers about the text of a file that an edit seldom changes."""
_CONTENT = frozenset({"tree", "identifiers", "loads", "syntax_error"})
_NOTED = frozenset({*_OF_TEXT, *_CONTENT, "scopes"})
_OWN = ("tree", "scopes", "words", "uses", "identifiers", "loads", "is_quiet", "module", *_OF_TEXT)
"""What a file remembers of itself alone."""


def _tracked(name: str, of: type) -> property:
    """A cached property that remembers its value in the ``facts`` of its object."""
    original: cached_property[Any] = vars(of)[name]

    def get(self: Any) -> Any:
        facts = self.facts
        if name not in facts:
            facts[name] = original.func(self)
        return facts[name]

    def put(self: Any, value: Any) -> None:
        self.facts[name] = value

    return property(get, put, doc=original.__doc__)


class KeptFile(FileIndex):
    """A file of a project that is kept: what it remembers of other files is tracked."""

    project: KeptProject

    @cached_property
    def facts(self) -> Table:
        """What is remembered of the file that other files decide with it."""
        return Table(self.project.log)

    @cached_property
    def _calls_by_name(self) -> Table:
        return Table(self.project.log)

    def calls_named(self, name: str) -> list[tuple[Scope, Statement, Any]]:
        """The calls whose last name is this one, each with its statement."""
        known = self._calls_by_name
        if name not in known:
            known[name] = super().calls_named(name)
        return cast("list[tuple[Scope, Statement, Any]]", known[name])

    def of_text(self, question: Hashable, answer: Callable[[str], Answer]) -> Answer:
        """What a function of the text alone says of it."""
        if question not in self._questions:
            self._questions[question] = answer, answer(self.source.text)
        return cast("Answer", self._questions[question][1])

    def of_itself(self, question: str, answer: Callable[[FileIndex], Answer]) -> Answer:
        """What a function of this file alone says of it."""
        return self.of_text(question, lambda _: answer(self))

    def scopes_where(self, question: str, answer: Callable[[FileIndex, Scope], bool]) -> list[Scope]:
        """The functions for which a function says so that looks at them and at the names of the file alone."""
        return self.of_itself(question, lambda file: FileIndex.scopes_where(file, question, answer))

    def evaluations_in(self, scope: Scope) -> list[evaluation.Candidate]:
        """The loops of one function that may evaluate a model and keep a graph for nothing."""
        return self.of_scope("evaluations", scope, lambda: list(evaluation.Finder(self).in_scope(scope)))

    @property
    def may_be_misaligned(self) -> bool:
        """Not asked: an edit would ask all files again, where what is remembered of each function is quick enough."""
        return True

    def layers_in(self, scope: Scope) -> list[layers.LayerSize]:
        """The Linear and Conv layers that one function makes."""
        return self.of_scope("layers", scope, lambda: layers.layers_in(scope, Sizes(self, self.scopes.module)))

    def of_scope(self, question: Hashable, scope: Scope, answer: Callable[[], Answer]) -> Answer:
        """What a function says of one function of the file, whatever it asks; no rows and offsets."""
        key = scope, question
        if key not in self._of_scopes:
            self._of_scopes[key] = answer()
        return cast("Answer", self._of_scopes[key])

    @cached_property
    def _of_scopes(self) -> Table:
        return Table(self.project.log)

    @cached_property
    def _questions(self) -> dict[Hashable, tuple[Callable[[str], Any], Any]]:
        return {}

    def take_over(self, other: FileIndex) -> None:
        """Take what another project's index of the same text remembers of the text alone."""
        known = vars(other)
        vars(self).update({name: known[name] for name in _OWN if name in known})


for _name in _FROM_OTHERS:
    setattr(KeptFile, _name, _tracked(_name, FileIndex))


class WatchedFile(KeptFile):
    """A file that is edited: whoever asks for what is in it is noted in the project's log."""

    source: _WatchedSource
    uses: Uses

    def __init__(self, source: Source, parts: tuple[str, ...], project: KeptProject) -> None:
        super().__init__(_WatchedSource.of(source), parts, project)
        path = source.path
        self._needs: dict[str, Need] = {name: (name, path) for name in (*_OF_TEXT, "names")}
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
        self.project.log.note(self._needs["names"])
        return cast("Names", vars(self)["scopes"].names)

    def of_text(self, question: Hashable, answer: Callable[[str], Answer]) -> Answer:
        """What a function of the text alone says of it."""
        self.project.log.note(("text", self.source.path, question))
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
        self.project.log.note(("where", self.source.path, question))
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
        start = len(self.project.log.asked)
        found = answer(self)
        del self.project.log.asked[start:]
        return found

    def calls_named(self, name: str) -> list[tuple[Scope, Statement, ast.Call]]:
        """The calls whose last name is this one, each with its statement."""
        log = self.project.log
        log.note(("calls", self.source.path, name))
        if name not in self._calls:
            start = len(log.asked)
            self._calls[name] = FileIndex.calls_named(self, name)
            del log.asked[start:]
        return self._calls[name]

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
        path, log, known = self.source.path, self.project.log, vars(self)
        before = {name: known[name] for name in (*_OF_TEXT, "scopes", "words", "uses")}
        if self._parsed is None or self._parsed[0] != text:
            self.parse(text)
        splice = self._parsed[1] if self._parsed is not None and isinstance(self._parsed[1], Splice) else None
        parsed = self._is_whole
        self._forget()
        self.source = _WatchedSource(path, text, self.source.encoding, self.source.bom)
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
        changed += [(name, path) for name in _OF_TEXT if before[name] != known[name]]
        if not same_names:
            changed.append(("names", path))
        changed += self._changed_answers(text)
        self.project.mentions.move(self, *_moved(before["words"].words, known["words"].words))
        for one, other in (
            (before["words"], known["words"]),
            *zip(_parts(before["uses"]), _parts(known["uses"]), strict=True),
        ):
            changed += one.changes(other.words)
        return changed

    def _note(self) -> None:
        """Note who asks for the text, the functions and the classes from now on."""
        watch(vars(self)["scopes"], self.source.path, self.project.log)
        need = self._needs["tree"]
        self.source.told = lambda: self.project.log.note(need)

    def _look(self) -> None:
        """Work out what the text alone says, which nobody has asked for."""
        log, known, source = self.project.log, vars(self), self.source
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
        known["words"] = Asked(self._pieces.words, log, (_WORD,))
        for name in _OF_TEXT:
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
        self.points.clear()
        self.reading_calls.clear()
        self._calls.clear()
        self.project.broken.pop(self.source.path, None)
        for name in _OWN:
            if name not in ("is_quiet", "module"):
                vars(self).pop(name, None)

    def _let_go(self, parts: Iterable[Scope | Class]) -> None:
        """Take apart what is gone: its parts point at one another, and the collector is not there to see it."""
        for part in parts:
            self.project.log.owned.pop(part, None)
            for table in vars(part).values():
                if isinstance(table, (dict, list)):
                    table.clear()


def _noted(name: str) -> property:
    """What a file remembers of its own text, or is given (``scopes``), with a note of who asks."""
    original: Any = vars(FileIndex)[name]
    work_out = original.func if isinstance(original, cached_property) else original.fget
    is_kept = isinstance(original, cached_property)

    def get(self: WatchedFile) -> Any:
        self.project.log.note(self._needs[name])
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


class _WatchedSource(Source):
    """A source that tells when somebody asks for its text (its path stays as it is)."""

    @classmethod
    def of(cls, source: Source) -> _WatchedSource:
        return cls(source.path, source.text, source.encoding, source.bom)

    @property
    def told(self) -> Callable[[], None] | None:
        """Called when somebody asks."""
        return cast("Callable[[], None] | None", vars(self).get("_told"))

    @told.setter
    def told(self, call: Callable[[], None]) -> None:
        vars(self)["_told"] = call

    @property
    def plain_text(self) -> str:
        """The text, without telling."""
        return cast("str", vars(self)["text"])

    @property
    def lines(self) -> LineTable:
        """The line table of the text."""
        _tell(self)
        known = vars(self)
        if "lines" not in known:
            known["lines"] = LineTable(known["text"])
        return cast("LineTable", known["lines"])


def _tell(source: _WatchedSource) -> None:
    told = vars(source).get("_told")
    if told is not None:
        told()


def _text(self: _WatchedSource) -> str:
    _tell(self)
    return cast("str", vars(self)["text"])


def _put_text(self: _WatchedSource, text: str) -> None:
    vars(self)["text"] = text


_WatchedSource.text = property(_text, _put_text)  # type: ignore[assignment]  # a field of its base, as a property here


def _moved(before: frozenset[str], after: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    return after - before, before - after


def _parts(known: Uses) -> tuple[Any, Any, Any]:
    return known.called, known.others, known.bases


class _KeptMentions(Mentions):
    """The inverted index of a project that is kept."""

    def __init__(self, files: Iterable[FileIndex], log: Log) -> None:
        super().__init__(files)
        self._log = log
        self._several = Table(log)
        self._other_names = Table(log)
        _ = self._by_word  # before anything notes who asks for words

    def of(self, *names: str) -> list[FileIndex]:
        self._log.asked.extend((_WORD, name) for name in names)
        return super().of(*names)

    def _with(self, word: str) -> list[FileIndex]:
        return self._by_word.get(word, [])

    def move(self, file: FileIndex, added: Iterable[str], removed: Iterable[str]) -> None:
        """Enter a file under words that it has gained, and take it out under those that it has lost."""
        known = cast("dict[str, list[FileIndex]]", self._by_word)
        for word in removed:
            known[word] = [other for other in known[word] if other is not file]
        for word in added:
            has_it = {id(other) for other in known.get(word, ())} | {id(file)}
            known[word] = [other for other in self._files if id(other) in has_it]


class KeptProject(Project):
    """The index of files that are checked again and again while some of them are edited.

    Args:
        sources: every readable file by path.
        loaders: the functions that make loaders, by qualified name.
        paths: the files that may be edited.
        known: an index of an earlier state; files with the same source are not parsed again.
    """

    def __init__(
        self,
        sources: Mapping[str, Source],
        loaders: Mapping[str, DeclaredCall],
        paths: frozenset[str] = frozenset(),
        known: Project | None = None,
    ) -> None:
        self.log = Log()
        self.paths = paths
        self._live: Live | None = None
        self._earlier = known.files if known is not None else {}
        super().__init__(sources, loaders)
        self._earlier = {}
        for name, value in vars(self).copy().items():
            if type(value) is dict and name not in ("files", "broken", "_modules", "loaders", "_earlier"):
                registry = name in ("_classes", "_functions")
                vars(self)[name] = Registry(self.log) if registry else Table(self.log)
        self.mentions: _KeptMentions = _KeptMentions(self.files.values(), self.log)
        self._homes: dict[Scope, FileIndex] = {}
        for path in paths:
            self.watched(path).open()
        self._set_again()

    def _add(self, source: Source, parts: tuple[str, ...]) -> None:
        made: KeptFile = (WatchedFile if source.path in self.paths else KeptFile)(source, parts, self)
        before = self._earlier.get(source.path)
        if before is not None and before.source is source and source.path not in self.paths:
            made.take_over(before)
            if source.path in before.project.broken:
                self.broken[source.path] = before.project.broken[source.path]
        self.files[source.path] = made
        self._modules[parts[:-1] if parts[-1] == "__init__" else parts] = made

    @property
    def live(self) -> Live:
        """Which files can hold a step loop, and which functions may train."""
        self.log.note(_LIVE)
        if self._live is None:
            start = len(self.log.asked)
            self._live = Live(self)
            _ = self._live.files  # which is asked for later, but as a part of it
            del self.log.asked[start:]
        return self._live

    def _what_may_train(self, file: FileIndex) -> list[Need]:
        """Look again where an edit adds to it; what is not as it was."""
        before = self._live
        if before is None or before.covers(file, text_alone=self.watched(file.source.path).is_as_it_was):
            return []
        self._live = None
        return [] if before.same(self.live) else [_LIVE]

    @cached_property
    def facts(self) -> Table:
        """What was worked out of all files."""
        return Table(self.log)

    def watched(self, path: str) -> WatchedFile:
        """A file that may be edited."""
        file = self.files[path]
        assert isinstance(file, WatchedFile)
        return file

    def _of(self, answer: Callable[[FileIndex, Scope], object]) -> Callable[[Scope], object]:
        """A question about a function of a file, for those that are still there."""

        def again(scope: Scope) -> object:
            file = self._home(scope)
            return answer(file, scope) if file is not None else None

        return again

    def _home(self, scope: Scope) -> FileIndex | None:
        """The file of a function; None where it is gone."""
        need = self.log.owned.get(scope)
        if need is not None:
            return self.files[cast("str", need[1])]
        if scope not in self._homes and not isinstance(scope, WatchedScope):
            self._homes = {
                one: file
                for path, file in self.files.items()
                if file.is_parsed and path not in self.paths
                for one in file.scopes.scopes
            }
        return self._homes.get(scope)

    def _set_again(self) -> None:
        """Tell the tables how to work out one of their answers by itself."""
        parts: list[tuple[object, str, Callable[[Any], object]]] = [
            (self, "_attributes", lambda key: self.attribute(*key)),
            (self, "_optimizes", self.optimizes),
            (self.callers, "_handed", self._of(lambda _, scope: self.callers.handed(scope))),
            (self.no_grad, "_held", lambda key: self._of(partial(self.no_grad.over_scope, guesses=key[1]))(key[0])),
            (self.gradients, "_known", self._of(self.gradients.wanted_in)),
            (self.settled, "_stores_of", self.settled._stored_in),
            (self.training_calls, "_trains", self._of(self.trains)),
        ]
        for owner, name, again in parts:
            table = vars(owner)[name]
            assert isinstance(table, Table)
            table.again = again

    def _definitions_in(self, path: str) -> Mapping[str, tuple[FileIndex, Scope | Class]]:
        """The functions and classes of a file, by the names that registries have for them."""
        file = self.watched(path)
        scopes: FileScopes = vars(file)["scopes"]
        found: dict[str, tuple[FileIndex, Scope | Class]] = {}
        for scope in scopes.scopes:
            found[f"{file.module}:{scope.qualname}"] = file, scope
        for owner in (*(scope.owner for scope in scopes.scopes if scope.owner), *scopes.classes.values()):
            found[f"{file.module}.{owner.qualname}"] = file, owner
        return found

    def _renew(self, file: FileIndex, now: Mapping[str, tuple[FileIndex, Scope | Class]]) -> None:
        for registry in (self._classes, self._functions):
            cast("Registry", registry).renew(file, now)

    def _outdate(self, path: str, changed: Iterable[Need]) -> None:
        """Let go of answers that hold nodes which are gone, or rows and offsets in an edited file."""
        renewed = self.watched(path).renewed
        if renewed is None:
            self.log.outdate(self.log.needs_of(path))
            return
        self.log.outdate([*changed, *renewed])
        self.log.outdate(self.log.needs_of(path), moved=True)

    def replace(self, path: str, text: str) -> list[Entry]:
        """Put another text in the place of a watched file's; the answers that had to be forgotten."""
        file, before, known = self.watched(path), dict(self.facts), self._definitions_in(path)
        changed = [*file.replace(text), *self._what_may_train(file)]
        now = self._definitions_in(path)
        changed += Registry.met(known if file.is_grafted else (), now)
        self._renew(file, now)
        self._outdate(path, changed)  # first: the nodes of the old tree are gone
        dropped = self.log.dropped(changed)
        self._renew(file, now)  # again: an answer that is out of date by now may have met what is gone meanwhile
        while outdated := [name for name in before if not dict.__contains__(self.facts, name)]:
            for name in outdated:
                assert getattr(self, name) is not None  # which works it out
                answer = dict.__getitem__(self.facts, name)
                dropped += self.log.dropped(_changed_answers(name, before[name], answer))
                before[name] = answer
        return dropped


class _ByPath(Mapping[str, Any]):
    """An answer that is asked file by file; who asks needs no more of it than what it says of that file."""

    def __init__(self, name: str, answer: Mapping[str, Any], log: Log) -> None:
        self._name = name
        self._answer = answer
        self._log = log

    def __getitem__(self, path: str) -> Any:
        self._log.note(("answer", self._name, path))
        return self._answer[path]

    def __iter__(self) -> Iterator[str]:
        self._log.note(("answer", self._name))
        return iter(self._answer)

    def __len__(self) -> int:
        self._log.note(("answer", self._name))
        return len(self._answer)


def _changed_answers(name: str, before: Any, now: Any) -> list[Need]:
    """What needs an answer of the whole project that is not as it was."""
    if before == now:
        return []
    paths = sorted(before.keys() | now.keys()) if name in _BY_PATH else ()
    return [("answer", name), *(("answer", name, path) for path in paths if before.get(path) != now.get(path))]


def _answer(name: str) -> property:
    """A cached property of the whole project; who asks needs its value, whatever that was worked out from."""
    original: cached_property[Any] = vars(Project)[name]

    def get(self: KeptProject) -> Any:
        if name not in _BY_PATH:
            self.log.note(("answer", name))
        start = len(self.log.asked)
        if name not in self.facts:
            self.facts[name] = original.func(self)
        del self.log.asked[start:]
        answer = dict.__getitem__(self.facts, name)
        return _ByPath(name, answer, self.log) if name in _BY_PATH else answer

    return property(get, doc=original.__doc__)


def _service(name: str) -> cached_property[Any]:
    """A cached property whose value remembers answers itself."""
    original: cached_property[Any] = vars(Project)[name]

    def get(self: KeptProject) -> Any:
        made = original.func(self)
        for key, value in vars(made).copy().items():
            if type(value) is dict and not value:  # what is filled from the start stays
                vars(made)[key] = Table(self.log)
        lazy = [key for key, value in vars(type(made)).items() if isinstance(value, cached_property)]
        if lazy:
            vars(made)["facts"] = Table(self.log)
            made.__class__ = type(type(made).__name__, (type(made),), {key: _tracked(key, type(made)) for key in lazy})
        return made

    found = cached_property(get)
    found.__set_name__(KeptProject, name)
    return found


for _name, _part in list(vars(Project).items()):
    if isinstance(_part, cached_property) and _name != "live":
        setattr(KeptProject, _name, _answer(_name) if _name in _WHOLE else _service(_name))
