"""Why a line was missed or a finding was wrong, as read at the code: the mechanism, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Key = tuple[str, str]

_FORWARD = (
    "`forward` reaches this through two calls or more, and a forward pass is followed one call deep, where that "
    "function holds something a rule speaks of"
)
_FROM_YAML = f"{_FORWARD}; besides, the head and its assigner are made from YAML, so no code says whose method runs"
_INTERVAL = "it is guarded by `batch_id % print_interval == 0`, and the YAML file sets the interval to {}"
_SHAPE = (
    "`paddle.randperm` reads the length that `paddle.shape` gives, and that lies in host memory, so a GPU would not be "
    "waited for"
)

MISSED: Mapping[Key, str] = {
    (
        "paddledetection",
        "ppdet/modeling/assigners/atss_assigner.py:154",
    ): "`Tensor.std` reads by itself in the CPU build of Paddle 3.3.1, and has a kernel of its own in a GPU build",
    ("paddledetection", "ppdet/modeling/assigners/atss_assigner.py:171"): _FROM_YAML,
    ("paddledetection", "ppdet/modeling/heads/pico_head.py:718"): _FROM_YAML,
    ("quantum", "paddle_quantum/mbqc/qobject.py:63"): _FORWARD,
    ("quantum", "paddle_quantum/mbqc/simulator.py:458"): _FORWARD,
    ("quantum", "paddle_quantum/mbqc/simulator.py:461"): _FORWARD,
    ("quantum", "paddle_quantum/mbqc/simulator.py:465"): _FORWARD,
    ("mhcn", "models/recall/mhcn/net.py:346"): _SHAPE,
    ("mhcn", "models/recall/mhcn/net.py:351"): _SHAPE,
    ("mhcn", "models/recall/mhcn/net.py:353"): _SHAPE,
    ("mhcn", "tools/trainer.py:173"): _INTERVAL.format(1),
    ("textcnn", "tools/trainer.py:173"): _INTERVAL.format(2),
    ("parl", "examples/DQN/cartpole_agent.py:70"): "the step is known as the method `learn`, and the loop of an "
    "episode is no step loop, since it trains behind `step % LEARN_FREQ`; the host needs this number anyway, as the "
    "action that the environment is given",
}
"""By the script and ``file:line``."""

ONLY_ON_CPU = frozenset(key for key, why in MISSED.items() if why == _SHAPE or "GPU build" in why)
"""Missed lines that do not wait for a GPU: what is read there lies on the host, or is read by the CPU build alone."""

FALSE: Mapping[Key, str] = {
    (
        "paddleclas",
        "PPF601 ppcls/engine/evaluation/classification.py:44",
    ): 'Its caller is decorated with `paddle.no_grad()` and finds it with `getattr(evaluation, mode + "_eval")`: a '
    "name that is put together is not followed. The confidence is low.",
}
"""By the script and ``code file:line``."""

UNREAD = "not read yet"


def why_missed(script: str, line: Mapping[str, Any]) -> str:
    """Why no finding predicts a line."""
    return MISSED.get(_key(script, line), UNREAD)


def waits_for_gpu(script: str, line: Mapping[str, Any]) -> bool:
    """Whether a line would make a step wait on a GPU too, as far as it was read."""
    return _key(script, line) not in ONLY_ON_CPU


def why_false(script: str, finding: Mapping[str, Any]) -> str:
    """Why a finding says what did not happen."""
    return FALSE.get((script, f"{finding['code']} {finding['file']}:{finding['line']}"), UNREAD)


def _key(script: str, line: Mapping[str, Any]) -> Key:
    return script, f"{line['file']}:{line['line']}"
