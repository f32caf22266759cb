"""What becomes of a value: the uses that the search forward finds, and when it says that there may be more."""

from __future__ import annotations

from perflint.flow.resolving import opened
from perflint.flow.uses import Use, UseKind, UseSearch, uses
from perflint.index.project import Place
from tests.support import sources


class Everything(UseSearch):
    """Follows a value through all expressions, names, calls and returns."""

    everywhere = True

    def passes(self, use: Use) -> bool:
        return use.kind not in (UseKind.ARGUMENT, UseKind.COMPARED)

    def follows(self, use: Use) -> bool:
        return use.kind in (UseKind.BOUND, UseKind.ARGUMENT, UseKind.RETURNED, UseKind.STORED)


def found(text: str, budget: int = 100) -> list[tuple[UseKind, int]]:
    """The kind and the row of each use of what ``made()`` returns."""
    [file] = opened(sources(text)).files.values()
    [(scope, statement, call)] = file.calls_named("made")
    at = Place(file, scope, statement)
    return [(use.kind, use.statement.node.lineno) for use in uses(call, at, through=Everything(), budget=budget)]


def test_a_value_is_followed_to_the_callers_and_into_what_is_called() -> None:
    text = """\
def build():
    return made() + 1

def show(value):
    if value > 3:
        raise ValueError

def main():
    number = build()
    show(number)
"""
    assert found(text) == [(UseKind.BOUND, 9), (UseKind.COMPARED, 5)]


def test_a_value_that_goes_in_circles_is_followed_once() -> None:
    text = """\
def main():
    value = made()
    while value > 3:
        value = value + 1
"""
    assert found(text) == [(UseKind.BOUND, 2), (UseKind.COMPARED, 3), (UseKind.BOUND, 4)]


def test_a_question_ends_with_its_budget() -> None:
    rows = "".join(f"    a{number + 1} = a{number}\n" for number in range(50))
    text = f"def main():\n    a0 = made()\n{rows}    print(a50)\n"
    assert found(text)[-1] == (UseKind.ARGUMENT, 53)
    assert found(text, budget=10)[-1] == (UseKind.LOST, 12)
