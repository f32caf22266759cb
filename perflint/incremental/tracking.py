"""What each remembered answer was worked out from, so that an edit drops those that it may change and no others.

A ``Log`` notes what is asked while an answer is worked out: the contents of a watched file, a word that files may hold,
and other answers.  A ``Table`` is one of the index's dicts of remembered answers that does so by itself.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import partial
from typing import Any, TypeAlias

from perflint.index.kinds import Kind
from perflint.query import Memory, Question
from perflint.syntax.scopes import Class, Scope, Statement

Part = tuple[Hashable, ...]
"""A part of a file by name: its kind, the path (or the word) that it is about, and what else there is to say."""
Need: TypeAlias = "Remembered | Part"
"""Something that an answer was worked out from: another answer, or a part of a file."""

_MISSING = "missing"
_MOST_ROUNDS = 3
"""How often an answer is worked out again after one edit, where answers need one another."""


class Remembered:
    """One remembered answer: where it is kept, what it needs, and which answers need it."""

    __slots__ = ("dependents", "key", "needs", "said", "table")

    def __init__(self, table: Table, key: Hashable) -> None:
        self.table = table
        self.key = key
        self.needs: dict[Need, None] = {}  # no set: in which order answers are worked out again must not depend on ids
        self.dependents: dict[Remembered, None] = {}
        self.said: tuple[object, bool, bool] = (None, True, True)
        """What it said when that was looked at last, and whether that ``lasts`` and ``stays``."""

    def says_the_same(self, value: object, moved: bool) -> bool:
        """Whether an answer is right after an edit that changed nothing but where its nodes are (or are not ``moved``).

        A value does not change once it is there, so it is looked at once.
        """
        if self.said[0] is not value:
            remains = lasts(value)
            self.said = value, remains, remains or stays(value)
        _, remains, follows = self.said
        return follows if moved else remains


class Log:
    """What has been asked so far, innermost answer last."""

    def __init__(self) -> None:
        self.asked: list[Need] = []
        self.owned: dict[object, Part] = {}
        """Functions and classes of watched files, with what an answer about them needs at least."""
        self.tables: list[Table] = []
        self._dependents: dict[Need, dict[Remembered, None]] = {}
        self._of_path: dict[object, dict[Need, None]] = {}
        """What is needed, by the path (or the word) that it is about."""

    def note(self, need: Need) -> None:
        """Say that something is asked."""
        asked = self.asked
        if not asked or asked[-1] is not need:
            asked.append(need)

    def take(self, start: int, entry: Remembered) -> None:
        """Let an answer need all that was asked since ``start`` (a length of ``asked``), and stand for it."""
        asked = self.asked
        if len(asked) > start:
            for need in dict.fromkeys(asked[start:]):
                if need is not entry and need not in entry.needs:
                    entry.needs[need] = None
                    (need.dependents if isinstance(need, Remembered) else self._needing(need))[entry] = None
            del asked[start:]
        if entry.needs:
            asked.append(entry)

    def _needing(self, need: Part) -> dict[Remembered, None]:
        """The answers that need a part of a file."""
        known = self._dependents.get(need)
        if known is None:
            known = self._dependents[need] = {}
            self._of_path.setdefault(need[1], {})[need] = None
        return known

    def dropped(self, needs: Iterable[Need]) -> list[Remembered]:
        """Work out again what needs one of these, or forget it where it cannot be worked out by itself; the forgotten.

        An answer that comes out as it was leaves those alone that need it.
        """
        found: dict[Remembered, None] = {}
        queue = list(dict.fromkeys(entry for need in needs for entry in self._dependents.get(need, ())))
        rounds: dict[Remembered, int] = {}
        while queue:
            entry = queue.pop()
            if entry in found:
                continue
            dependents = list(entry.dependents)
            rounds[entry] = rounds.get(entry, 0) + 1
            if rounds[entry] <= _MOST_ROUNDS and self._comes_out_the_same(entry):
                continue
            if rounds[entry] > _MOST_ROUNDS or not entry.table.is_filled(entry.key):
                found[entry] = None
                self.cut(entry)
                entry.table.forget(entry.key)
            queue += dependents
        return list(found)

    def _comes_out_the_same(self, entry: Remembered) -> bool:
        """Work an answer out again, and look; its table has none any more where that cannot be done."""
        table, key = entry.table, entry.key
        before = dict.pop(table, key, None)
        if table.again is None or before is None or not lasts(before):
            return False
        self.cut(entry)
        start = len(self.asked)
        table.again(key)
        del self.asked[start:]
        return table.is_filled(key) and bool(dict.__getitem__(table, key) == before)

    def outdate(self, needs: Iterable[Need], moved: bool = False) -> None:
        """Work out again, when it is asked for, what holds places in the code that these stand for.

        The answer says the same in the end, so nothing that needs it is dropped.  ``moved``: the nodes are still there,
        and only where they stand is not as it was.
        """
        found: dict[Remembered, None] = {}
        queue = [entry for need in needs for entry in self._dependents.get(need, ())]
        while queue:
            entry = queue.pop()
            if entry not in found:
                found[entry] = None
                queue += entry.dependents
        for entry in found:
            table, key = entry.table, entry.key
            if table.is_filled(key) and not entry.says_the_same(dict.__getitem__(table, key), moved):
                entry.said = (None, True, True)
                dict.__delitem__(table, key)

    def needs_of(self, path: str) -> list[Need]:
        """What answers need of one file: its parts are tuples of a kind, the path and what else there is to say."""
        return list(self._of_path.get(path, ()))

    def cut(self, entry: Remembered) -> None:
        """Let an answer need nothing."""
        for need in entry.needs:
            dependents = need.dependents if isinstance(need, Remembered) else self._dependents.get(need)
            if dependents is not None:
                dependents.pop(entry, None)
                if not dependents and not isinstance(need, Remembered):
                    del self._dependents[need]
                    self._of_path[need[1]].pop(need, None)
        entry.needs.clear()

    def rest(self) -> None:
        """Between two questions from outside: nothing is being worked out."""
        self.asked.clear()
        for table in self.tables:
            table.rest()


class Table(dict[Any, Any]):
    """Remembered answers that know what they were worked out from.

    Works with ``if key not in table: table[key] = work_out(key)``, with or without a first answer for questions that
    lead back to themselves: whatever is asked between the miss and the last store belongs to the answer.
    """

    def __init__(self, log: Log) -> None:
        super().__init__()
        self.again: Callable[[Any], object] | None = None
        """Works the answer to one question out again."""
        self._log = log
        self._entries: dict[Hashable, Remembered] = {}
        self._starts: dict[Hashable, int] = {}
        log.tables.append(self)

    def __contains__(self, key: object) -> bool:
        if dict.__contains__(self, key):
            self._hit(key)
            return True
        self._starts[key] = len(self._log.asked)
        return False

    def __getitem__(self, key: Hashable) -> Any:
        self._hit(key)
        return dict.__getitem__(self, key)

    def get(self, key: Hashable, default: Any = None) -> Any:
        """The answer, if there is one."""
        return dict.__getitem__(self, key) if key in self else default

    def __setitem__(self, key: Hashable, value: Any) -> None:
        dict.__setitem__(self, key, value)
        start = self._starts.get(key)
        if start is None:
            return
        log = self._log
        for part in key if type(key) is tuple else (key,):  # tuples are keys of several parts
            owner = log.owned.get(part)
            if owner is not None:
                log.asked.append(owner)
        entry = self._entries.get(key)
        if entry is None:
            if len(log.asked) <= start:
                return
            entry = self._entries[key] = Remembered(self, key)
        log.take(start, entry)

    def credit(self, key: Hashable, start: int) -> None:
        """Let an answer that has no value need all that was asked since ``start``."""
        dict.__setitem__(self, key, None)
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = Remembered(self, key)
        self._log.take(start, entry)

    def _hit(self, key: Hashable) -> None:
        entry = self._entries.get(key)
        if entry is not None and entry.needs:
            self._log.note(entry)

    def forget(self, key: Hashable) -> None:
        """Drop one answer."""
        self._entries.pop(key, None)
        self.pop(key, None)

    def is_filled(self, key: Hashable) -> bool:
        """Whether there is an answer (which this does not count as asking for)."""
        return dict.__contains__(self, key)

    def release(self, key: Hashable) -> None:
        """Drop one answer that nothing needs."""
        entry = self._entries.get(key)
        if entry is not None:
            self._log.cut(entry)
        self.forget(key)

    def rest(self) -> None:
        """Nothing is being worked out."""
        self._starts.clear()


class WholeTable(Table):
    """The one answer to a question about all files: who asks needs its value, whatever that was worked out from."""

    def __init__(self, log: Log, question: Question) -> None:
        super().__init__(log)
        self.question = question
        self._name = f"{question.__module__}.{question.__qualname__}"

    def __contains__(self, key: object) -> bool:
        if dict.__contains__(self, key):
            return True
        self._starts[key] = len(self._log.asked)
        return False

    def __setitem__(self, key: Hashable, value: Any) -> None:
        super().__setitem__(key, value)
        if key in self._starts:
            del self._log.asked[self._starts[key] :]

    def __getitem__(self, key: Hashable) -> Any:
        answer = dict.__getitem__(self, key)
        if self.question.by_path:
            return _ByPath(self._name, answer, self._log)
        self._log.note(("answer", self._name))
        return answer

    def changes(self, before: Any) -> list[Need]:
        """What is no longer so where the answer takes the place of this one."""
        now = dict.__getitem__(self, ())
        if before == now:
            return []
        paths = sorted(before.keys() | now.keys()) if self.question.by_path else ()
        changed = [path for path in paths if before.get(path) != now.get(path)]
        return [("answer", self._name), *(("answer", self._name, path) for path in changed)]


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


class TrackedMemory(Memory):
    """The remembered answers of a project whose files are edited; ``log`` notes what they are worked out from."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self.log = log
        self.registries: list[Registry] = []

    def registry(self) -> Registry:
        """A table of what was met, which notes who asks for it."""
        self.registries.append(Registry(self.log))
        return self.registries[-1]

    @property
    def whole(self) -> list[WholeTable]:
        """The tables of questions about all files."""
        return [table for table in self.values() if isinstance(table, WholeTable)]

    def table(self, question: Question | None = None) -> Table:
        """A table that notes what its answers are worked out from."""
        if question is not None and question.whole:
            return WholeTable(self.log, question)
        table = Table(self.log)
        if question is not None and question.again:
            table.again = partial(self._ask_again, question)
        return table

    def _ask_again(self, question: Question, key: tuple[object, ...]) -> None:
        """Ask a question again, unless it is about something that is gone."""
        if all(part in self.log.owned or not self._is_watched(part) for part in key):
            question(*key)

    def _is_watched(self, part: object) -> bool:
        return isinstance(part, (Scope, Class)) and "noted" in vars(part)


def lasts(value: object) -> bool:
    """Whether an answer says nothing of places in the code: no nodes, no rows, no offsets."""
    if (
        value is None
        or isinstance(value, (bool, str, Enum, Kind, Scope, Class))
        or type(value).__name__.endswith("File")
    ):
        return True
    if isinstance(value, (tuple, list, set, frozenset)):
        return all(map(lasts, value))
    if isinstance(value, Mapping):
        return all(lasts(key) and lasts(item) for key, item in value.items())
    return False


def stays(value: object) -> bool:
    """Whether an answer says nothing of rows and offsets: whatever nodes it holds move with their function.

    An object that knows by itself says so in ``moves_along``.
    """
    if lasts(value) or isinstance(value, (ast.AST, Statement)):
        return True
    if hasattr(value, "moves_along"):
        return bool(value.moves_along)
    if isinstance(value, (tuple, list, set, frozenset)):
        return all(map(stays, value))
    if isinstance(value, Mapping):
        return all(stays(key) and stays(item) for key, item in value.items())
    return is_dataclass(value) and all(stays(getattr(value, part.name)) for part in fields(value))


class Registry(dict[Any, Any]):
    """A table of what was met, by name: each value begins with the file that it belongs to."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def get(self, key: Hashable, default: Any = None) -> Any:
        """What was met by this name."""
        value = dict.get(self, key, default)
        if value is None:
            self._log.note((_MISSING, key))
            return None
        need = self._log.owned.get(value[1])
        if need is not None:
            self._log.note(need)
        return value

    def renew(self, file: object, now: Mapping[str, Any]) -> None:
        """Let a name stand for what a file has by it ``now``; forget what the file does not have any more."""
        there = self._log.owned
        for key in [key for key, value in self.items() if value and value[0] is file and value[1] not in there]:
            if key in now:
                self[key] = now[key]
            else:
                del self[key]

    @staticmethod
    def met(before: Container[str], now: Iterable[str]) -> list[Need]:
        """What answers need that were worked out while these names stood for nothing."""
        return [(_MISSING, key) for key in now if key not in before]


class Asked:
    """A set of words that notes which words are asked for; as a whole it counts as one word more, ``""``."""

    def __init__(self, words: frozenset[str], log: Log, name: tuple[str, ...]) -> None:
        self.words = words
        self._log = log
        self._name = name

    def __contains__(self, word: object) -> bool:
        self._log.asked.append((*self._name, word))
        return word in self.words

    def __iter__(self) -> Iterator[str]:
        self._log.asked.append((*self._name, ""))
        return iter(self.words)

    def isdisjoint(self, others: Iterable[str]) -> bool:
        """Whether none of these words is there."""
        others = list(others)
        self._log.asked.extend((*self._name, word) for word in others)
        return self.words.isdisjoint(others)

    def __ge__(self, others: Any) -> bool:
        return all(word in self for word in others)

    def __len__(self) -> int:
        return len(self.words)

    def changes(self, words: frozenset[str]) -> list[Need]:
        """What is no longer so where these words take the place of the old ones."""
        changed = self.words ^ words
        return [(*self._name, word) for word in (*changed, *([""] if changed else []))]
