"""Why a line was missed or a finding was wrong, as read at the code: the mechanism, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Key = tuple[str, str]

_INTERVAL = "it is guarded by `batch_id % print_interval == 0`, and the YAML file sets the interval to {}"
_SHAPE = (
    "`paddle.randperm` reads the length that `paddle.shape` gives, which is in host memory, so nothing would wait for "
    "a GPU"
)
_STD = (
    "`Tensor.std` evaluates `paddle.any(...)` in the CPU build of Paddle 3.3.1; if `paddle.is_compiled_with_cuda()`, "
    "it is one kernel, and reads nothing"
)

_SINCE = "not traced again yet: perflint now reports a finding of low confidence on this line"

MISSED: Mapping[Key, str] = {
    ("paddledetection", "ppdet/modeling/assigners/atss_assigner.py:171"): _SINCE,
    ("paddledetection", "ppdet/modeling/heads/pico_head.py:718"): _SINCE,
    ("mhcn", "tools/trainer.py:173"): _INTERVAL.format(1),
    ("textcnn", "tools/trainer.py:173"): _INTERVAL.format(2),
    ("parl", "examples/DQN/cartpole_agent.py:70"): "the step is recognized in the method `learn`; the loop of "
    "an episode is not a step loop, since it trains under `step % LEARN_FREQ`; the host needs this number anyway, as "
    "the action for the environment",
}
"""By the script and ``file:line``."""

ONLY_ON_CPU: Mapping[Key, str] = {
    ("paddledetection", "ppdet/modeling/assigners/atss_assigner.py:154"): _STD,
    ("mhcn", "models/recall/mhcn/net.py:346"): _SHAPE,
    ("mhcn", "models/recall/mhcn/net.py:351"): _SHAPE,
    ("mhcn", "models/recall/mhcn/net.py:353"): _SHAPE,
}
"""Lines that do not wait for a GPU, and why: the same for each script and ``file:line``."""

FALSE: Mapping[Key, str] = {}
"""By the script and ``code file:line``."""

UNREAD = "not read yet"


def why_missed(script: str, line: Mapping[str, Any]) -> str:
    """Why no finding predicts a line."""
    return MISSED.get(_key(script, line), UNREAD)


def why_only_on_cpu(script: str, line: Mapping[str, Any]) -> str:
    """Why a line would not make a step wait on a GPU; ``""`` where it would, as far as it was read."""
    return ONLY_ON_CPU.get(_key(script, line), "")


def why_false(script: str, finding: Mapping[str, Any]) -> str:
    """Why a finding says what did not happen."""
    return FALSE.get((script, f"{finding['code']} {finding['file']}:{finding['line']}"), UNREAD)


def _key(script: str, line: Mapping[str, Any]) -> Key:
    return script, f"{line['file']}:{line['line']}"
