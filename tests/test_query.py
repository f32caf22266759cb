"""Answers that are remembered: worked out once, and the same whichever was asked first."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field

import pytest

from perflint.query import CircularQueryError, Memory, query


@dataclass(eq=False)
class Graph:
    """Nodes with the nodes that each leads to, and the nodes that are marked; counts what is worked out."""

    edges: dict[str, str]
    marked: str = ""
    memory: Memory = field(default_factory=Memory)
    worked_out: list[str] = field(default_factory=list)

    @query(cycle=False)
    def leads_to_a_mark(self, node: str) -> bool:
        """Whether a mark can be reached from a node."""
        self.worked_out.append(node)
        return node in self.marked or any(self.through(node, other) for other in self.edges.get(node, ""))

    @query
    def through(self, node: str, other: str) -> bool:
        """Whether a mark can be reached over one edge."""
        return self.leads_to_a_mark(other)

    @query(cycle=0)
    def steps(self, node: str) -> int:
        """How often a node leads on before it ends, 9 at most."""
        return min(max((self.steps(other) + 1 for other in self.edges.get(node, "")), default=0), 9)


def test_an_answer_is_worked_out_once() -> None:
    graph = Graph({"a": "bc", "b": "d", "c": "d"}, marked="d")
    assert graph.leads_to_a_mark("a") and graph.leads_to_a_mark("a") and graph.leads_to_a_mark("b")
    assert graph.worked_out == ["a", "b", "d"]


CIRCLES = [
    {"f": "g", "g": "f"},
    {"f": "gm", "g": "f"},
    {"a": "b", "b": "c", "c": "abm", "d": "c"},
    {"a": "bc", "b": "ac", "c": "abm"},
    {"a": "a"},
    {"a": "am"},
    {"a": "bcde", "b": "acde", "c": "abde", "d": "abce", "e": "abcdm"},
]


@pytest.mark.parametrize("edges", CIRCLES)
def test_a_circle_has_the_same_answers_from_wherever_it_is_entered(edges: dict[str, str]) -> None:
    for order in itertools.permutations(sorted(edges)):
        graph = Graph(edges, marked="m")
        assert {node: graph.leads_to_a_mark(node) for node in order} == {node: _reaches(edges, node) for node in edges}


def test_random_graphs_asked_in_random_orders() -> None:
    chance = random.Random(15)
    for _ in range(300):
        nodes = "abcdefgh"[: chance.randint(2, 8)]
        edges = {node: "".join(chance.sample(nodes, chance.randint(0, min(3, len(nodes))))) for node in nodes}
        marked = chance.choice(nodes)
        expected = {node: node in marked or _reaches(edges, node, marked) for node in nodes}
        graph = Graph(edges, marked)
        assert {node: graph.leads_to_a_mark(node) for node in chance.sample(nodes, len(nodes))} == expected


def test_an_answer_that_grows_in_a_circle_is_worked_out_until_it_stays() -> None:
    assert Graph({"a": "b", "b": "c"}).steps("a") == 2
    for first in "abc":
        graph = Graph({"a": "b", "b": "c", "c": "a"})
        graph.steps(first)
        assert [graph.steps(node) for node in "abc"] == [9, 9, 9]


def test_nothing_is_kept_of_a_question_that_fails() -> None:
    graph = Graph({"a": "b"})
    del graph.edges
    with pytest.raises(AttributeError):
        graph.leads_to_a_mark("a")
    graph.edges = {"a": "m"}
    graph.marked = "m"
    assert graph.leads_to_a_mark("a")
    assert not graph.memory.running


def test_a_large_circle_takes_time_that_grows_with_it() -> None:
    """Not with the number of ways through it: in each of these there are more than 2 ** 15."""
    counts = []
    for size in (16, 32):
        names = [chr(ord("A") + number) for number in range(size)]
        edges = {name: "".join(names[(at + 1 + more) % size] for more in range(3)) for at, name in enumerate(names)}
        graph = Graph(edges, marked="")
        assert not graph.leads_to_a_mark("A")
        counts.append(len(graph.worked_out))
    assert counts == [16, 32]


def test_circles_within_circles_take_time_that_grows_with_them() -> None:
    """Each node leads back to all before it, and only the last one to the mark: all answers change once it is known."""
    counts = []
    for size in (8, 16):
        names = [chr(ord("A") + number) for number in range(size)]
        edges = {name: "".join([*names[: at + 1], *names[at + 1 : at + 2]]) for at, name in enumerate(names)}
        edges[names[-1]] += "m"
        graph = Graph(edges, marked="m")
        assert graph.leads_to_a_mark("A")
        counts.append(len(graph.worked_out))
    assert counts[1] < 2.5 * counts[0], counts


def _reaches(edges: dict[str, str], start: str, marked: str = "m") -> bool:
    seen, queue = set[str](), [*edges.get(start, "")]
    while queue:
        node = queue.pop()
        if node not in seen:
            seen.add(node)
            queue += edges.get(node, "")
    return bool(seen & {*marked})


@dataclass(eq=False)
class Rounds:
    """Queries that need one another, some of them without a start value."""

    memory: Memory = field(default_factory=Memory)

    @query
    def first(self, number: int) -> int:
        return self.second(number) + 1

    @query
    def second(self, number: int) -> int:
        return self.first(number) if number == 0 else number

    @query
    def own(self) -> int:
        return self.own()

    @query
    def asks(self) -> frozenset[str]:
        return self.starts() | {"asks"}

    @query(cycle=frozenset())
    def starts(self) -> frozenset[str]:
        return self.asks() | {"starts"}


def test_a_circle_without_a_start_value_names_its_questions() -> None:
    rounds = Rounds()
    name = f"{__name__}.Rounds."
    with pytest.raises(CircularQueryError, match=rf"^{name}first needs {name}second needs {name}first: give one of"):
        rounds.first(0)
    with pytest.raises(CircularQueryError, match=rf"^{name}own needs {name}own: .*@query\(cycle="):
        rounds.own()
    assert rounds.first(1) == 2
    assert not rounds.memory.begun


def test_one_start_value_in_a_circle_is_enough() -> None:
    for question in (Rounds.asks, Rounds.starts):
        assert question(Rounds()) == {"asks", "starts"}
