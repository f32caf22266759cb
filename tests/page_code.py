"""What the code on the rule pages and in messages is run with, and what of it is no code or cannot run here."""

from __future__ import annotations

import gc
import io
import math
import os
import pickle
import time
from typing import Any

import numpy as np
import paddle
import yaml
from paddle import nn, vision
from paddle.distributed import fleet
from paddle.io import DataLoader, IterableDataset, TensorDataset
from paddle.metric import Accuracy, Auc, Precision, Recall
from paddle.optimizer import Optimizer
from paddle.vision.transforms import Compose, Normalize, ToTensor, Transpose

RAISES: dict[str, type[Exception]] = {
    # The page or message says that the first five and the last one raise; the others need a GPU.
    "loss * mask": TypeError,
    "paddle.where(mask, x, 0)": TypeError,
    "@paddle.no_grad": TypeError,
    "paddle.device.synchronize()": TypeError,
    "paddle.device.cuda.synchronize()": RuntimeError,
    "x.cuda()": ValueError,
    "x.cpu().cuda()": ValueError,
    "x.divide(keep_prob)": ValueError,
}
"""Lines that raise on a build of Paddle 3.3.1 for the CPU."""

ABSENT = frozenset({"paddle.inference_mode", "clear_async_task_queue"})
"""Names of which a page says that they do not exist."""

SET_WHEN_MADE = {"paddle.optimizer.Optimizer.clear_gradients": "paddle.optimizer.Optimizer.clear_grad"}
"""Names of methods that an object gets when it is made, and the methods that its class has for them."""

NOT_RUN = {
    'paddle.incubate.autotune.set_config({"layout": {"enable": True}})': "changes Paddle for all tests after it",
    "paddle.device.cuda.current_stream()": "ends the process: tests/test_page_facts.py starts one for it",
    "dist.all_reduce(loss)": "waits for other processes",
    "torch.tensor([0])": "PyTorch",
    "torch.zeros": "PyTorch",
    "dataset.map(convert)": "PaddleNLP, which the tests do without",
    "lazy=True": "an argument of PaddleNLP",
    "paddlenlp.data.SamplerHelper": "PaddleNLP",
    "shuffle()": "a method of PaddleNLP's `SamplerHelper`",
    "sklearn.metrics": "scikit-learn, which the tests do without",
    "Global.calc_epoch_interval=10": "an option of PaddleOCR",
    "broadcast_overlap": "an option of PaddleFleetX",
    "dense_tensor->Holder()->size()": "C++",
    "nn.Conv*D": "stands for three classes",
    "fluid.layers.assign(tensor, parameter)": "Paddle 1.x",
    "fluid.layers.assign(new, parameter)": "Paddle 1.x",
    "parameter.set_value(tensor)": "stands for a parameter of a model",
    "fluid.layers.ones": "Paddle 1.x",
    "metric.update(loss.numpy(), weight=n)": "a metric of Paddle 1.x",
    "paddle.fluid.metrics": "Paddle 1.x",
    "import *": "a part of a statement",
    "paddle.fluid": "Paddle 1.x",
    "fluid.dygraph.no_grad": "Paddle 1.x",
    "train()": "stands for a method of a model",
    "drop_path(x, self.drop_prob, self.training)": "stands for a function of a model",
    "**kwargs": "part of a signature",
    "[tool.perflint.loaders]": "a table of the configuration",
    "df -h /dev/shm": "a shell command",
    "is not None": "half of a comparison",
    "with": "a keyword",
    "while": "a keyword",
    "axis=": "half of an argument",
    "model.no_sync()": "a method of a model in `paddle.DataParallel`",
    "with model.no_sync():": "a method of a model in `paddle.DataParallel`",
    "[batch, sequence, heads, width]": "the axes of a tensor",
    "[batch, heads, sequence, width]": "the axes of a tensor",
    "transpose([0, 2, 1, 3])": "a method of a tensor with four axes",
    "except": "a keyword",
    "finally": "a keyword",
    "model.encode(x)": "stands for a method of a model",
    "model.loss(x, y)": "stands for a method of a model",
    "lazy=False": "an argument of PaddleNLP's datasets",
    "batched=True": "an argument of the datasets of PaddleNLP and Hugging Face",
    "zero_grad(set_to_none=True)": "PyTorch",
    'return_tensors="np"': "an argument of PaddleNLP's collators",
    "exe.run(program, fetch_list=[loss])": "a program of a static graph",
    "tqdm(..., desc=...)": "stands for a call with more arguments",
    "register_buffer(..., persistable=False)": "stands for a call with a name and a tensor",
    "model.backbone.stop_gradient = True": "stands for a layer of a model",
    "self.stop_gradient = True": "stands for a layer of a model",
    "parameters()": "a method of a layer",
    "paddle.stack(losses).mean().item()": "needs a list of losses",
    'amp_configs="O1"': "an argument of `paddle.Model.prepare`",
}
"""What stands in backticks and is not run, and why."""


def names(code: str) -> dict[str, Any]:
    """The names that the lines of a page use; new ones for each line, since some change them in place."""
    model = nn.Linear(6, 3)
    x, labels = paddle.rand([4, 6]), paddle.to_tensor([0, 1, 2, 1])
    logits = model(x)
    loss = nn.functional.cross_entropy(logits, labels)
    t1, t2 = paddle.to_tensor(1.0), paddle.to_tensor(2.0)
    metric = paddle.metric.Accuracy()
    metric.update(metric.compute(logits, labels))
    optimizer = paddle.optimizer.SGD(1e-3, parameters=model.parameters())
    found: dict[str, Any] = {
        "np": np, "paddle": paddle, "nn": nn, "F": nn.functional, "vision": vision, "fleet": fleet,
        "dist": paddle.distributed, "os": os, "gc": gc, "math": math, "pickle": pickle, "time": time, "yaml": yaml,
        "DataLoader": DataLoader, "IterableDataset": IterableDataset, "TensorDataset": TensorDataset,
        "Compose": Compose, "Normalize": Normalize, "ToTensor": ToTensor, "Transpose": Transpose,
        "Accuracy": Accuracy, "Auc": Auc, "Precision": Precision, "Recall": Recall, "Optimizer": Optimizer,
        "model": model, "set_state_dict": model.set_state_dict, "loader": [x], "metric": metric, "step": 1,
        "x": x, "x16": x.astype("float16"), "y": labels, "z": x, "labels": labels, "logits": logits, "loss": loss,
        "m": x > 0.5, "mask": x > 0.5, "condition": x > 0.5, "other": paddle.zeros_like(x), "n": 3,
        "num_pos": (x > 0.5).sum(), "t": t1, "t1": t1, "t2": t2, "tensors": [t2, t1],
        "error": paddle.zeros([2]), "tolerance": 1.0, "dtype": "float64", "total": 0.0, "losses": [],
        "bad": paddle.zeros([], "int64"), "found_inf": paddle.to_tensor(False),
        "drop_prob": 0.1, "keep_prob": 0.9, "beta1": 0.9, "average": paddle.ones([3]),
        "scheduler": paddle.optimizer.lr.StepDecay(0.1, 2),
        "optimizer": optimizer, "scaler": paddle.amp.GradScaler(), "layer": model, "state_dict": model.state_dict,
        "p": model.weight, "c": 0.1, "ParamAttr": paddle.ParamAttr, "path": io.BytesIO(),
        "cross_entropy": nn.functional.cross_entropy, "softmax": nn.functional.softmax,
        "log_softmax": nn.functional.log_softmax, "nll_loss": nn.functional.nll_loss,
        "onehot": lambda y: nn.functional.one_hot(y, 6), "ids": labels, "table": paddle.rand([3, 5]),
        "DataParallel": paddle.DataParallel, "no_sync": paddle.DataParallel.no_sync, "k": 4,
        "ignore_index": 255, "weight": paddle.rand([3]), "names": iter(["a"]),
        "number": 2.0, "tensor": t2, "value": 0.5, "limit": -1.0,
        "x_train": x, "zeros": paddle.zeros_like(x),
        "a": 0, "b": 2, "i": 1, "j": 2, "in_channels": 3, "kernel_height": 3, "kernel_width": 3,
        "snapshot": {name: value.clone() for name, value in model.state_dict().items()},
    }  # fmt: skip
    if code == "PPF207":
        found["loss"] = x.clone()
        found["m"] = found["mask"].astype("float32")
    return found


OTHER_NAMES: dict[str, dict[str, Any]] = {
    "paddle.bincount(x)": {"x": paddle.to_tensor([0, 2, 2])},
    "paddle.repeat_interleave(x, n)": {"x": paddle.rand([3]), "n": paddle.to_tensor([1, 0, 2])},
    "paddle.to_tensor(x)": {"x": np.ones(3)},
    "np.random.choice(n, k, replace=False)": {"n": 9},
    'config.get("num_workers", 0)': {"config": {}},
    "int(x)": {"x": paddle.to_tensor(2.5)},
    "x.item()": {"x": paddle.to_tensor(2.5)},
    "float(x)": {"x": paddle.to_tensor(2.5)},
    "t and x": {"x": paddle.to_tensor(2.5)},
    ".item()": {"x": paddle.to_tensor(2.5)},
    "F.one_hot(x, n).sum(0)": {"x": paddle.to_tensor([0, 2, 2])},
    "F.mse_loss(paddle.where(mask, x, zeros), paddle.where(mask, y, zeros))": {"y": paddle.ones([4, 6])},
    "x = paddle.concat([x, y])": {"y": paddle.ones([4, 6])},
    "y = paddle.where(mask, x, y)": {"y": paddle.ones([4, 6])},
    "x[i][mask[i]].max()": {"mask": paddle.ones([4, 6], "bool")},
    "y[mask] = x[mask]": {"y": paddle.ones([4, 6])},
    "paddle.matmul(x, y)": {"y": paddle.ones([6, 2])},
    "F.binary_cross_entropy(F.sigmoid(x), y)": {"y": paddle.ones([4, 6])},
    "(F.one_hot(ids, n) * x).sum(-1)": {"x": paddle.rand([4, 3])},
    "paddle.gather(weight, ids.flatten()).reshape(ids.shape)": {"weight": paddle.rand([3])},
    "ids * (ids != ignore_index).astype(ids.dtype)": {"ignore_index": 2},
    ".bias": {"x": nn.Linear(2, 2)},
    "k * m + q * (1 - m)": {"k": paddle.ones([3]), "q": paddle.ones([3]), "m": 0.9},
    "k.lerp_(q, share)": {"k": paddle.ones([3]), "q": paddle.ones([3]), "share": paddle.full([1], 0.1)},
    "cost.argsort(axis=1).argsort(axis=1) < ks.unsqueeze(1)": {
        "cost": paddle.rand([3, 5]),
        "ks": paddle.to_tensor([1, 2, 3]),
    },
    "paddle.topk(cost[i], k=ks[i])": {"cost": paddle.rand([3, 5]), "ks": paddle.to_tensor([1, 2, 3])},
    "x.argsort(axis=1).argsort(axis=1) < k.unsqueeze(1)": {"k": paddle.to_tensor([1, 2, 3, 4])},
    "x[paddle.arange(n), labels]": {"n": 4},
    "paddle.metric.accuracy(logits, y)": {"y": paddle.to_tensor([[0], [1], [2], [1]])},
}
"""Lines whose names stand for something else than on most pages."""

PARAMETERS = {
    "sync_other_task": paddle.async_save,
    "use_structured_name": nn.Layer.set_state_dict,
    "find_unused_parameters": paddle.DataParallel,
    "persistable": nn.Layer.register_buffer,
    "verbose": paddle.Model.fit,
    "log_freq": paddle.Model.fit,
    "data_format": nn.Conv2D,
    "reduction": nn.functional.cross_entropy,
    "timer_only": paddle.profiler.Profiler,
    "scheduler": paddle.profiler.Profiler,
    "enable": paddle.amp.GradScaler,
    "retain_graph": paddle.grad,
    "create_graph": paddle.grad,
    "set_to_zero": Optimizer.clear_grad,
    "use_multi_tensor": paddle.optimizer.Adam,
    "bias": nn.Conv2D,
    "bias_attr": nn.Conv2D,
    "use_softmax": nn.functional.cross_entropy,
    "keepdim": paddle.sum,
    "level": paddle.amp.auto_cast,
    "use_dynamic_loss_scaling": paddle.amp.GradScaler,
    "custom_black_list": paddle.amp.auto_cast,
}
"""Whose parameter a `name=value` is, where it is not one of `paddle.io.DataLoader`."""
