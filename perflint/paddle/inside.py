"""What Paddle's calls do on the host, besides giving work to the device: one table, read by all that follows a step.

``paddle.amp.GradScaler.step`` tests whether gradients overflowed, so the host waits. Nothing at the call shows that; it
was seen in Paddle's own source, which each entry names, and ``tests/test_paddle_inside.py`` runs the entries.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import NamedTuple


class Does(enum.Enum):
    """What a call does."""

    READS = "reads"
    """It reads a tensor: the host waits until the device has computed it."""
    SIZES = "sizes"
    """Its result has a size that depends on values, which the host has to know."""
    WAITS = "waits"
    """It waits until the device is done with everything."""
    COPIES = "copies"
    """It copies data of the host to the device."""
    DUPLICATES = "duplicates"
    """It copies a tensor on the device, without a wait."""
    WRITES = "writes"
    """It writes a file."""
    PRINTS = "prints"
    """It prints."""
    MEETS = "meets"
    """It takes part in an exchange between all processes."""


class Condition(enum.Enum):
    """What has to be true of an argument, so that a call does what an entry says."""

    GIVEN = "given"
    """It is given, and is neither ``None`` nor ``False``."""
    LEFT_OUT = "left out"
    """It is not given, or has its default."""
    OFF = "off"
    """It is given, and is ``False``."""
    TENSOR = "a tensor"
    """It is a tensor, or a container with one."""
    MAYBE = "no data of the host"
    """It is not known to be anything else than a tensor."""
    DATA = "data of the host"
    """It is no tensor."""
    ALONE = "a tensor alone"
    """It is a tensor."""
    TENSORS = "tensors in a container"
    """It is a container with a tensor."""


class If(NamedTuple):
    """The condition of an entry: ``If(Condition.GIVEN, 3, "error_if_nonfinite")``.

    ``position`` counts the arguments of the function; those of a method follow ``self``. ``default``: of the parameter.
    """

    test: Condition
    position: int
    parameter: str
    default: object = None


class PaddleCall(NamedTuple):
    """What one or several calls do.

    Attributes:
        does: the kind of it.
        why: in a clause, after the name of the call: "tests whether gradients overflowed".
        source: the function of Paddle that shows it, by its module and name.
        calls: the qualified names of the calls; ``.forward`` of a layer is the call of the layer.
        only: the condition; None: each call does it.
        until: the first release of Paddle that does not do it any more; "": the newest known one does.
    """

    does: Does
    why: str
    source: str
    calls: tuple[str, ...]
    only: If | None = None
    until: str = ""


# Files.

SAVES = frozenset({"paddle.save", "paddle.static.save", "paddle.jit.save", "paddle.fluid.save"})
"""Functions that write a checkpoint."""
MODEL_SAVE = "paddle.Model.save"
"""The method that does."""

# All processes.

DISTRIBUTED = ("paddle.distributed.", "paddle.fluid.dygraph.parallel.")
"""The modules with the calls in which all processes take part."""
COLLECTIVES = frozenset({"all_reduce", "all_gather", "all_gather_object", "reduce", "reduce_scatter"})
"""Those of their functions that join the values of all processes."""
_OF_OBJECTS = frozenset({"all_gather_object", "broadcast_object_list", "scatter_object_list"})
"""Those that exchange Python objects, as tensors that the host makes and reads."""
MEETINGS = COLLECTIVES | _OF_OBJECTS | {"broadcast", "barrier", "alltoall", "alltoall_single", "scatter"}
"""All of their functions in which the processes wait for each other."""

# Sizes that are values.

UNKNOWN_SIZES = frozenset(
    {"nonzero", "masked_select", "unique", "unique_consecutive", "where", "repeat_interleave", "bincount"}
)
"""Functions, also methods of tensors, whose result has a size that only the device knows; some only sometimes."""
OF_A_TENSOR = frozenset(
    {"reshape", "view", "expand", "tile", "broadcast_to", "split", "chunk", "narrow", "repeat", "one_hot", "topk"}
)
"""Functions of ``SHAPED`` whose first argument is a tensor, unless they are its methods."""
SHAPED = OF_A_TENSOR | {
    *("zeros", "ones", "full", "empty", "arange", "linspace", "eye"),
    *("rand", "randn", "randint", "randperm"),
}
"""Functions, also of NumPy, whose numbers are shapes, or counts of their results: a tensor among them is read."""

# The whole device.

EMPTYING = frozenset({"paddle.device.cuda.empty_cache", "paddle.cuda.empty_cache", "paddle.device.xpu.empty_cache"})
"""Functions that return memory to the driver, which waits for all that uses it."""
SYNCHRONIZING = EMPTYING | {"paddle.device.synchronize", "paddle.device.cuda.synchronize"}
"""Functions that wait until the device is done with everything."""

SCALER = "paddle.amp.GradScaler"
"""The class of what a program calls a scaler."""


def _of(does: Does, why: str, source: str, calls: str) -> PaddleCall:
    """An entry; ``source`` and each of ``calls`` are names in ``paddle``."""
    return PaddleCall(does, why, f"paddle.{source}", tuple(f"paddle.{call}" for call in calls.split()))


TABLE = (
    # -- mixed precision and optimizers
    _of(
        Does.READS,
        "tests whether gradients overflowed, before the weights are updated",
        "optimizer.optimizer.Optimizer._create_optimization_pass",
        "amp.GradScaler.step amp.GradScaler.minimize amp.AmpScaler.minimize fluid.dygraph.AmpScaler.minimize",
    ),
    _of(
        Does.READS,
        "tests whether the norm is finite, for `error_if_nonfinite`",
        "nn.utils.clip_grad_norm_.clip_grad_norm_",
        "nn.utils.clip_grad_norm_",
    )._replace(only=If(Condition.GIVEN, 3, "error_if_nonfinite")),
    _of(
        Does.READS,
        "reads an index for each parameter",
        "optimizer.asgd.ASGD._append_optimize_op",
        "optimizer.ASGD.step optimizer.ASGD.minimize",
    ),
    _of(
        Does.READS,
        "reads the loss and the gradients several times",
        "optimizer.lbfgs.LBFGS.step",
        "optimizer.LBFGS.step incubate.optimizer.LBFGS.step",
    ),
    _of(
        Does.READS,
        "compares the metric with the best one so far",
        "optimizer.lr.ReduceOnPlateau._is_better",
        "optimizer.lr.ReduceOnPlateau.step",
    )._replace(only=If(Condition.TENSOR, 0, "metrics")),
    # -- losses
    _of(
        Does.READS,
        "counts ignored labels",
        "nn.functional.loss.cross_entropy",
        "nn.functional.cross_entropy",
    )._replace(only=If(Condition.LEFT_OUT, 4, "reduction", "mean"), until="3.0"),
    _of(
        Does.READS,
        "counts ignored labels",
        "nn.functional.loss.cross_entropy",
        "nn.CrossEntropyLoss.forward",
    )._replace(until="3.0"),
    _of(
        Does.READS,
        "tests whether a variance is negative",
        "nn.functional.loss.gaussian_nll_loss",
        "nn.functional.gaussian_nll_loss nn.GaussianNLLLoss.forward",
    ),
    _of(
        Does.READS,
        "tests whether a distance is negative",
        "nn.functional.loss.triplet_margin_with_distance_loss",
        "nn.functional.triplet_margin_with_distance_loss nn.TripletMarginWithDistanceLoss.forward",
    ),
    _of(
        Does.READS,
        "tests the least and the greatest label",
        "nn.functional.loss.multi_label_margin_loss",
        "nn.functional.multi_label_margin_loss nn.MultiLabelMarginLoss.forward",
    ),
    _of(
        Does.SIZES,
        "selects the rows of each cluster",
        "nn.functional.loss.adaptive_log_softmax_with_loss",
        "nn.functional.adaptive_log_softmax_with_loss nn.AdaptiveLogSoftmaxWithLoss.forward",
    ),
    # -- results of a size that is a value
    _of(
        Does.SIZES,
        "makes rows as long as the longest sequence, without `maxlen`",
        "nn.functional.extension.sequence_mask",
        "nn.functional.sequence_mask",
    )._replace(only=If(Condition.LEFT_OUT, 1, "maxlen")),
    _of(
        Does.SIZES,
        "keeps all centers of the batch, however many",
        "nn.functional.common.class_center_sample",
        "nn.functional.class_center_sample",
    ),
    _of(
        Does.SIZES,
        "keeps as many boxes as remain",
        "vision.ops.nms",
        "vision.ops.nms vision.ops.matrix_nms vision.ops.generate_proposals",
    ),
    _of(
        Does.SIZES,
        "has as many rows as there are segments",
        "geometric.math.segment_sum",
        "geometric.segment_sum geometric.segment_mean geometric.segment_max geometric.segment_min"
        " incubate.segment_sum incubate.segment_mean incubate.segment_max incubate.segment_min",
    ),
    # -- functions that test or read what they get
    _of(
        Does.READS,
        "tests in each pass of a loop whether it is done",
        "tensor.math.gcd",
        "gcd lcm Tensor.gcd Tensor.lcm",
    ),
    _of(
        Does.READS,
        "tests whether its arguments are negative",
        "tensor.math.gammaincc",
        "gammaincc gammainc Tensor.gammaincc Tensor.gammainc",
    ),
    _of(Does.READS, "tests whether the windows overlap", "signal.istft", "signal.istft Tensor.istft"),
    _of(
        Does.READS,
        "tests whether there are as many values as the mask takes",
        "tensor.manipulation.masked_scatter",
        "masked_scatter masked_scatter_ Tensor.masked_scatter Tensor.masked_scatter_",
    ),
    _of(
        Does.READS,
        "tests whether an index is too large, without broadcasting",
        "tensor.manipulation.put_along_axis",
        "scatter_add scatter_reduce Tensor.scatter_add Tensor.scatter_reduce",
    ),
    _of(
        Does.READS,
        "tests whether an index is too large, without broadcasting",
        "tensor.manipulation.put_along_axis",
        "put_along_axis",
    )._replace(only=If(Condition.OFF, 6, "broadcast")),
    _of(
        Does.READS,
        "tests whether an index is too large, without broadcasting",
        "tensor.manipulation.put_along_axis",
        "Tensor.put_along_axis",
    )._replace(only=If(Condition.OFF, 5, "broadcast")),
    _of(Does.READS, "tests the sum of the weights", "tensor.linalg.cov", "linalg.cov")._replace(
        only=If(Condition.GIVEN, 3, "fweights")
    ),
    _of(Does.READS, "tests the sum of the weights", "tensor.linalg.cov", "linalg.cov")._replace(
        only=If(Condition.GIVEN, 4, "aweights")
    ),
    _of(
        Does.READS,
        "tests in each time step whether all sequences have ended",
        "nn.decode._dynamic_decode_imperative",
        "nn.dynamic_decode",
    ),
    _of(
        Does.READS,
        "reads the size",
        "nn.functional.common.interpolate",
        "nn.functional.interpolate nn.functional.upsample",
    )._replace(only=If(Condition.TENSOR, 1, "size")),
    _of(
        Does.READS,
        "reads the factor",
        "nn.functional.common.interpolate",
        "nn.functional.interpolate nn.functional.upsample",
    )._replace(only=If(Condition.TENSOR, 2, "scale_factor")),
    _of(Does.READS, "reads the padding", "nn.functional.common.pad", "nn.functional.pad")._replace(
        only=If(Condition.TENSOR, 1, "pad")
    ),
    _of(Does.READS, "reads the bounds", "tensor.manipulation.slice", "slice")._replace(
        only=If(Condition.TENSOR, 2, "starts")
    ),
    _of(Does.READS, "reads the bounds", "tensor.manipulation.slice", "slice")._replace(
        only=If(Condition.TENSOR, 3, "ends")
    ),
    _of(Does.READS, "reads the axis", "tensor.manipulation.concat", "concat")._replace(
        only=If(Condition.TENSOR, 1, "axis")
    ),
    _of(Does.READS, "reads the axis", "tensor.manipulation.unsqueeze", "unsqueeze")._replace(
        only=If(Condition.TENSOR, 1, "axis")
    ),
    _of(Does.READS, "reads what it decides by", "static.nn.control_flow.cond", "static.nn.cond static.nn.while_loop"),
    _of(Does.READS, "reads the norm, to choose a series", "tensor.linalg.matrix_exp", "linalg.matrix_exp"),
    _of(
        Does.READS,
        "tests the number of degrees of freedom",
        "tensor.linalg.cov",
        "linalg.cov linalg.corrcoef Tensor.cov Tensor.corrcoef",
    )._replace(until="3.0"),
    _of(
        Does.READS,
        "tests its parameters",
        "distribution.student_t.StudentT._check_nonnegative",
        "distribution.StudentT distribution.Chi2",
    ),
    _of(
        Does.READS,
        "tests whether it is a probability",
        "distribution.bernoulli.Bernoulli.__init__",
        "distribution.Bernoulli distribution.Geometric",
    )._replace(until="3.0"),
    _of(Does.READS, "reads the whole tensor", "tensor.manipulation.tolist", "tolist"),
    _of(
        Does.READS,
        "reads the indices, to find the shape",
        "sparse.creation._infer_dense_shape",
        "sparse.sparse_coo_tensor",
    )._replace(only=If(Condition.LEFT_OUT, 2, "shape")),
    _of(
        Does.READS, "tests the first and the last row", "sparse.creation.sparse_csr_tensor", "sparse.sparse_csr_tensor"
    ),
    _of(
        Does.READS,
        "counts the samples of each expert",
        "incubate.distributed.models.moe.moe_layer.prepare_forward",
        "incubate.distributed.models.moe.MoELayer.forward",
    ),
    _of(
        Does.READS,
        "tests the least and the greatest value",
        "incubate.nn.functional.int_bincount.int_bincount",
        "incubate.nn.functional.int_bincount",
    ),
    # -- metrics and `paddle.Model`
    _of(
        Does.READS, "copies what it gets into arrays", "metric.metrics.Accuracy.update", "metric.Accuracy.update"
    )._replace(only=If(Condition.MAYBE, 0, "correct")),
    _of(
        Does.READS,
        "copies what it gets into arrays, and goes through them in Python",
        "metric.metrics.Precision.update",
        "metric.Precision.update metric.Recall.update metric.Auc.update",
    )._replace(only=If(Condition.MAYBE, 0, "preds")),
    _of(
        Does.READS,
        "returns losses and metrics as arrays",
        "hapi.model.DynamicGraphAdapter.train_batch",
        "Model.train_batch",
    ),
    _of(
        Does.READS,
        "returns losses and metrics as arrays",
        "hapi.model.DynamicGraphAdapter.eval_batch",
        "Model.eval_batch",
    ),
    _of(Does.READS, "returns outputs as arrays", "hapi.model.DynamicGraphAdapter.predict_batch", "Model.predict_batch"),
    # -- data of the host
    _of(Does.COPIES, "copies host data to the device", "tensor.creation._to_tensor_non_static", "to_tensor")._replace(
        only=If(Condition.DATA, 0, "data")
    ),
    _of(
        Does.DUPLICATES, "copies a tensor on the device", "tensor.creation._to_tensor_non_static", "to_tensor"
    )._replace(only=If(Condition.ALONE, 0, "data")),
    _of(
        Does.READS,
        "reads the tensors one by one, and copies them back",
        "tensor.creation._to_tensor_non_static",
        "to_tensor",
    )._replace(only=If(Condition.TENSORS, 0, "data")),
    _of(
        Does.READS,
        "copies the value to the host and back",
        "base.dygraph.tensor_patch_methods.monkey_patch_tensor",
        "Tensor.set_value",
    )._replace(only=If(Condition.TENSOR, 0, "value"), until="3.1"),
    _of(
        Does.READS,
        "copies each weight to the host and back",
        "nn.Layer.set_state_dict",
        "nn.Layer.set_state_dict nn.Layer.load_dict nn.Layer.set_dict",
    )._replace(until="3.1"),
    # -- the whole device, files, text, all processes
    PaddleCall(
        Does.WAITS, "waits for all that the device was given", "paddle.device.synchronize", tuple(sorted(SYNCHRONIZING))
    ),
    PaddleCall(
        Does.WRITES,
        "copies all tensors to the host, and writes them",
        "paddle.framework.io._build_saved_state_dict",
        tuple(sorted(SAVES)),
    ),
    _of(
        Does.WRITES,
        "copies all tensors to the host, and writes them",
        "hapi.model.DynamicGraphAdapter.save",
        "Model.save",
    ),
    _of(Does.PRINTS, "prints a table", "hapi.model_summary.summary", "summary"),
    _of(Does.PRINTS, "prints a table", "hapi.dynamic_flops.flops", "flops"),
    _of(
        Does.PRINTS,
        "prints a table",
        "amp.debugging._print_operator_stats",
        "amp.debugging.disable_operator_stats_collection",
    ),
    _of(
        Does.READS,
        "reads the objects of all processes",
        "distributed.communication.serialization_utils.convert_tensor_to_object",
        " ".join(f"distributed.{each}" for each in sorted(_OF_OBJECTS)),
    ),
    _of(
        Does.MEETS,
        "waits for the other processes",
        "distributed.all_reduce",
        " ".join(f"distributed.{each}" for each in sorted(MEETINGS)),
    ),
)
"""All that is known."""


def _by_name() -> dict[str, tuple[PaddleCall, ...]]:
    found: dict[str, tuple[PaddleCall, ...]] = {}
    for entry in TABLE:
        for call in entry.calls:
            found[call] = (*found.get(call, ()), entry)
    return found


INSIDE: Mapping[str, tuple[PaddleCall, ...]] = _by_name()
"""The same by the names of the calls."""


def short(call: str) -> str:
    """The last parts of a qualified name, for people: ``GradScaler.step``, ``GaussianNLLLoss``, ``Tensor.lcm``."""
    *_, owner, last = call.split(".")
    if not owner[:1].isupper():
        return last
    return owner if last == "forward" else f"{owner}.{last}"
