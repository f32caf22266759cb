"""PPF201 about the state of a GradScaler, which ``state_dict`` itself copies to the host."""

from __future__ import annotations

import pytest

from tests.support import check, in_step


@pytest.mark.parametrize("asked", ['scaler.state_dict()["scale"]', 'self.loss_scaler.state_dict().get("scale")'])
def test_it_is_asked_for_only_where_it_is_logged(asked: str) -> None:
    """What it gives is a NumPy array, which has no ``.detach()``."""
    (finding,) = check(in_step(f"meter.update({asked}.item())"), "PPF201")
    assert "call `state_dict` of the scaler only at the steps that log it" in finding.message
    assert "detach" not in finding.message


def test_the_state_of_a_layer_holds_tensors() -> None:
    (finding,) = check(in_step('meter.update(model.state_dict()["weight"].item())'), "PPF201")
    assert "pass `.detach().clone()` of the tensor" in finding.message
