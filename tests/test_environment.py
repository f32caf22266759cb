"""Environments: a mapping that is copied at no cost, against plain dicts that are copied whole."""

from __future__ import annotations

import random

import pytest

from perflint.flow.environment import Environment
from perflint.index.kinds import HOST, LOSS, SCALAR, TENSOR, UNKNOWN, Kind, instance, join, layer, tuple_of
from tests.test_growth import calls

KINDS = (HOST, TENSOR, LOSS, SCALAR, UNKNOWN, layer("a.Net"), instance("a.Meter"), tuple_of([HOST, LOSS]))
ROOTS = tuple(f"v{number}" for number in range(60))
PARTS = ("", "", "", ".a", ".b", ".a.c", "['k']", ".a['k']", "['x.y[']")


def bound(known: dict[str, Kind], name: str, kind: Kind) -> None:
    known[name] = kind
    for below in [other for other in known if other.startswith((f"{name}.", f"{name}["))]:
        del known[below]


def merged(one: dict[str, Kind], other: dict[str, Kind]) -> dict[str, Kind]:
    return {
        name: join(one[name], other[name]) if name in one and name in other else {**one, **other}[name]
        for name in (*one, *other)
    }


@pytest.mark.parametrize("seed", range(20))
def test_it_does_what_dicts_do(seed: int) -> None:
    chance = random.Random(seed)
    pairs: list[tuple[Environment, dict[str, Kind]]] = [(Environment(), {})]
    for _ in range(300):
        environment, plain = chance.choice(pairs[-6:])
        before = dict(plain)
        made, copied = environment.copy(), dict(plain)
        name, kind = chance.choice(ROOTS) + chance.choice(PARTS), chance.choice(KINDS)
        action = chance.randrange(5)
        if action == 0:
            made.bind(name, kind)
            bound(copied, name, kind)
        elif action == 1:
            made.forget(name.partition(".")[0].partition("[")[0])
            copied.pop(name.partition(".")[0].partition("[")[0], None)
        elif action == 2:
            other, others = chance.choice(pairs)
            made, copied = made.merged(other), merged(copied, others)
        else:
            made[name] = kind
            copied[name] = kind
        assert dict(environment) == before  # the copy left it alone
        assert dict(made) == copied
        assert len(made) == len(copied)
        assert bool(made) == bool(copied)
        pairs.append((made, copied))
    for (one, first), (two, second) in zip(pairs, reversed(pairs), strict=True):
        assert (one == two) == (first == second)
        for name in (root + part for root in ROOTS for part in PARTS):
            assert one.get(name) is first.get(name)
            assert (name in one) == (name in first)


def test_what_is_under_it_counts_where_it_says_nothing() -> None:
    environment = Environment({"a": HOST, "a.b": LOSS}).over({"a": TENSOR, "c": LOSS})
    assert dict(environment) == {"a": HOST, "a.b": LOSS, "c": LOSS}
    assert "d" not in environment
    assert environment["c"] is LOSS


def test_the_items_of_a_container() -> None:
    environment = Environment({"d['a']": LOSS, "d['b']": HOST, "d.shape": SCALAR, "e['a']": TENSOR, "d": UNKNOWN})
    assert environment.items_of("d") == [LOSS, HOST]
    assert environment.items_of("f") == []


def test_a_merge_looks_at_what_differs_alone() -> None:
    known = Environment({f"v{number}": KINDS[number % len(KINDS)] for number in range(5000)})
    changed = known.copy()
    changed["v7"] = LOSS
    assert known.merged(known.copy()) is known
    assert calls(lambda: known.merged(changed)) < 1000
    assert dict(known.merged(changed))["v7"] is join(known["v7"], LOSS)


def test_a_name_that_is_not_known() -> None:
    with pytest.raises(KeyError, match="loss"):
        Environment({"a": HOST})["loss"]
    assert Environment().get("loss", HOST) is HOST
