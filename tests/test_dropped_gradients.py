"""Backward passes that compute gradients which are cleared unused (PPF509): what is reported, and what is not."""

from __future__ import annotations

import pytest

from tests.support import check

GAN = """\
import paddle

G, D = Generator(), Critic()
{optimizers}
for noise, real in loader:
    optimizer_d.clear_grad()
    loss_d = D(G(noise).detach()).mean() - D(real).mean()
    loss_d.backward()
    optimizer_d.step()
    optimizer_g.clear_grad()
    {forward}
    loss_g.backward()
    optimizer_g.step()
"""
OPTIMIZERS = """\
optimizer_g = paddle.optimizer.Adam(parameters=G.parameters())
optimizer_d = paddle.optimizer.Adam(parameters=D.parameters())"""
FORWARD = "loss_g = -D(G(noise)).mean()"


def _is_reported(optimizers: str = OPTIMIZERS, forward: str = FORWARD) -> bool:
    text = GAN.format(optimizers=optimizers, forward=forward)
    found = check(text, "PPF509")
    assert all(text[each.start : each.end] == "loss_g.backward()" for each in found)
    return bool(found)


@pytest.mark.parametrize(
    "forward",
    [
        FORWARD,
        "fake = G(noise)\n    score = D(fake)\n    loss_g = -score.mean()",
        "with paddle.amp.auto_cast():\n        score = D(G(noise))\n    loss_g = -score.mean()",
        "loss_g = other(real)\n    loss_g += -D(G(noise)).mean()",
        "with paddle.no_grad():\n        kept = G(noise)\n    loss_g = kept.mean() - D(G(noise)).mean()",
    ],
)
def test_a_loss_that_goes_through_another_network(forward: str) -> None:
    assert _is_reported(forward=forward)


@pytest.mark.parametrize(
    "forward",
    [
        "loss_g = G(noise).mean()",
        "score = D(G(noise)).detach()\n    loss_g = (G(noise) * score).mean()",
        "score = D(G(noise))\n    score = G(noise)\n    loss_g = -score.mean()",
        "set_requires_grad(D, False)\n    loss_g = -D(G(noise)).mean()",
        "with paddle.no_grad():\n        score = D(G(noise))\n    loss_g = (G(noise) * score).mean()",
        "with paddle.set_grad_enabled(False):\n        score = D(G(noise))\n    loss_g = (G(noise) * score).mean()",
    ],
)
def test_a_loss_that_does_not(forward: str) -> None:
    assert not _is_reported(forward=forward)


@pytest.mark.parametrize(
    ("optimizers", "is_reported"),
    [
        (OPTIMIZERS.replace("parameters=G.parameters()", "parameters=[*G.parameters()]"), True),
        (
            "weights = D.parameters() + G2.parameters()\n"
            + OPTIMIZERS.replace("parameters=D.parameters()", "parameters=weights"),
            True,
        ),
        (OPTIMIZERS.replace("parameters=G.parameters()", "parameters=[*G.parameters(), *D.parameters()]"), False),
        (OPTIMIZERS.replace("parameters=G.parameters()", "parameters=weights"), False),
        (OPTIMIZERS.replace("paddle.optimizer.Adam(parameters=G.parameters())", "make(G)"), False),
    ],
)
def test_which_networks_an_optimizer_trains(optimizers: str, is_reported: bool) -> None:
    assert _is_reported(optimizers=optimizers) is is_reported


def test_networks_and_optimizers_that_a_function_gets() -> None:
    body = GAN.format(optimizers=OPTIMIZERS, forward=FORWARD)
    head, loop = body.split("for noise", 1)
    inside = f"for noise{loop}".replace("optimizer_d", "opt1").replace("optimizer_g", "opt2").replace("D(", "critic(")
    inside = "".join(f"    {line}\n" for line in inside.splitlines())
    text = f"import paddle\n\n\ndef train(loader, G, critic, opt1, opt2):\n{inside}\n\n" + head.replace(
        "import paddle\n", ""
    )
    text += "train(loader, G, D, optimizer_d, optimizer_g)\n"
    [found] = check(text, "PPF509")
    assert text[found.start : found.end] == "loss_g.backward()"
    assert "`critic`" in found.message
