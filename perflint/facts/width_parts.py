"""Knows what the layers of Paddle do to one width: which of them take it, produce it, or pass it on.

``nn.Linear(512, 250)`` produces a width of 250, ``nn.BatchNorm1D(250)`` takes and produces it, ``nn.ReLU()`` accepts
any.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from perflint.facts.layers import KINDS, width_arguments
from perflint.syntax.names import dotted
from perflint.syntax.parameters import is_spread
from perflint.syntax.tree import walk

SEQUENTIAL = "paddle.nn.Sequential"

_PASSING = frozenset(
    f"paddle.nn.{name}"
    for name in (
        *("ReLU", "ReLU6", "GELU", "Sigmoid", "Tanh", "Softmax", "LogSoftmax", "LeakyReLU", "ELU", "SELU", "CELU"),
        *("Silu", "Swish", "Mish", "Hardswish", "Hardsigmoid", "Hardtanh", "Softplus", "Softsign", "Identity"),
        *("Dropout", "Dropout2D", "Dropout3D", "AlphaDropout", "Flatten", "Upsample"),
        *(f"{kind}Pool{size}D" for kind in ("Max", "Avg", "AdaptiveMax", "AdaptiveAvg") for size in (1, 2, 3)),
    )
)
_NORMS = frozenset(
    f"paddle.nn.{name}"
    for name in (
        *("BatchNorm", "BatchNorm1D", "BatchNorm2D", "BatchNorm3D", "SyncBatchNorm", "LayerNorm"),
        *("InstanceNorm1D", "InstanceNorm2D", "InstanceNorm3D"),
    )
)
_NORM_WIDTHS = ("num_features", "num_channels", "normalized_shape")
_PRETRAINED = frozenset({"Assign", "NumpyArrayInitializer"})


@dataclass(frozen=True)
class WidthPart:
    """The role of one layer for one width.

    ``takes``: its input has to have the width. ``gives``: its output has it. ``passes``: its output has the width if
    its input has it. ``slots``: the numbers in its call that are the width.
    """

    takes: bool = False
    gives: bool = False
    passes: bool = False
    slots: tuple[ast.Constant, ...] = ()


Chain = tuple["WidthPart | None", ...]
"""Consecutive layers; None: an unknown one."""


@dataclass(frozen=True)
class Parts:
    """Reads the calls that create layers.

    ``width``: the followed width; ``wanted``: its new value. ``resolve``: returns the qualified name of a local name.
    """

    width: int
    wanted: int
    resolve: Callable[[str], str]

    def chain(self, node: ast.expr) -> Chain:
        """The layers that an expression creates: those of a ``Sequential`` in order, or one."""
        if not isinstance(node, ast.Call):
            return (None,)
        if self.resolve(dotted(node.func) or "") != SEQUENTIAL:
            return (self._part(node),)
        if node.keywords or is_spread(node):
            return (None,)
        return tuple(part for item in node.args for part in self.chain(_named(item)))

    def _part(self, call: ast.Call) -> WidthPart | None:
        kind = self.resolve(dotted(call.func) or "")
        if is_spread(call):
            return None
        if kind in _PASSING:
            return None if _argument(call, 9, "return_mask") is not None else WidthPart(passes=True)
        if any(isinstance(item, ast.Name | ast.Attribute) and _last(item) in _PRETRAINED for item in walk(call)):
            return None  # it gets its weights, which have a shape
        if kind in KINDS:
            return self._layer(call, kind)
        if kind in _NORMS:
            return self._taken_and_given([_argument(call, 0, *_NORM_WIDTHS)])
        return self._other(call, kind.rpartition(".")[2]) if kind.startswith("paddle.nn.") else None

    def _layer(self, call: ast.Call, kind: str) -> WidthPart | None:
        groups = _argument(call, 6, "groups") if kind != "paddle.nn.Linear" else None
        if groups is not None and not (isinstance(groups, ast.Constant) and groups.value == 1):
            return None
        first, second = (self._slot(node) for node in width_arguments(call, kind))
        return WidthPart(first is not None, second is not None, slots=tuple(filter(None, (first, second))))

    def _other(self, call: ast.Call, name: str) -> WidthPart | None:
        if name == "Embedding":
            given = self._slot(_argument(call, 1, "embedding_dim"))
            if given is not None and _argument(call, 9, "weight_attr") is not None:
                return None
            return WidthPart(gives=given is not None, slots=(given,) if given is not None else ())
        if name == "PReLU":
            number = _argument(call, 0, "num_parameters")
            is_one = number is None or (isinstance(number, ast.Constant) and number.value == 1)
            return WidthPart(passes=True) if is_one else self._taken_and_given([number])
        if name == "GroupNorm":
            groups = _argument(call, 0, "num_groups")
            divides = isinstance(groups, ast.Constant) and type(groups.value) is int and groups.value > 0
            if not divides or self.wanted % groups.value:  # type: ignore[union-attr]  # divides has looked
                return None
            return self._taken_and_given([_argument(call, 1, "num_channels")])
        return None

    def _taken_and_given(self, nodes: list[ast.expr | None]) -> WidthPart | None:
        """A layer whose output is as wide as its input; one of another width is not involved."""
        node = nodes[0]
        if isinstance(node, ast.List | ast.Tuple) and len(node.elts) == 1:
            node = node.elts[0]
        if not isinstance(node, ast.Constant):
            return None
        slot = self._slot(node)
        return WidthPart(True, True, slots=(slot,)) if slot is not None else WidthPart()

    def _slot(self, node: ast.expr | None) -> ast.Constant | None:
        is_width = isinstance(node, ast.Constant) and type(node.value) is int and node.value == self.width
        return node if is_width else None  # type: ignore[return-value]  # is_width has looked


def slots_of(chain: Chain) -> Iterator[ast.Constant]:
    """The numbers in the calls of some layers that are the width."""
    for part in chain:
        if part is not None:
            yield from part.slots


def _named(node: ast.expr) -> ast.expr:
    """The layer in ``("fc", nn.Linear(...))``, which ``Sequential`` accepts, too."""
    return node.elts[1] if isinstance(node, ast.Tuple) and len(node.elts) == 2 else node


def _argument(call: ast.Call, position: int, *names: str) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg in names:
            return keyword.value
    return call.args[position] if len(call.args) > position else None


def _last(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr
