"""Tests that let lines run only now and then, in all the ways that people write them."""

from __future__ import annotations

from tests.programs.draft import Draft, Lines, inside

_COUNTED = (
    "{s} % {n} == 0",
    "not {s} % {n}",
    "({s} + 1) % {n} == 0",
    "{s} % {n} == {n} - 1",
    "0 == {s} % {n}",
    "{s} % {n} < 1",
    "{s} > 0 and {s} % {n} == 0",
    "{s} % {n} == 0 and {s} != 0",
    "{s} and not {s} % {n}",
    "{s} == 0 or ({s} + 1) % {n} == 0",
    "{s} // {n} * {n} == {s}",
    "divmod({s}, {n})[1] == 0",
    "{s} in (0, 5, 15)",
    "{s} == 3",
    "{s} < 2",
    "verbose and {s} % {n} == 0",
    "{s} % (2 * {n}) == 0",
    "bool({s} % {n} == 0)",
    "{s} & 3 == 0",
    "not ({s} % {n} != 0)",
)
_SIZED = (
    "{s} % {n} == 0 or {s} == len({loader}) - 1",
    "({s} > 0 and {s} % {n} == 0) or {s} >= len({loader}) - 1",
    "{s} == len({loader}) - 1",
    "{s} + 1 == len({loader})",
    "{s} % max(1, len({loader}) // {n}) == 0",
)
_IS_DUE = """\
def is_due(number, every):
    return number % every == 0
"""
_SHOULD_LOG = """\
def should_log(number):
    if number == 0:
        return True
    return (number + 1) % LOG_EVERY == 0
"""
_EVERY = """\
class Every:
    def __init__(self, count):
        self.count = count
        self.seen = 0

    def __call__(self):
        self.seen += 1
        return self.seen % self.count == 0
"""


def guarded(draft: Draft, lines: Lines) -> Lines:
    """Lines under a periodic test, or behind one that skips the rest of the step."""
    ways = [_own_count, _class, _counting_test]
    if draft.counter:
        ways += [_plain, _plain, _plain, _named, _helper, _constant, _else, _nested, _next_time]
    return draft.one(ways)(draft, lines)


def skipping(draft: Draft, lines: Lines) -> Lines:
    """Lines at the end of a step, behind a ``continue``."""
    if not draft.counter:
        return guarded(draft, lines)
    n = draft.one((2, 4, 5, 10))
    test = draft.one((f"{draft.counter} % {n}", f"{draft.counter} % {n} != 0", f"not {draft.counter} % {n} == 0"))
    return [*inside(f"if {test}:", ["continue"]), *lines]


def test(draft: Draft) -> str:
    """A periodic test of the step's number."""
    spellings = [*_COUNTED, *(_SIZED if draft.sized else ())]
    spelling: str = draft.one(spellings)
    return spelling.format(s=draft.counter, n=draft.one((2, 3, 4, 5, 10)), loader=draft.loader)


def _plain(draft: Draft, lines: Lines) -> Lines:
    return inside(f"if {test(draft)}:", lines)


def _named(draft: Draft, lines: Lines) -> Lines:
    name = draft.new("log_now", "due", "is_last", "show", "flag")
    return [f"{name} = {test(draft)}", *inside(f"if {name}:", lines)]


def _helper(draft: Draft, lines: Lines) -> Lines:
    if draft.often(0.5):
        draft.helper("is_due", _IS_DUE)
        return inside(f"if is_due({draft.counter}, {draft.one((2, 5, 10))}):", lines)
    draft.helper("LOG_EVERY", "LOG_EVERY = 5\n")
    draft.helper("should_log", _SHOULD_LOG)
    return inside(f"if should_log({draft.counter}):", lines)


def _constant(draft: Draft, lines: Lines) -> Lines:
    draft.helper("LOG_EVERY", "LOG_EVERY = 5\n")
    return inside(f"if {draft.counter} % LOG_EVERY == 0:", lines)


def _else(draft: Draft, lines: Lines) -> Lines:
    return [*inside(f"if {draft.counter} % {draft.one((2, 5))}:", ["pass"]), *inside("else:", lines)]


def _nested(draft: Draft, lines: Lines) -> Lines:
    inner = inside(f"if {test(draft)}:", lines)
    return inside(draft.one(("if verbose:", "if model.training:", f"if {draft.counter} >= 0:")), inner)


def _next_time(draft: Draft, lines: Lines) -> Lines:
    name = draft.new("next_log", "next_time")
    draft.before.append(f"{name} = 4")
    return inside(f"if {draft.counter} == {name}:", [f"{name} += 4", *lines])


def _own_count(draft: Draft, lines: Lines) -> Lines:
    name = draft.new("since", "seen", "pending")
    draft.top.append(f"{name} = 0")
    n = draft.one((3, 5))
    return [f"{name} += 1", *inside(f"if {name} == {n}:", [f"{name} = 0", *lines])]


def _counting_test(draft: Draft, lines: Lines) -> Lines:
    """A test that counts by itself, so that it must run at each step; something sees how far it has come."""
    name = draft.new("ticks", "calls_so_far", "turns")
    draft.plain.add(name)
    n = draft.one((2, 3, 5))
    if draft.often(0.5):
        draft.top.append(f"{name} = iter(range(100000))")
        draft.after.append(f"print('turn', next({name}))")
        return inside(f"if next({name}) % {n} == 0:", lines)
    draft.top.append(f"{name} = 0")
    draft.after.append(f"print('turns', {name})")
    return inside(f"if ({name} := {name} + 1) % {n} == 0:", lines)


def _class(draft: Draft, lines: Lines) -> Lines:
    draft.helper("Every", _EVERY)
    name = draft.new("due", "ticker")
    draft.top.append(f"{name} = Every({draft.one((3, 5))})")
    return inside(f"if {name}():", lines)
