"""Kinds of values: which names hold device tensors, and how much is known of them."""

from __future__ import annotations

import inspect
from itertools import product

import paddle
import pytest
from paddle.nn import functional

from perflint.index import kinds
from perflint.index.kinds import DATASET, HOST, ITERABLE, LOADER, LOSS, SCALAR, TENSOR, UNKNOWN, Kind, join
from perflint.paddle import call_results
from tests.support import expect_marked, expect_marked_in_step, in_step, kind_at_end, places, returned

HEADER = """\
import math
import time
import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.io import DataLoader, Dataset, IterableDataset

model = nn.Linear(8, 8)
x = paddle.rand([4, 8])
loss = F.mse_loss(model(x), x)
optimizer = paddle.optimizer.Adam(parameters=model.parameters())
scaler = paddle.amp.GradScaler()
"""


def kind(expression: str) -> Kind:
    return kind_at_end(f"{HEADER}value = {expression}\n", "value")


@pytest.mark.parametrize(
    "expression",
    [
        "F.cross_entropy(x, x)",
        "F.cross_entropy(x, x, reduction='sum')",
        "nn.CrossEntropyLoss()(x, x)",
        "paddle.mean(x)",
        "x.mean()",
        "(x - 1).mean()",
        "loss * 2",
        "0.5 * loss + loss",
        "-loss",
        "loss.detach()",
        "loss.clone().detach().cuda()",
        "scaler.scale(loss)",
        "loss if time.time() else loss * 2",
    ],
)
def test_a_floating_number_on_the_device(expression: str) -> None:
    assert kind(expression) == LOSS


@pytest.mark.parametrize(
    "expression",
    [
        "F.cross_entropy(x, x, reduction='none')",
        "F.cross_entropy(x, x, reduction=mode)",
        "F.mse_loss(x, x, 'none')",
        "F.mse_loss(x, x, **options)",
        "nn.MSELoss('none')(x, x)",
        "nn.CrossEntropyLoss(reduction='none')(x, x)",
        "nn.HSigmoidLoss(8, 4)(x, x)",
        "nn.AdaptiveLogSoftmaxWithLoss(8, 4, [2])(x, x)[0]",
        "x.mean(axis=0)",
        "x.mean(0)",
        "x.mean(keepdim=True)",
        "paddle.mean(x, 1)",
        "loss * x",
        "loss * np.ones(3)",
        "loss + other",
        "x[0]",
        "x.T",
        "F.softmax(x)",
        "model(x)",
        "model.forward(x)",
        "paddle.to_tensor([1.0])",
        "x.astype('float32')",
        "x > 0",
    ],
)
def test_a_tensor_that_may_hold_many_numbers(expression: str) -> None:
    found = kind(expression)
    assert found.is_tensor
    assert not found.scalar


@pytest.mark.parametrize("expression", ["(x > 0).sum()", "x.max()", "paddle.sum(x)", "x.sum() * 2"])
def test_a_single_number_that_may_be_whole(expression: str) -> None:
    assert kind(expression) == SCALAR


@pytest.mark.parametrize(
    "expression",
    [
        "1",
        "'text'",
        "f'{loss}'",
        "'%f' % loss",
        "float(loss)",
        "loss.item()",
        "loss.numpy()",
        "loss.numpy()[0]",
        "loss.numpy().mean()",
        "loss.detach().cpu()",
        "np.array(x)",
        "np.random.rand(3) * 2",
        "len(x)",
        "x.shape",
        "x.shape[0]",
        "x.shape[0] * 2",
        "x.dtype",
        "x.ndim",
        "x.dim()",
        "x.is_floating_point()",
        "time.time() - 1",
        "math.sqrt(2)",
        "optimizer.get_lr()",
        "paddle.distributed.get_rank()",
        "paddle.get_device()",
        "x is None",
        "not x",
        "1 in x",
        "range(3)",
        "[1, 2]",
        "[float(v) for v in x]",
        "sum([1, 2])",
        "str(loss)",
        "x.tolist()",
    ],
)
def test_what_is_on_the_host(expression: str) -> None:
    assert kind(expression).is_host


@pytest.mark.parametrize(
    "expression", ["something", "something.loss.other", "args.lr", "paddle.load('x')", "config['lr']", "a + b"]
)
def test_what_is_not_known(expression: str) -> None:
    assert kind(expression) == UNKNOWN


@pytest.mark.parametrize(
    "expression",
    [
        "[loss, 1]",
        "(1, loss)",
        "{'a': loss}",
        "[v for v in x]",
        "[v * 2 for v in (x, x)]",
        "{k: v for k, v in zip('ab', x)}",
    ],
)
def test_what_holds_tensors(expression: str) -> None:
    assert kind(expression).is_tensor


def test_loaders_and_datasets() -> None:
    assert kind("DataLoader(data)") == LOADER
    assert kind("train_loader") == LOADER
    assert kind("args.load_loader_config") == UNKNOWN
    assert kind("paddle.vision.datasets.MNIST()") == DATASET
    assert kind("paddle.io.TensorDataset([x])") == DATASET
    classes = "class A(Dataset): pass\nclass B(IterableDataset): pass\nclass C(DataLoader): pass\nclass D(A): pass\n"
    for name, expected in {"A": DATASET, "B": ITERABLE, "C": LOADER, "D": DATASET}.items():
        assert kind_at_end(f"{HEADER}{classes}value = {name}()\n", "value") == expected


def test_loss_functions_of_paddle_reduce_by_default() -> None:
    for name in call_results.LOSS_FUNCTIONS:
        assert inspect.signature(getattr(functional, name)).parameters["reduction"].default == "mean"


def test_loss_layers_taken_for_a_number_reduce_by_default() -> None:
    for name in dir(paddle.nn):
        if name.endswith("Loss") and call_results.layer_result(f"paddle.nn.{name}") == LOSS:
            assert inspect.signature(getattr(paddle.nn, name).__init__).parameters["reduction"].default == "mean"


def test_host_methods_and_attributes_of_a_tensor_are_real() -> None:
    tensor = paddle.ones([2])
    legacy = {"get_shape", "keys", "lod", "recursive_sequence_lengths"}  # of Paddle 1.x, or of dicts
    for name in call_results.HOST_METHODS | call_results.HOST_ATTRIBUTES:
        assert name in legacy or hasattr(tensor, name), name


def test_unpacking() -> None:
    text = HEADER + "a, (b, *c), d = 1, (loss, x, x), time.time()\n"
    assert kind_at_end(text, "a") == HOST
    assert kind_at_end(text, "b").is_tensor
    assert kind_at_end(text, "c").is_tensor
    assert kind_at_end(text, "d") == HOST


def test_targets_of_loops() -> None:
    text = HEADER + "for i, (image, label) in enumerate(zip(train_loader, range(3))): pass\n"
    assert kind_at_end(text, "i") == HOST
    assert kind_at_end(text, "image") == TENSOR
    assert kind_at_end(text, "label") == HOST
    text = HEADER + "losses = {'a': loss}\nfor name, value in losses.items(): pass\n"
    assert kind_at_end(text, "name") == HOST
    assert kind_at_end(text, "value").is_tensor
    text = HEADER + "from tqdm import tqdm\nfor batch in tqdm(train_loader, desc='train'): pass\n"
    assert kind_at_end(text, "batch") == TENSOR


def test_a_name_holds_what_it_was_given_last() -> None:
    assert kind_at_end(HEADER + "value = loss\nvalue = value.item()\n", "value") == HOST
    assert kind_at_end(HEADER + "value = 1\nvalue = loss\n", "value") == LOSS
    assert kind_at_end(HEADER + "value: float = 1.0\nvalue: paddle.Tensor = loss\n", "value") == LOSS


def test_where_paths_meet_device_data_wins() -> None:
    text = HEADER + "value = 0.0\nif model:\n    value = loss\n"
    assert kind_at_end(text, "value").is_tensor
    assert not kind_at_end(text, "value").scalar
    text = HEADER + "value = loss\nif model:\n    value = 0\n    raise RuntimeError\n"
    assert kind_at_end(text, "value") == LOSS
    text = HEADER + "try:\n    value = loss\nexcept E:\n    value = 1\n"
    assert kind_at_end(text, "value").is_tensor
    text = HEADER + "match model:\n    case 1:\n        value = loss\n    case _:\n        value = 1\n"
    assert kind_at_end(text, "value").is_tensor


def test_two_losses_agree_only_on_what_both_are() -> None:
    text = HEADER + "if model:\n    criterion = nn.MSELoss()\nelse:\n    criterion = nn.MSELoss(reduction='none')\n"
    assert not kind_at_end(text + "value = criterion(x, x)\n", "value").scalar
    text = HEADER + "if model:\n    criterion = nn.MSELoss()\nelse:\n    criterion = nn.L1Loss()\n"
    assert kind_at_end(text + "value = criterion(x, x)\n", "value").is_tensor


def test_running_sums() -> None:
    text = HEADER + "total = 0.0\ncount = 0\nfor batch in train_loader:\n    total += loss\n    count += 1\n"
    assert kind_at_end(text, "total").is_tensor
    assert kind_at_end(text, "count") == HOST


def test_lists_that_tensors_are_put_into() -> None:
    text = HEADER + "a = []\nb = []\nfor batch in train_loader:\n    a.append(loss)\n    b.append(loss.item())\n"
    assert kind_at_end(text, "a").is_tensor
    assert not kind_at_end(text, "b").is_tensor


def test_a_second_pass_sees_what_the_first_left_behind() -> None:
    expect_marked(
        """
        import paddle

        def train(model, loader, optimizer):
            last = None
            for x in loader:
                if last is not None:
                    print(last)  #: PPF202
                loss = model(x).mean()
                loss.backward()
                optimizer.step()
                last = loss
        """
    )


def test_deeply_nested_loops_are_walked_in_reasonable_time() -> None:
    text = HEADER + "".join(f"{'    ' * depth}for i{depth} in range(2):\n" for depth in range(40))
    assert kind_at_end(text + "    " * 40 + "value = loss\n", "value").is_tensor


@pytest.mark.parametrize("terms", [50, 400, 900])
def test_long_sums(terms: int) -> None:
    assert kind_at_end(HEADER + f"value = {' + '.join(['loss'] * terms)}\nafter = loss\n", "after") == LOSS


def test_what_functions_return() -> None:
    text = HEADER + (
        "def number():\n    return loss.item()\n"
        "def tensor():\n    return F.cross_entropy(x, x)\n"
        "def either(flag):\n    if flag:\n        return 0.0\n    return tensor()\n"
        "def both():\n    return tensor(), number()\n"
        "def recursive(n):\n    return recursive(n - 1)\n"
    )
    assert returned(text, "number") == HOST
    assert returned(text, "tensor") == LOSS
    assert returned(text, "either").is_tensor
    assert returned(text, "both").items == (LOSS, HOST)
    assert returned(text, "recursive") == UNKNOWN


def test_join_is_symmetric_in_what_matters() -> None:
    every = [UNKNOWN, HOST, TENSOR, LOSS, SCALAR, LOADER, DATASET, kinds.tuple_of([]), kinds.tuple_of([LOSS])]
    every += [kinds.layer("m.A"), kinds.layer("paddle.nn.MSELoss"), kinds.layer("paddle.nn.MSELoss|none")]
    for one, other in product(every, every):
        a, b = join(one, other), join(other, one)
        assert (a.tag, a.is_tensor, a.is_host, a.scalar, a.floating) == (
            b.tag,
            b.is_tensor,
            b.is_host,
            b.scalar,
            b.floating,
        )
        if a.tag == kinds.LAYER_TAG:
            assert call_results.layer_result(a.type) == call_results.layer_result(b.type)


def test_names_that_are_tensors_because_they_are_trained_on() -> None:
    expect_marked(
        """
        import paddle

        def train(step_fn, loader, optimizer):
            for x in loader:
                objective, extra = step_fn(x)
                objective.backward()
                optimizer.step()
                print(objective)  #: PPF202
                print(extra)  #: PPF405
        """
    )


def test_names_that_only_sound_like_a_loss() -> None:
    expect_marked_in_step(
        """
        loss_weight = float(args.loss_weight)
        loss_name = str(args.loss_name)
        meter.update(float(loss_weight), float(args.alpha), int(step), float(optimizer.get_lr()), len(y))
        meter.update(int(x.shape[0]), float(np.mean([1, 2])), x.shape.tolist())
        host = loss.numpy()  #: PPF201
        meter.update(float(host), host.item(), host.mean().tolist(), np.mean(host))
        """
    )


@pytest.mark.parametrize(
    "read",
    [
        "loss.item()",
        "loss.numpy()",
        "loss.numpy()[0]",
        "loss.cpu().numpy()",
        "loss.detach().cpu().numpy().mean()",
        "loss.tolist()",
        "float(loss)",
        "int(loss)",
        "bool(loss)",
        "np.array(loss)",
        "np.asarray(loss)",
        "np.mean(loss)",
        "np.isnan(loss)",
        "float(x.sum() / 2)",
        "float(paddle.max(x))",
        "[v.item() for v in (loss, x)]",
        "{k: v.numpy() for k, v in {'a': loss}.items()}",
        "sum(v.item() for v in [loss])",
        "float((y == x).sum())",
    ],
)
def test_every_spelling_of_a_host_read(read: str) -> None:
    expect_marked_in_step(f"meter.update({read})  #: PPF201\n")


@pytest.mark.parametrize(
    "log",
    [
        "print(loss)",
        "print(loss.item())",
        "print('loss', float(loss))",
        "print(f'{loss:.3f}')",
        "print(f'{loss.item():.3f} {step}')",
        "print('%d %f' % (step, loss))",
        "print('{} {}'.format(step, loss))",
        "print('{l}'.format(l=loss))",
        "print('loss: ' + str(loss))",
        "logger.info('loss %f', loss)",
        "logging.info(loss.numpy())",
        "self.logger.warning(f'{loss}')",
        "get_logger().info(loss)",
        "pbar.set_postfix(loss=loss.item())",
        "pbar.set_postfix({'loss': loss})",
        "pbar.set_description(f'{loss}')",
        "tqdm.write(str(loss))",
        "writer.add_scalar('loss', loss, step)",
        "writer.add_scalar(tag='loss', value=float(loss), step=step)",
        "wandb.log({'loss': loss})",
        "print(*[loss])",
        "print(loss if step else 0)",
        "print([v for v in (loss, x)])",
    ],
)
def test_every_spelling_of_a_log_with_a_tensor_in_it(log: str) -> None:
    expect_marked_in_step(f"{log}  #: PPF202\n")


@pytest.mark.parametrize(
    "log",
    [
        "print(step)",
        "print()",
        "print('step', step, len(loader), x.shape, y.dtype)",
        "logger.info('%d', step)",
        "pbar.set_description('epoch')",
        "writer.add_scalar('lr', optimizer.get_lr(), step)",
        "print(f'{step} {time.time()}')",
    ],
)
def test_a_log_without_a_tensor_in_it(log: str) -> None:
    expect_marked_in_step(f"{log}  #: PPF405\n")


@pytest.mark.parametrize(
    "call",
    [
        "blueprint(loss)",
        "catalog.info(loss)",
        "model.train()",
        "math.log(step)",
        "paddle.log(loss)",
        "loss.log()",
        "f.write(text)",
    ],
)
def test_calls_that_only_sound_like_a_log(call: str) -> None:
    expect_marked_in_step(f"{call}\n")


def test_a_print_of_ones_own_is_not_the_builtin() -> None:
    expect_marked("from rich import print\n" + in_step("print(loss)"))


def test_a_dict_of_numbers_read_to_the_host_holds_no_tensor() -> None:
    files = """\
    import paddle


    class Trainer:
        def step(self, batch):
            loss = self.model(batch)
            loss.backward()
            self.optimizer.step()
            return {"loss": loss.numpy(), "aux": loss.item(), "lr": self.scheduler.now()}


    def train(loader):
        trainer = Trainer()
        for batch in loader:
            losses = trainer.step(batch)
            message = ""
            for name, value in losses.items():
                message += "%s %f" % (name, value)
    """
    assert [place[1] for place in places(files, "PPF201", "PPF202")] == [9, 9]
