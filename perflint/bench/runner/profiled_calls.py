"""Wraps what a profile times beyond ``watched_calls``: forward and backward passes, optimizers, pauses."""

from __future__ import annotations

import gc
import time
from typing import Any

from . import step_kinds
from .watched_calls import named, watch, watch_curves, wrap
from .watcher import WatchedCall, Watcher

_GRADIENTS = ("clear_grad", "clear_gradients", "zero_grad")
_SCALER = ("unscale_", "update")
_SAVES = ("async_save", "static.save", "static.save_inference_model", "Model.save")
_PROGRESS = ("on_train_batch_end", "on_epoch_end")
"""Where the callback of ``Model.fit`` prints its line."""


def watch_pauses(watcher: Watcher) -> None:
    """Wrap functions outside Paddle that pause a program; call this before the script imports them by name."""
    wrap(watcher, time, "sleep", WatchedCall(step_kinds.SLEEP, "time.sleep"))
    wrap(watcher, gc, "collect", WatchedCall(step_kinds.COLLECT, "gc.collect"))
    watch_curves(watcher)


def watch_steps(paddle: Any, watcher: Watcher) -> None:
    """Wrap everything that a step consists of; call this after ``hooks.hook``, which recognizes the end of a step."""
    watch(paddle, watcher)
    wrap(watcher, named(paddle, "nn.Layer"), "__call__", WatchedCall(step_kinds.FORWARD, "forward", note=_layer))
    wrap(watcher, paddle.Tensor, "backward", WatchedCall(step_kinds.BACKWARD, "Tensor.backward"))
    wrap(watcher, paddle, "grad", WatchedCall(step_kinds.BACKWARD, "paddle.grad"))
    wrap(watcher, named(paddle, "autograd"), "backward", WatchedCall(step_kinds.BACKWARD, "paddle.autograd.backward"))
    for name in _GRADIENTS:
        for kind in _with_subclasses(paddle.optimizer.Optimizer):
            if name in vars(kind):
                wrap(watcher, kind, name, WatchedCall(step_kinds.OPTIMIZER, f"optimizer.{name}"))
    for name in _SCALER:
        wrap(watcher, paddle.amp.GradScaler, name, WatchedCall(step_kinds.OPTIMIZER, f"GradScaler.{name}"))
    for path in _SAVES:
        place, _, name = path.rpartition(".")
        wrap(watcher, named(paddle, place), name, WatchedCall(step_kinds.SAVE, f"paddle.{path}"))
    for name in _PROGRESS:
        wrap(watcher, named(paddle, "callbacks.ProgBarLogger"), name, WatchedCall(step_kinds.LOG, "ProgBarLogger"))


def _layer(layer: Any, *_: Any, **__: Any) -> str:
    return type(layer).__name__


def _with_subclasses(kind: Any) -> list[Any]:
    return [kind, *(each for below in kind.__subclasses__() for each in _with_subclasses(below))]
