"""The kind of value that each Paddle call returns, by its qualified name, and the calls that pass on what they get.

A loop over ``enumerate(tqdm(loader))`` takes its values from ``loader``. Every other table of such calls is built from
these; their names are the last parts of the called names.
"""

from __future__ import annotations

import ast
import re

from perflint.index.kinds import (
    DATASET,
    HOST,
    ITERABLE,
    LOADER,
    LOSS,
    SCALAR,
    TENSOR,
    UNKNOWN,
    Kind,
    instance,
    layer,
)
from perflint.paddle.tensor_methods import COPYING_METHODS

HOST_METHODS = COPYING_METHODS | frozenset(
    {
        "element_size",
        "is_dense",
        "is_leaf",
        "get_tensor",
        "keys",
        "dim",
        "ndimension",
        "shape",
        "get_shape",
        "size",
        "lod",
        "recursive_sequence_lengths",
        "data_ptr",
    }
    | {"is_floating_point", "is_complex", "is_integer", "is_sparse", "is_dist", "is_contiguous", "get_device"}
)
"""Tensor methods whose result lives on the host."""

HOST_ATTRIBUTES = frozenset(
    {"shape", "dtype", "ndim", "place", "name", "stop_gradient", "size", "persistable", "is_leaf"}
)
"""Tensor attributes that are read without waiting for the device."""

MAKERS = frozenset({"zeros", "zeros_like", "ones", "ones_like", "full", "full_like", "empty", "empty_like"})
"""Functions that make a tensor on the device, of a size that they get."""

_REDUCTIONS = frozenset({"mean", "sum", "max", "min", "prod", "norm", "std", "var", "median", "nanmean", "nansum"})
_FLOAT_REDUCTIONS = frozenset({"mean", "std", "var", "nanmean"})
LOSS_FUNCTIONS = frozenset(
    {
        "cross_entropy",
        "binary_cross_entropy",
        "binary_cross_entropy_with_logits",
        "nll_loss",
        "mse_loss",
        "l1_loss",
        "smooth_l1_loss",
        "kl_div",
        "margin_ranking_loss",
        "triplet_margin_loss",
        "cosine_embedding_loss",
        "hinge_embedding_loss",
        "multi_label_soft_margin_loss",
        "soft_margin_loss",
        "gaussian_nll_loss",
        "poisson_nll_loss",
        "ctc_loss",
    }
)
# Loss layers that return one value per sample, or a tuple.
_UNREDUCED = frozenset({"paddle.nn.HSigmoidLoss", "paddle.nn.AdaptiveLogSoftmaxWithLoss"})
_HOST_PREFIXES = (
    "paddle.distributed.get_",
    "paddle.device.",
    "paddle.version.",
    "paddle.utils.",
    "paddle.framework.",
    "paddle.static.",
    "paddle.inference.",
    "paddle.profiler.",
    "paddle.jit.",
    "paddle.hub.",
    "paddle.base.",
    "paddle.fluid.core.",
    "paddle.fluid.default_",
    "paddle.fluid.Program",
    "paddle.fluid.Executor",
)
_HOST_FUNCTIONS = frozenset(
    {
        "paddle.get_device",
        "paddle.get_cudnn_version",
        "paddle.set_device",
        "paddle.seed",
        "paddle.get_flags",
        "paddle.set_flags",
        "paddle.is_compiled_with_cuda",
        "paddle.is_compiled_with_rocm",
        "paddle.is_compiled_with_xpu",
        "paddle.is_compiled_with_distribute",
        "paddle.is_autocast_enabled",
        "paddle.in_dynamic_mode",
        "paddle.get_default_dtype",
        "paddle.iinfo",
        "paddle.finfo",
        "paddle.summary",
        "paddle.flops",
        "paddle.save",
        "paddle.is_tensor",
        "paddle.is_floating_point",
        "paddle.is_integer",
        "paddle.is_complex",
        "paddle.tolist",
        "paddle.broadcast_shape",
        "paddle.CPUPlace",
        "paddle.CUDAPlace",
        "paddle.ParamAttr",
        "paddle.no_grad",
        "paddle.set_grad_enabled",
        "paddle.is_grad_enabled",
        "paddle.get_cuda_rng_state",
    }
)
PARALLEL = frozenset({"paddle.DataParallel", "paddle.distributed.fleet.distributed_model"})
"""Wrappers of a layer for data-parallel training."""

_UNKNOWN_FUNCTIONS = frozenset({"paddle.load", "paddle.Model", "paddle.DataParallel", "paddle.reader"})
_READERS = re.compile(
    r"paddle\.(?:batch|(?:reader|dataset\.\w+)\.\w+"
    r"|fluid\.io\.(?:batch|shuffle|buffered|cache|chain|compose|firstn|map_readers|xmap_readers))$"
)
"""Functions that create a reader: a function that yields samples or lists of them, numbers and NumPy arrays."""
_TENSOR_MODULES = (
    "paddle.nn.functional.",
    "paddle.tensor.",
    "paddle.linalg.",
    "paddle.fft.",
    "paddle.signal.",
    "paddle.incubate.nn.functional.",
    "paddle.fluid.layers.",
    "paddle.metric.",
    "paddle.vision.ops.",
    "paddle.static.nn.",
    "paddle.geometric.",
)


_DATASETS = ("paddle.vision.datasets.", "paddle.text.datasets.", "paddle.text.", "paddle.audio.datasets.")
_OBJECTS = (
    "paddle.optimizer.",
    "paddle.amp.",
    "paddle.static.",
    "paddle.callbacks.",
    "paddle.metric.",
    "paddle.fluid.metrics.",
)
"""Modules whose classes create objects that are neither tensors nor layers."""


def call_result(name: str, call: ast.Call) -> Kind:
    """The kind of ``name(...)`` for a canonical ``paddle.*`` name; UNKNOWN if the tables here do not have it."""
    last = name.rpartition(".")[2]
    made = _of_io(name, last) or _of_class(name, last, call)
    return made if made is not None else _of_function(name, last, call)


def _of_io(name: str, last: str) -> Kind | None:
    """The kind of loaders, datasets and wrappers of models; None for other calls."""
    if name in ("paddle.io.DataLoader", "paddle.io.DataLoader.from_generator"):
        return LOADER
    if name == "paddle.Model":
        return instance("paddle.Model")
    if name in PARALLEL:
        return layer(name)
    return _dataset(last) if name.startswith("paddle.io.") else None


def _of_class(name: str, last: str, call: ast.Call) -> Kind | None:
    """The kind of an instance of a Paddle class, also by modules that only contain classes; None for other calls."""
    is_class = last[:1].isupper()
    if name.startswith(_DATASETS):
        return DATASET if is_class else UNKNOWN
    if name.startswith("paddle.vision.models."):
        return layer(name)
    if name.startswith("paddle.vision.transforms."):
        return UNKNOWN
    if is_class and name.startswith("paddle.nn.loss."):  # another name of the same classes
        name = f"paddle.nn.{last}"
    if name.startswith("paddle.nn.") and name.count(".") == 2:
        return layer(name + reduction_suffix(call)) if is_class else UNKNOWN
    return instance(name) if is_class and name.startswith(_OBJECTS) else None


def _of_function(name: str, last: str, call: ast.Call) -> Kind:
    is_of_tensors = name.startswith(_TENSOR_MODULES)
    if name in ("paddle.static.accuracy", "paddle.static.auc"):  # they also work, and are used, in dynamic graphs
        return TENSOR
    if is_of_tensors and last not in LOSS_FUNCTIONS:
        return TENSOR
    if name.startswith(_HOST_PREFIXES) or name in _HOST_FUNCTIONS:
        return HOST
    if name in _UNKNOWN_FUNCTIONS or last[:1].isupper():
        return UNKNOWN
    if _READERS.match(name):
        return HOST
    if last in LOSS_FUNCTIONS and "functional" in name:
        return LOSS if _reduces(call) else TENSOR
    if last in _REDUCTIONS and name.count(".") == 1:
        return reduction(last, has_axis(call, 1))
    return TENSOR if is_of_tensors or name.count(".") == 1 else UNKNOWN


def layer_result(type_name: str) -> Kind:
    """The result of calling an instance of a Layer class."""
    name, _, reduced = type_name.partition("|")
    if name.startswith("paddle.nn.") and name.endswith("Loss"):
        return TENSOR if reduced == "none" or name in _UNREDUCED else LOSS
    return TENSOR


def reduction(method: str, axis: bool) -> Kind:
    """``x.mean()`` and the like: 0-D without an axis."""
    if axis:
        return TENSOR
    return LOSS if method in _FLOAT_REDUCTIONS else SCALAR


def is_reduction(method: str) -> bool:
    """Whether a tensor method reduces to 0-D if it gets no axis."""
    return method in _REDUCTIONS


def has_axis(call: ast.Call, first: int) -> bool:
    """Whether a reduction call has an axis (or anything that could be one) from argument ``first`` on."""
    return len(call.args) > first or any(keyword.arg != "dtype" for keyword in call.keywords)


def reduction_suffix(call: ast.Call) -> str:
    """``|none`` for a loss layer created with another reduction than the mean or the sum."""
    return "" if _reduces(call) else "|none"


def _reduces(call: ast.Call) -> bool:
    for keyword in call.keywords:
        if keyword.arg == "reduction":
            return isinstance(keyword.value, ast.Constant) and keyword.value.value in ("mean", "sum")
        if keyword.arg is None:
            return False
    words = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    return all(word in ("mean", "sum") for word in words)


def _dataset(last: str) -> Kind:
    if last == "IterableDataset":
        return ITERABLE
    return DATASET if last.endswith("Dataset") or last == "Subset" else UNKNOWN


COMBINING = frozenset({"enumerate", "zip"})
"""They give more in each iteration than one item of their first argument."""

IN_TURN = frozenset({"iter", "reversed", "islice", "tqdm", "track"})
"""They give the items of their first argument one by one."""

LOOPED = COMBINING | IN_TURN
"""All that take an item from their arguments in each iteration."""

LISTING = frozenset({"list", "tuple", "sorted", "set"})
"""They collect the items of their argument in a container."""
