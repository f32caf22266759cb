"""Which loops over weights keep a moving average of them (PPF505), and what the advice calls its parts."""

from __future__ import annotations

import pytest

from perflint.findings import Finding
from tests.support import check, in_step

LOOP = "for k, q in zip(average.parameters(), model.parameters()):"


def _found(loop: str, *body: str) -> list[Finding]:
    rows = "\n    ".join(body)
    return check({"a.py": in_step(f"{loop}\n    {rows}")}, "PPF505")


def _advice(found: list[Finding]) -> list[str]:
    return [item.fix.message.rpartition("`paddle.no_grad()`, ")[2] for item in found if item.fix is not None]


@pytest.mark.parametrize(
    ("statement", "advice", "share"),
    [
        ("paddle.assign(k * m + q * (1. - m), k)", "k.lerp_(q, share)", "1.0 - m"),
        ("k.set_value((1 - m) * q + m * k)", "k.lerp_(q, share)", "1 - m"),
        ("k.copy_(k * args.decay + (1 - args.decay) * q, False)", "k.lerp_(q, share)", "1 - args.decay"),
        ("k.set_value(k.detach() * float(m) + float(1 - m) * q)", "k.lerp_(q, share)", "float(1 - m)"),
        ("k.set_value(m * q + (1 - m) * k)", "k.lerp_(q, share)", "m"),  # m is how much of the new weight goes in
        ("shadow[k.name] = m * shadow[k.name] + (1 - m) * q", "shadow[k.name].lerp_(q, share)", "1 - m"),
    ],
)
def test_an_average_is_known_in_any_order(statement: str, advice: str, share: str) -> None:
    found = _found(LOOP, statement)
    assert _advice(found) == [f"`{advice}`"]
    assert f"paddle.full([1], {share})" in str(found[0].fix)


@pytest.mark.parametrize(
    "statement",
    [
        "k.set_value(k * m + q * (1 - n))",  # no average: two factors of their own
        "k.set_value(k * m - q * (1 - m))",
        "k.set_value(q)",
        "shadow[k.name] = m * shadow[k.name] + (1 - m) * q.numpy()",  # on the host: reads of weights are another rule's
        "log(k * m + q * (1 - m))",
    ],
)
def test_what_only_looks_like_one_is_left_alone(statement: str) -> None:
    assert _found(LOOP, statement) == []


@pytest.mark.parametrize(
    ("loop", "body"),
    [
        ("for k, v in average.state_dict().items():", ["v *= decay", "v += (1 - decay) * now[k]", "state[k] = v"]),
        ("for name, v in model.named_parameters():", ["shadow[name] = d * shadow[name] + (1.0 - d) * v"]),
        ("for name in dict(model.named_parameters()):", ["p[name] = d * p[name] + (1.0 - d) * q[name]"]),
    ],
)
def test_weights_may_be_drawn_from_dicts(loop: str, body: list[str]) -> None:
    assert len(_found(loop, *body)) == 1


def test_other_loops_average_something_else() -> None:
    assert _found("for name in meters:", "meters[name] = d * meters[name] + (1.0 - d) * losses[name]") == []
