"""A memory that knows what each answer depends on, a small version of salsa in rust-analyzer.

A *part* is something that an edit may change: the text of a file, the contents of a function, the files with a word.
While an answer is computed, the parts and other answers that it uses are recorded as its *needs*. An edit increases the
revision number and records which parts it has changed; no answer is touched. When an answer is used again, its needs
are checked in the order in which they were used: it is still right if none of them has changed. Another answer counts
as changed only if computing it again gives a different result. A right answer is not computed again:

    text of a.py  ->  names of a.py  ->  who calls train()
                      the same after an edit of a number: so is the last one
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

from perflint.query import Memory, Question

Part = Hashable
"""The name of a part of a file, or of all files: ``("a.py", "text")``, a function, a class."""


class Answer:
    """One remembered answer that an edit may change.

    ``right_at``: the last revision in which it was known to be right. ``changed_at``: the revision in which it got its
    current value. ``is_out``: it is wrong, and may currently be computed again.
    """

    __slots__ = ("changed_at", "is_out", "key", "needs", "right_at", "table", "value")

    def __init__(self, table: Answers, key: Any, changed_at: int) -> None:
        self.table = table
        self.key = key
        self.changed_at = changed_at
        self.right_at = changed_at
        self.is_out = False
        self.needs: tuple[Answer | Part, ...] = ()
        self.value: Any = None


def _asked_about(key: tuple[Hashable, ...]) -> Iterator[Hashable]:
    """What a question is about: its arguments, and what is in them, such as the function of a place."""
    for argument in key:
        yield argument
        if isinstance(argument, tuple):
            yield from argument


class RevisedMemory(Memory):
    """The remembered answers of a project whose files are edited."""

    def __init__(self) -> None:
        super().__init__()
        self.revision = 0
        self._changed_at: dict[Part, int] = {}
        self._tables: list[Answers] = []

    def table(self, question: Question | None = None) -> Answers:
        """A table that records what its answers need."""
        self._tables.append(Answers(self, question))
        return self._tables[-1]

    def note(self, part: Part) -> None:
        """Note that a part of a file is used."""
        self.asked.append(part)

    def keep(self, answers: dict[Any, Any], key: Any, answer: Any, start: int) -> None:
        """Store an answer, whose needs are everything used since its start; from now on it replaces them."""
        answers[key] = answer
        needs = tuple(dict.fromkeys(self.asked[start:]))
        if needs:
            assert isinstance(answers, Answers)
            self.asked[start:] = [answers.noted(key, answer, needs)]

    def change(self, parts: Iterable[Part]) -> None:
        """Begin a revision in which these parts have changed."""
        self.revision += 1
        self._changed_at.update(dict.fromkeys(parts, self.revision))

    def is_right(self, answer: Answer) -> bool:
        """Whether an answer is still right; updates what it needs.

        This does not recurse: answers may need one another in a long chain.
        """
        if answer.right_at == self.revision:
            return True
        start = len(self.asked)
        tried = {answer}
        waiting = [(answer, [*reversed(answer.needs)])]
        while waiting:
            each, needs = waiting[-1]
            need = needs[-1] if needs else None
            if need is None:
                each.right_at = self.revision
                waiting.pop()
            elif need.__class__ is Answer and need.right_at != self.revision and not (need in tried or need.is_out):
                tried.add(need)
                waiting.append((need, [*reversed(need.needs)]))
            elif self._has_changed(need, each.right_at):
                waiting.pop()
                if each is not answer:
                    each.table.renew(each.key)
            else:
                needs.pop()
        # later answers may depend on which of these were used, without asking for what they need
        if not self.provisional:
            del self.asked[start:]
        return answer.right_at == self.revision

    def _has_changed(self, need: Answer | Part, since: int) -> bool:
        if isinstance(need, Answer):
            return need.right_at != self.revision or need.changed_at > since
        return self._changed_at.get(need, 0) > since

    def rest(self) -> None:
        """Called between two questions from outside, when nothing is being computed."""
        self.asked.clear()
        for table in self._tables:
            table.out.clear()

    def forget(self, gone: frozenset[Part]) -> None:
        """Forget the answers about parts that no longer exist, and answers that need them."""
        if not gone:
            return
        for table in self._tables:
            for answer in table.keep(
                lambda each: gone.isdisjoint(each.needs) and gone.isdisjoint(_asked_about(each.key))
            ):
                answer.changed_at, answer.needs = self.revision, ()

    def sweep(self, since: int) -> None:
        """Forget answers not used since a revision, after which every question has been asked at least once."""
        for table in self._tables:
            table.keep(lambda answer: answer.right_at >= since)
        self._changed_at = {part: revision for part, revision in self._changed_at.items() if revision > since}


class Answers(dict[Any, Any]):
    """The answers to one question, used as ``if key not in answers: memory.keep(answers, key, ...)``.

    Answers that no edit can change are stored as in any dict.
    """

    def __init__(self, memory: RevisedMemory, question: Question | None) -> None:
        super().__init__()
        self.out: dict[Any, Answer] = {}
        """The answers that are wrong, as long as they may be computed again."""
        self._memory = memory
        self._question = question
        self._known: dict[Any, Answer] = {}

    def renew(self, key: Any) -> None:
        """Compute an answer again, if it is known how."""
        if self._question is not None:
            self.pop(key, None)
            self._question(*key)

    def __contains__(self, key: object) -> bool:
        memory = self._memory
        answer = self._known.get(key)
        if super().__contains__(key):
            if answer is None:
                return True
            if memory.is_right(answer) and super().__contains__(key):  # a cycle may have dropped it meanwhile
                memory.note(answer)
                return True
            self.pop(key, None)
        answer = self._known.pop(key, None)
        if answer is not None:
            answer.is_out = True
            self.out[key] = answer
        return False

    def noted(self, key: Any, value: Any, needs: tuple[Answer | Part, ...]) -> Answer:
        """An answer with what it needs; the same object if it existed and was wrong."""
        revision = self._memory.revision
        answer = self.out.pop(key, None) or Answer(self, key, revision)
        if answer.needs and answer.value != value:
            answer.changed_at = revision
        answer.value, answer.needs, answer.right_at, answer.is_out = value, needs, revision, False
        self._known[key] = answer
        return answer

    def keep(self, is_wanted: Callable[[Answer], bool]) -> list[Answer]:
        """Forget the answers that are not wanted, and return these."""
        others = [answer for answer in self._known.values() if not is_wanted(answer)]
        for answer in others:
            del self._known[answer.key]
            self.pop(answer.key, None)
        return others
