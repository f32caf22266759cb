"""Runs calls of Paddle under the recorder of ``perflint bench``, and prints what each does.

It imports nothing of perflint but the recorder, so that any Paddle can run it.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
import types
import warnings
from typing import Any

from perflint.bench.runner.watched_calls import WatchedCall, Watcher, watch

READS = ["item", "numpy", "tolist", "cpu"]
READS += [f"__{name}__" for name in ("float", "int", "bool", "index", "array", "str", "format")]

EXAMPLES = {
    "paddle.amp.GradScaler.step": "s = scaler(); s.scale(loss()).backward(); s.step(sgd)",
    "paddle.amp.GradScaler.minimize": "s = scaler(); l = s.scale(loss()); l.backward(); s.minimize(sgd, l)",
    "paddle.nn.utils.clip_grad_norm_": "loss().backward(); p.nn.utils.clip_grad_norm_(weights, 1.0, 2.0, True)",
    "paddle.optimizer.ASGD.step": "o = p.optimizer.ASGD(parameters=weights); loss().backward(); o.step()",
    "paddle.optimizer.ASGD.minimize": "l = loss(); l.backward(); p.optimizer.ASGD(parameters=weights).minimize(l)",
    "paddle.optimizer.LBFGS.step": "p.optimizer.LBFGS(max_iter=2, parameters=weights).step(closure)",
    "paddle.incubate.optimizer.LBFGS.step": "p.incubate.optimizer.LBFGS(max_iter=2, parameters=weights).step(closure)",
    "paddle.optimizer.lr.ReduceOnPlateau.step": "s = p.optimizer.lr.ReduceOnPlateau(0.1); s.step(one); s.step(one)",
    "paddle.nn.functional.cross_entropy": "F.cross_entropy(x, labels)",
    "paddle.nn.CrossEntropyLoss.forward": "p.nn.CrossEntropyLoss()(x, labels)",
    "paddle.nn.functional.gaussian_nll_loss": "F.gaussian_nll_loss(x, x, p.abs(x) + 1)",
    "paddle.nn.GaussianNLLLoss.forward": "p.nn.GaussianNLLLoss()(x, x, p.abs(x) + 1)",
    "paddle.nn.functional.triplet_margin_with_distance_loss": "F.triplet_margin_with_distance_loss(x, x + 1, x - 1)",
    "paddle.nn.TripletMarginWithDistanceLoss.forward": "p.nn.TripletMarginWithDistanceLoss()(x, x + 1, x - 1)",
    "paddle.nn.functional.multi_label_margin_loss": "F.multi_label_margin_loss(x, many)",
    "paddle.nn.MultiLabelMarginLoss.forward": "p.nn.MultiLabelMarginLoss()(x, many)",
    "paddle.nn.functional.adaptive_log_softmax_with_loss": (
        "l = p.nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2]);"
        " F.adaptive_log_softmax_with_loss(x, labels, l.head_weight, l.tail_weights, [2, 6])"
    ),
    "paddle.nn.AdaptiveLogSoftmaxWithLoss.forward": "p.nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2])(x, labels)",
    "paddle.nn.functional.sequence_mask": "sizes(*[F.sequence_mask(p.to_tensor([1, n])) for n in (2, 9)])",
    "paddle.nn.functional.class_center_sample": (
        "a = F.class_center_sample(p.to_tensor([0, 1, 2, 3]), 20, 2, None)[1];"
        " sizes(a, F.class_center_sample(p.to_tensor([0, 0, 0, 1]), 20, 2, None)[1])"
    ),
    "paddle.vision.ops.nms": "sizes(*[p.vision.ops.nms(each, 0.5) for each in boxes])",
    "paddle.vision.ops.matrix_nms": (
        "a = [p.vision.ops.matrix_nms(b.unsqueeze(0), p.ones([1, 2, 2]), 0.1, 0.9, 9, 9, background_label=-1)[0]"
        " for b in boxes]; sizes(*a)"
    ),
    "paddle.vision.ops.generate_proposals": (
        "g = p.vision.ops.generate_proposals; shape = p.to_tensor([[50.0, 50.0]]);"
        " sizes(*[g(p.ones([1, 1, 2, 1]), p.zeros([1, 4, 2, 1]), shape, b.reshape([2, 1, 1, 4]),"
        " p.ones([2, 1, 1, 4]), nms_thresh=0.5, return_rois_num=True)[0] for b in boxes])"
    ),
    **{
        f"paddle.{owner}.segment_{name}": (
            f"sizes(*[p.{owner}.segment_{name}(x, p.to_tensor([0] * (len(x) - 1) + [last])) for last in (1, 5)])"
        )
        for owner in ("geometric", "incubate")
        for name in ("sum", "mean", "max", "min")
    },
    "paddle.gcd": "p.gcd(labels, labels)",
    "paddle.lcm": "p.lcm(labels, labels)",
    "paddle.Tensor.gcd": "labels.gcd(labels)",
    "paddle.Tensor.lcm": "labels.lcm(labels)",
    "paddle.gammaincc": "p.gammaincc(one, one)",
    "paddle.gammainc": "p.gammainc(one, one)",
    "paddle.Tensor.gammaincc": "one.gammaincc(one)",
    "paddle.Tensor.gammainc": "one.gammainc(one)",
    "paddle.signal.istft": "p.signal.istft(p.signal.stft(p.randn([8, 600]), 64), 64)",
    "paddle.Tensor.istft": "p.signal.stft(p.randn([8, 600]), 64).istft(64)",
    "paddle.masked_scatter": "p.masked_scatter(x, x > 0, x)",
    "paddle.masked_scatter_": "p.masked_scatter_(x, x > 0, x.clone())",
    "paddle.Tensor.masked_scatter": "x.masked_scatter(x > 0, x)",
    "paddle.Tensor.masked_scatter_": "x.clone().masked_scatter_(x > 0, x)",
    "paddle.scatter_add": "p.scatter_add(x, 0, p.zeros_like(x, dtype='int64'), x)",
    "paddle.scatter_reduce": "p.scatter_reduce(x, 0, p.zeros_like(x, dtype='int64'), x, 'sum')",
    "paddle.Tensor.scatter_add": "x.scatter_add(0, p.zeros_like(x, dtype='int64'), x)",
    "paddle.Tensor.scatter_reduce": "x.scatter_reduce(0, p.zeros_like(x, dtype='int64'), x, 'sum')",
    "paddle.put_along_axis": "p.put_along_axis(x, p.zeros_like(x, dtype='int64'), x, 0, 'add', True, False)",
    "paddle.Tensor.put_along_axis": "x.put_along_axis(p.zeros_like(x, dtype='int64'), x, 0, 'add', True, False)",
    "paddle.linalg.cov": "p.linalg.cov(x, True, True, p.ones([4], 'int64'), p.ones([4]))",
    "paddle.nn.dynamic_decode": (
        "n = p.nn; cell = n.GRUCell(4, 4); e = n.Embedding(9, 4); out = n.Linear(4, 9);"
        " d = n.BeamSearchDecoder(cell, 0, 1, 2, embedding_fn=e, output_fn=out);"
        " n.dynamic_decode(d, inits=cell.get_initial_states(x), max_step_num=3)"
    ),
    "paddle.nn.functional.interpolate": "F.interpolate(image, size); F.interpolate(image, None, factor)",
    "paddle.nn.functional.upsample": "F.upsample(image, size); F.upsample(image, None, factor)",
    "paddle.nn.functional.pad": "F.pad(image, p.to_tensor([1, 1, 1, 1], 'int32'))",
    "paddle.slice": "p.slice(x, [0], [p.to_tensor(0)], [2]); p.slice(x, [0], [0], [p.to_tensor(2)])",
    "paddle.tolist": "p.tolist(x)",
    "paddle.concat": "p.concat([x, x], axis=p.to_tensor(0, 'int32'))",
    "paddle.unsqueeze": "p.unsqueeze(x, p.to_tensor([0], 'int32'))",
    "paddle.static.nn.cond": "p.static.nn.cond(one > 0, lambda: one, lambda: one)",
    "paddle.static.nn.while_loop": "p.static.nn.while_loop(lambda a: a < 3, lambda a: a + 1, [one])",
    "paddle.linalg.matrix_exp": "p.linalg.matrix_exp(x)",
    "paddle.linalg.corrcoef": "p.linalg.corrcoef(x)",
    "paddle.Tensor.cov": "x.cov()",
    "paddle.Tensor.corrcoef": "x.corrcoef()",
    "paddle.distribution.StudentT": "p.distribution.StudentT(one, one, one)",
    "paddle.distribution.Chi2": "p.distribution.Chi2(one)",
    "paddle.distribution.Bernoulli": "p.distribution.Bernoulli(one / 2)",
    "paddle.distribution.Geometric": "p.distribution.Geometric(one / 2)",
    "paddle.nn.Layer.set_state_dict": "net.set_state_dict(weights_of(net))",
    "paddle.nn.Layer.set_dict": "net.set_dict(weights_of(net))",
    "paddle.nn.Layer.load_dict": "net.load_dict(weights_of(net))",
    "paddle.amp.debugging.disable_operator_stats_collection": (
        "d = p.amp.debugging; d.enable_operator_stats_collection(); x + x; d.disable_operator_stats_collection()"
    ),
    "paddle.sparse.sparse_coo_tensor": "p.sparse.sparse_coo_tensor(p.to_tensor([[0, 1], [1, 0]]), p.ones([2]))",
    "paddle.sparse.sparse_csr_tensor": (
        "p.sparse.sparse_csr_tensor(p.to_tensor([0, 1, 2]), p.to_tensor([0, 1]), p.ones([2]), [2, 2])"
    ),
    "paddle.metric.Accuracy.update": "m = p.metric.Accuracy(); m.update(m.compute(x, labels.unsqueeze(1)))",
    "paddle.metric.Precision.update": "p.metric.Precision().update(p.rand([4]), p.ones([4]))",
    "paddle.metric.Recall.update": "p.metric.Recall().update(p.rand([4]), p.ones([4]))",
    "paddle.metric.Auc.update": "p.metric.Auc().update(p.ones([4, 2]) / 2, p.ones([4, 1], 'int64'))",
    "paddle.Model.train_batch": "model().train_batch([x], [labels])",
    "paddle.Model.eval_batch": "model().eval_batch([x], [labels])",
    "paddle.Model.predict_batch": "model().predict_batch([x])",
    "paddle.Model.save": "model().save(path)",
    "paddle.to_tensor": "p.to_tensor([1, 2])",
    "paddle.Tensor.set_value": "p.zeros_like(x).set_value(x)",
    "paddle.save": "p.save(net.state_dict(), path)",
    "paddle.jit.save": "p.jit.save(net, path, [p.static.InputSpec([None, 4])])",
    "paddle.summary": "p.summary(net, (1, 4))",
    "paddle.flops": "p.flops(net, [1, 4], print_detail=True)",
}
"""A program for each call that a CPU can run, with the names of ``_names``."""

TWICE = {
    "paddle.to_tensor(x)": "p.to_tensor(x)",
    "paddle.to_tensor([x])": "p.to_tensor([one, one])",
}
"""Other uses of a call, for which the table says something else."""


class Noting(Watcher):
    """Keeps the kinds of the watched calls of an example."""

    kinds: list[str]

    def around(self, call: WatchedCall, function: Any, arguments: Any, keywords: Any) -> Any:
        """Note a call, and make it."""
        self.kinds.append(call.kind)
        return function(*arguments, **keywords)


def _names(paddle: Any, noting: Noting, directory: str) -> dict[str, Any]:
    """What the examples use."""
    paddle.seed(1)
    net = paddle.nn.Linear(4, 4)
    sgd = paddle.optimizer.SGD(parameters=net.parameters())

    def loss() -> Any:
        return net(paddle.ones([2, 4])).mean()

    def closure() -> Any:
        net.clear_gradients()
        found = loss()
        found.backward()
        return found

    def scaler() -> Any:
        """A scaler that is on, as on a GPU."""
        module = sys.modules["paddle.amp.grad_scaler"]
        tracer = module._dygraph_tracer
        place = types.SimpleNamespace(is_gpu_place=lambda: True)
        module._dygraph_tracer = lambda: types.SimpleNamespace(_expected_place=place)  # type: ignore[attr-defined]
        try:
            return paddle.amp.GradScaler(use_dynamic_loss_scaling=False)
        finally:
            module._dygraph_tracer = tracer  # type: ignore[attr-defined]

    def model() -> Any:
        made = paddle.Model(net)
        made.prepare(sgd, paddle.nn.CrossEntropyLoss(reduction="sum"))
        return made

    def sizes(one: Any, other: Any) -> None:
        """The size of a result depends on values if two calls that differ in nothing else give different ones."""
        if list(one.shape) != list(other.shape):
            noting.kinds.append("sized")

    return {
        "p": paddle,
        "F": paddle.nn.functional,
        "net": net,
        "sgd": sgd,
        "weights": net.parameters(),
        "x": paddle.randn([4, 4]),
        "one": paddle.to_tensor(1.0),
        "labels": paddle.to_tensor([0, 1, 2, 3]),
        "many": paddle.zeros([4, 4], "int64"),
        "size": paddle.to_tensor([4, 4]),
        "factor": paddle.to_tensor(2.0),
        "image": paddle.ones([1, 1, 2, 2]),
        "boxes": [
            paddle.to_tensor([[0.0, 0, 9, 9], [0, 0, 9, 8]]),
            paddle.to_tensor([[0.0, 0, 9, 9], [20, 20, 29, 29]]),
        ],
        "path": f"{directory}/saved",
        "weights_of": lambda layer: {name: each.clone() for name, each in layer.state_dict().items()},
        **{made.__name__: made for made in (loss, closure, scaler, model, sizes)},
    }


def main() -> None:
    """Print, as JSON, the kinds of what each example did, or the error that it raised."""
    import paddle

    warnings.simplefilter("ignore")
    found: dict[str, Any] = {"paddle": paddle.__version__}
    with tempfile.TemporaryDirectory() as directory:
        noting = Noting({"copy": directory})
        noting.kinds = []
        watch(paddle, noting, READS)
        for call, code in {**EXAMPLES, **TWICE}.items():
            names = _names(paddle, noting, directory)
            noting.kinds = []
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(code, names)
                found[call] = [*noting.kinds]
            except Exception as error:
                found[call] = repr(error)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
