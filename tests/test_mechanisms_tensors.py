"""What is a tensor on the device, and what is a number, an array or a text on the host already.

Each marked row reads a device tensor; a row without a mark reads nothing that is not on the host already.
"""

from __future__ import annotations

from textwrap import dedent, indent

import paddle
import pytest

from perflint.paddle.tensor_methods import may_have
from tests.support import check, expect_marked_in_step, expect_reads, in_step

FIT = """\
import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.io import DataLoader


def fit(model, dataset, optimizer, scheduler, args, history):
    loader = DataLoader(dataset, batch_size=32)
    criterion = nn.CrossEntropyLoss()
    metric = paddle.metric.Accuracy()
    for step, (images, labels) in enumerate(loader):
        logits = model(images)
        loss = criterion(logits, labels)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
{body}
"""


def expect_in_step(body: str) -> None:
    """The marked rows of a step's end read a device tensor, the others none."""
    expect_reads(FIT.format(body=indent(dedent(body).strip("\n"), " " * 8)))


# --- one name after another


def test_a_name_that_is_bound_again_to_a_number() -> None:
    expect_in_step(
        """
        history.append(float(loss))  #: PPF201
        loss = loss.item()  #: PPF201
        history.append(float(loss))
        history.append(round(float(loss), 4))
        """
    )


def test_a_name_that_is_bound_again_to_a_tensor() -> None:
    expect_in_step(
        """
        value = 0.0
        history.append(float(value))
        value = loss * 2
        history.append(float(value))  #: PPF201
        value = value.numpy()  #: PPF201
        history.append(float(value))
        value = paddle.to_tensor(value)
        history.append(float(value))  #: PPF201
        """
    )


def test_a_name_that_is_bound_in_one_branch_only() -> None:
    expect_in_step(
        """
        if args.smooth:
            shown = loss.item()  #: PPF201
        else:
            shown = args.value
        history.append(float(shown))
        if args.smooth:
            kept = loss * 0.9
        else:
            kept = loss
        history.append(float(kept))  #: PPF201
        """
    )


def test_arithmetic_and_methods_of_a_tensor() -> None:
    expect_in_step(
        """
        scaled = (loss * 0.5 + logits.mean()) / 2
        history.append(float(scaled))  #: PPF201
        history.append(float(-scaled))  #: PPF201
        history.append(float(logits.astype("float32").max()))  #: PPF201
        history.append(float(F.softmax(logits)[0, 1]))  #: PPF201
        history.append(float(paddle.add_n([loss, loss])))  #: PPF201
        history.append(float(paddle.linalg.norm(model.weight.grad)))  #: PPF201
        correct = (logits.argmax(axis=1) == labels).sum()
        history.append(int(correct))  #: PPF201
        history.append(int(labels.max()))  #: PPF201
        """
    )


# --- tuples, dicts and lists


def test_tuples() -> None:
    expect_in_step(
        """
        first, second = loss, loss.item()  #: PPF201
        history.append(float(first))  #: PPF201
        history.append(float(second))
        values, indices = paddle.topk(logits, k=1)
        history.append(float(values.mean()))  #: PPF201
        history.append(int(indices[0]))  #: PPF201
        rows, columns = logits.shape
        history.append(float(rows))
        (first, (second, third)) = (1.0, (loss, 2.0))
        history.append(float(first) + float(third))
        history.append(float(second))  #: PPF201
        """
    )


def test_a_dict_of_losses() -> None:
    expect_in_step(
        """
        losses = {"main": loss, "aux": loss * 0.4}
        for name, value in losses.items():
            history.append((name, float(value)))  #: PPF201
        for value in losses.values():
            history.append(float(value))  #: PPF201
        total = sum(losses.values())
        history.append(float(total))  #: PPF201
        history.append({name: float(value) for name, value in losses.items()})  #: PPF201
        history.append(float(losses["main"]))  #: PPF201
        history.append(len(losses))
        """
    )


def test_a_dict_of_numbers() -> None:
    expect_in_step(
        """
        losses = {"main": loss, "aux": loss * 0.4}
        numbers = {name: value.item() for name, value in losses.items()}  #: PPF201
        for name, value in numbers.items():
            history.append(float(value))
        history.append(float(numbers["main"]))
        history.append(sum(float(value) for value in numbers.values()))
        sizes = {"batch": images.shape[0], "step": step, "lr": optimizer.get_lr()}
        for value in sizes.values():
            history.append(float(value))
        """
    )


def test_lists() -> None:
    expect_in_step(
        """
        parts = [loss, loss * 2]
        history.append(float(parts[0]))  #: PPF201
        history.append([float(part) for part in parts])  #: PPF201
        numbers = [1.0, 2.0]
        history.append([float(number) for number in numbers])
        kept = []
        kept.append(loss)
        history.append(float(kept[-1]))  #: PPF201
        read = []
        read.append(loss.item())  #: PPF201
        history.append(float(read[-1]))
        history.append(float(np.mean(read)))
        """
    )


# --- what is on the host


@pytest.mark.parametrize(
    "value",
    [
        "optimizer.get_lr()",
        "scheduler.get_lr()",
        "scheduler.last_lr",
        "args.lr",
        "images.shape[0]",
        "logits.shape[-1]",
        "images.ndim",
        "len(images)",
        "len(loader)",
        "step / len(loader)",
        "np.random.rand()",
        "np.array([1.0, 2.0]).mean()",
        "np.zeros(3).sum()",
        "loader.batch_size",
        "metric.accumulate()",
        "logits.size",
        "max(step, 1)",
        "time.time()",
        "args.alpha * (1 - step / 100)",
        "paddle.distributed.get_world_size()",
        "model.hidden_size",
        "'%.3f' % step",
        "paddle.device.cuda.max_memory_allocated()",
        "paddle.device.cuda.memory_reserved() / 1024 ** 2",
        "logits.dtype.itemsize",
    ],
)
@pytest.mark.parametrize("read", ["float({})", "int({})", "np.array({})", "np.mean({})"])
def test_values_that_are_on_the_host(value: str, read: str) -> None:
    expect_in_step(f"history.append({read.format(value)})\nshown = {value}\nhistory.append({read.format('shown')})")


@pytest.mark.parametrize("read", ["loss.item()", "loss.numpy()", "loss.tolist()", "float(loss)", "np.array(loss)"])
def test_what_a_read_gives_is_on_the_host(read: str) -> None:
    expect_in_step(
        f"""
        value = {read}  #: PPF201
        history.append(float(np.mean(value)))
        history.append(np.array(value).tolist())
        print(value)  #: PPF405
        print(f"loss {{value}}")  #: PPF405
        """
    )


def test_arrays_of_numpy() -> None:
    expect_in_step(
        """
        array = logits.numpy()  #: PPF201
        history.append(array.tolist())
        history.append(array.mean().item())
        history.append(float(array.argmax(axis=1)[0]))
        predicted = np.argmax(array, axis=1)
        history.append(int(predicted[0]))
        confusion = np.zeros([2, 2])
        confusion += np.eye(2)
        history.append(confusion.sum().item())
        """
    )


def test_batches_of_a_host_side_reader() -> None:
    expect_reads(
        """
        import numpy as np
        import paddle


        def reader(path):
            for line in open(path):
                yield np.array([float(part) for part in line.split(",")], dtype="float32")


        def train(model, optimizer, path):
            for row in reader(path):
                largest = row.max().item()
                loss = model(paddle.to_tensor(row)).mean() / largest
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
        """
    )


# --- objects


def test_attributes_from_the_constructor() -> None:
    expect_reads(
        """
        import numpy as np
        import paddle
        from paddle import nn


        class Trainer:
            def __init__(self, model, optimizer, scheduler):
                self.model, self.optimizer, self.scheduler = model, optimizer, scheduler
                self.criterion = nn.MSELoss()
                self.running = paddle.zeros([1])
                self.best = 0.0
                self.window = np.zeros(20)
                self.names = ["a", "b"]
                self.temperature = paddle.to_tensor(0.07)
                self.lr = optimizer.get_lr()

            def fit(self, loader):
                for step, (x, y) in enumerate(loader):
                    loss = self.criterion(self.model(x), y)
                    loss.backward()
                    self.optimizer.step()
                    self.optimizer.clear_grad()
                    self.record(float(self.running))  #: PPF201
                    self.record(float(self.best))
                    self.record(self.window.mean().item())
                    self.record(self.window.tolist())
                    self.record(float(self.temperature))  #: PPF201
                    self.record(float(self.lr))
                    self.record(self.temperature.item() * len(self.names))  #: PPF201

            def record(self, value):
                self.best = max(self.best, 1.0)
        """
    )


def test_attributes_that_the_step_binds() -> None:
    expect_reads(
        """
        import paddle
        from paddle import nn


        class Trainer:
            def __init__(self, model, optimizer):
                self.model, self.optimizer = model, optimizer
                self.criterion = nn.L1Loss()
                self.loss = None
                self.value = None

            def step(self, x, y):
                self.loss = self.criterion(self.model(x), y)
                self.loss.backward()
                self.optimizer.step()
                self.optimizer.clear_grad()
                self.value = self.loss.item()  #: PPF201

            def fit(self, loader):
                for x, y in loader:
                    self.step(x, y)
                    print(self.loss)  #: PPF202
                    print(self.value)  #: PPF405
        """
    )


# --- what functions of the project give


def test_returns_of_functions() -> None:
    expect_reads(
        {
            "losses.py": """\
                import paddle
                import paddle.nn.functional as F


                def dice(logits, labels):
                    overlap = (logits * labels).sum()
                    return 1 - 2 * overlap / (logits.sum() + labels.sum())


                def both(logits, labels):
                    return {"dice": dice(logits, labels), "bce": F.binary_cross_entropy_with_logits(logits, labels)}


                def pair(logits, labels):
                    return dice(logits, labels), logits.shape[0]


                def weight_of(step, warmup=1000):
                    return min(1.0, step / warmup)


                def on_host(value):
                    return value.item()  #: PPF201
                """,
            "train.py": """\
                import paddle
                from losses import both, dice, on_host, pair, weight_of


                def train(model, loader, optimizer, history):
                    for step, (images, labels) in enumerate(loader):
                        logits = model(images)
                        value = dice(logits, labels)
                        value.backward()
                        optimizer.step()
                        optimizer.clear_grad()
                        history.append(float(dice(logits, labels)))  #: PPF201
                        first, count = pair(logits, labels)
                        history.append(float(first))  #: PPF201
                        history.append(float(count))
                        history.append(float(weight_of(step)))
                        number = on_host(value)
                        history.append(float(number))
                        for name, part in both(logits, labels).items():
                            history.append(float(part))  #: PPF201
                """,
        }
    )


def test_returns_of_methods_and_layers() -> None:
    expect_reads(
        """
        import paddle
        from paddle import nn


        class Net(nn.Layer):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(8, 8)

            def forward(self, x):
                return self.body(x), x.shape[0]

            def regularize(self):
                return sum((p * p).sum() for p in self.parameters())

            def depth(self):
                return 12


        class Trainer:
            def __init__(self, optimizer):
                self.net = Net()
                self.optimizer = optimizer
                self.values = []

            def penalty(self):
                return paddle.abs(self.net.body.weight).sum()

            def fit(self, loader):
                for x in loader:
                    outputs, count = self.net(x)
                    loss = outputs.mean() + self.penalty()
                    loss.backward()
                    self.optimizer.step()
                    self.optimizer.clear_grad()
                    self.values.append(float(outputs.max()))  #: PPF201
                    self.values.append(float(self.penalty()))  #: PPF201
                    self.values.append(float(self.net.depth()))
                    self.values.append(float(count))
        """
    )


def test_a_layer_that_returns_a_dict_of_numbers_beside_its_loss() -> None:
    expect_reads(
        """\
        import paddle


        class Criterion(paddle.nn.Layer):
            def forward(self, out, y):
                loss = (out - y).abs().mean()
                numbers = {"error": float((out - y).square().mean()), "worst": (out - y).abs().max()}
                return loss, numbers


        def train(model, loader, optimizer, log):
            criterion = Criterion()
            for x, y in loader:
                loss, numbers = criterion(model(x), y)
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                log.total += float(numbers["error"])
                log.worst += float(numbers["worst"])  #: PPF201
        """
    )


def test_what_a_parameter_holds_is_what_the_call_hands_over() -> None:
    expect_reads(
        {
            "meter.py": """\
                class Meter:
                    def __init__(self):
                        self.total = 0.0

                    def update(self, value, count=1):
                        self.total += float(value) * int(count)


                class DeviceMeter:
                    def __init__(self):
                        self.total = 0.0

                    def update(self, value, count=1):
                        self.total += float(value) * count  #: PPF201
                """,
            "train.py": """\
                import paddle
                from meter import DeviceMeter, Meter


                def train(model, loader, optimizer):
                    meter, device_meter = Meter(), DeviceMeter()
                    for images in loader:
                        loss = model(images).mean()
                        loss.backward()
                        optimizer.step()
                        optimizer.clear_grad()
                        meter.update(loss.item(), images.shape[0])  #: PPF201
                        meter.update(0.5)
                        device_meter.update(loss)
                """,
        }
    )


def test_a_meter_of_numbers_gives_numbers() -> None:
    expect_reads(
        """
        import paddle


        class AverageMeter:
            def __init__(self):
                self.val = self.sum = self.avg = 0.0
                self.count = 0

            def update(self, val, n=1):
                self.val = val
                self.sum += val * n
                self.count += n
                self.avg = self.sum / self.count


        def train(model, loader, optimizer, history):
            losses = AverageMeter()
            for step, images in enumerate(loader):
                loss = model(images).mean()
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                losses.update(loss.item(), images.shape[0])  #: PPF201
                history.append(float(losses.avg))
                print(step, losses.val, losses.avg)  #: PPF405
        """
    )


@pytest.mark.parametrize(
    ("logged", "code"),
    [
        ("loss.numpy()[0]", "PPF202"),
        ("loss.detach().numpy().sum", "PPF202"),
        ("loss.shape[0]", "PPF405"),
        ("model(x).shape[0]", "PPF405"),
        ('counts(x)["all"]', "PPF405"),
    ],
)
def test_a_log_line_of_a_part_of_what_is_read(logged: str, code: str) -> None:
    expect_marked_in_step(f"print(step, {logged})  #: {code}", "PPF202", "PPF405")


def test_loss_like_names_that_are_no_tensors() -> None:
    expect_reads(
        """
        import paddle
        import paddle.nn.functional as F


        def train(model, loader, optimizer, args, history):
            loss_weight = args.loss_weight
            loss_name = "cross entropy"
            loss_scale = 1024.0
            best_loss = float("inf")
            losses = []
            for images, labels in loader:
                loss = F.cross_entropy(model(images), labels) * loss_weight
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                history.append(float(loss_weight))
                history.append(float(loss_scale))
                history.append(str(loss_name))
                losses.append(loss.item())  #: PPF201
                history.append(float(sum(losses)))
                best_loss = min(best_loss, losses[-1])
                history.append(float(best_loss))
        """
    )


@pytest.mark.parametrize(
    ("lines", "reads"),
    [
        # `lengths` has `copy`, as no tensor has, and `max`, as no list or dict has.
        (["n = lengths.max().item()", "lengths = lengths.copy()"], []),
        (["n = [float(each) for each in loss_map.flat]"], []),
        (["n = [float(each) for each in loss_map[0].flat]"], []),
        (["n = lengths.max().item()"], ["lengths.max().item()"]),
        # A dict has `copy`, too, and its entries may be tensors.
        (["lengths = lengths.copy()", "n = lengths.pop().item()"], ["lengths.pop().item()"]),
        (["lengths = lengths.copy()", 'n = lengths["x"].max().item()'], ['lengths["x"].max().item()']),
        # What only a tensor has: it becomes an array later.
        (["n = lengths.numpy()", "lengths = n", "n = lengths.copy().max()"], ["lengths.numpy()"]),
        (["n = lengths.max().item()", "lengths = to_host(lengths)", "lengths.copy()"], ["lengths.max().item()"]),
    ],
)
def test_what_only_arrays_have_tells_that_a_value_is_one(lines: list[str], reads: list[str]) -> None:
    rows = [
        *("import paddle", "", "", "def note(lengths, loss_map, to_host):"),
        *(f"    {line}" for line in [*lines, "return n"]),
        *("", "", "def train(model, loader, optimizer, make, to_host):", "    for x, y in loader:"),
        *("        loss = model(x, y).mean()", "        loss.backward()", "        optimizer.step()"),
        *("        optimizer.clear_grad()", "        note(make(), make(), to_host)"),
    ]
    text = "\n".join(rows) + "\n"
    assert [text[item.start : item.end] for item in check(text, "PPF201")] == reads


# --- the entries of a dict


@pytest.mark.parametrize(
    ("lines", "reads"),
    [
        ('logs = {"loss": loss, "took": time.time()}\nseen.add(float(logs["took"]))', []),
        ('logs = {"loss": loss, "took": seconds()}\nseen.add(float(logs.get("took")))', []),
        ('logs = {"loss": loss, "took": seconds()}\nseen.add(float(logs["loss"]))', ['float(logs["loss"])']),
        (
            'logs = {"took": seconds()}\nlogs["loss"] = loss\nseen.add(float(logs["loss"]))',
            ['float(logs["loss"])'],
        ),
        ('logs = dict(loss=loss, took=1.0)\nseen.add(float(logs["loss"]))', ['float(logs["loss"])']),
        ('logs = {"loss": loss}\nlogs.update({"out": False})\nseen.add(float(logs["out"]))', []),
        ('logs = {"loss": loss}\nlogs.update(took=1.0)\nseen.add(float(logs["took"]))', []),
        # What is not known by its key may be any of them.
        ('logs = {"loss": loss, "took": 1.0}\nseen.add(float(logs[name]))', ["float(logs[name])"]),
        ('logs = {"took": 1.0}\nlogs["loss"] = loss\nseen += [float(v) for v in logs.values()]', ["float(v)"]),
        ('logs = {"took": 1.0}\nlogs["loss"] = 2.0\nseen += [float(v) for v in logs.values()]', []),
        # A loop over the keys leaves numbers alone.
        ('logs = {"loss": loss}\nfor k in logs:\n    logs[k] = 1.0\nseen.add(float(logs["loss"]))', []),
        (
            'logs = {"loss": loss}\nfor k in list(logs.keys()):\n    logs[k] = 1.0\nseen.add(float(logs["loss"]))',
            [],
        ),
        (
            'logs = {"loss": loss}\nfor k, v in logs.items():\n    logs[k] = v * 2\nseen.add(float(logs["loss"]))',
            1,
        ),
    ],
)
def test_the_entries_of_a_dict(lines: str, reads: list[str] | int) -> None:
    text = "import time\n" + in_step(lines)
    found = [text[item.start : item.end] for item in check(text, "PPF201")]
    assert (len(found) if isinstance(reads, int) else found) == reads


@pytest.mark.parametrize(
    ("lines", "reads"),
    [
        # Another framework's values, and tensors that stay in host memory.
        ("value = torch.zeros([3])\nseen.add(value.sum().item())", []),
        ("loss_value = torch.nn.functional.mse_loss(a, b)\nseen.add(float(loss_value))", []),
        ("value = tensorflow.zeros([3])\nseen.add(value.sum().item())", ["value.sum().item()"]),  # left over
        ("value = paddle.to_tensor(x, place=paddle.CPUPlace())\nseen.add(value.item())", []),
        ('value = paddle.to_tensor(x, "float32", paddle.CPUPlace())\nseen.add(value.item())', []),
        ("place = paddle.CPUPlace()\nvalue = paddle.to_tensor(x, place=place)\nseen.add(value.item())", []),
        (
            "place = paddle.CUDAPlace(0)\nvalue = paddle.to_tensor(x, place=place)\nseen.add(value.item())",
            ["value.item()"],
        ),
        ('value = paddle.to_tensor(x, place="cpu")\nseen.add(value.item())', []),
        ("value = paddle.to_tensor(x, place=paddle.CUDAPlace(0))\nseen.add(value.item())", ["value.item()"]),
        ("count = loss.shape()[0]\nseen.add(float(count))", []),  # of a tensor of a static graph
        ("count = y.size(0)\nseen.add(float(count))", []),  # left over from another framework
        # An object of an imported class is no loss, whatever its name says; a function may give one.
        ("losses = Meter()\nlosses.update(1.0)\nseen.add(float(losses))", []),
        ("loss_dict = OrderedDict()\nloss_dict['a'] = 1.0\nseen.add(float(loss_dict['b']))", []),
        ("losses = measure(x)\nseen.add(float(losses))", ["float(losses)"]),
        ("losses = MSE(x)\nseen.add(float(losses))", ["float(losses)"]),
        # Numbers by all their keys.
        ("d = {}\nd['a'] = 1.0\nfor k, v in d.items():\n    seen.add(v.item())", []),
        ("d = {}\nd['a'] = 1.0\nd.update(others)\nfor k, v in d.items():\n    seen.add(v.item())", ["v.item()"]),
    ],
)
def test_what_is_no_tensor_of_the_device(lines: str, reads: list[str]) -> None:
    imports = "import torch\nfrom collections import OrderedDict\nfrom metrics import MSE, Meter, measure\n"
    text = imports + in_step(lines)
    assert [text[item.start : item.end] for item in check(text, "PPF201")] == reads


@pytest.mark.parametrize(
    "read",
    ["np.linalg.norm(loss)", "np.unique(y.argmax(-1))", "np.ceil(loss)", "math.exp(loss)", "list(range(y.argmax()))"],
)
def test_a_function_that_needs_the_values(read: str) -> None:
    expect_marked_in_step(f"import math\nkept = {read}  #: PPF201", "PPF201")


@pytest.mark.parametrize("read", ["np.ceil(unknown)", "math.sqrt(args.size)", "np.ones(3)", "range(step)"])
def test_a_function_of_numbers(read: str) -> None:
    expect_marked_in_step(f"import math\nkept = {read}", "PPF201")


@pytest.mark.parametrize(("default", "mark"), [("paddle.CPUPlace()", ""), ("paddle.CUDAPlace(0)", "  #: PPF201")])
def test_a_place_that_is_the_default_of_a_parameter(default: str, mark: str) -> None:
    text = in_step("seen.add(kept(x).item())" + mark)
    helper = f"\n\ndef kept(x, place={default}):\n    return paddle.to_tensor(x, None, place)\n"
    expect_reads(text + helper)


# --- what a loader gives need not be a tensor


def test_what_has_methods_that_no_tensor_has_is_no_tensor() -> None:
    expect_reads(
        """\
        import paddle
        from paddle.io import DataLoader


        class Meter:
            def update(self, value, n=1):
                self.total = float(value) * n


        def size_of(graph):
            return float(graph.node_count() / 2)


        def fit(model, dataset, optimizer, criterion, history):
            largest, meter = 0, Meter()
            for batch in DataLoader(dataset, batch_size=32):
                graph, labels = batch
                loss = criterion(model(graph), labels)
                loss.backward()
                optimizer.step()
                largest = max(largest, graph.node_count())
                meter.update(graph.node_count() / graph.batch_size, 2)
                history.append(size_of(graph))
                history.append(float(graph.edges))
                history.append(float(labels.sum()))  #: PPF201
        """
    )


@pytest.mark.parametrize("loop", ["for graph in loader:", "for step, (graph, _) in enumerate(loader):"])
def test_an_item_of_a_loader_with_methods_of_its_own(loop: str) -> None:
    expect_reads(
        f"""\
        import paddle


        def fit(model, loader, optimizer, history):
            {loop}
                loss = model(graph)
                loss.backward()
                optimizer.step()
                if graph.count > 3:
                    loss = loss * 2
                history.append(int(graph.node_count()))
        """
    )


def test_containers_of_tensors_and_results_of_paddle_stay_tensors() -> None:
    expect_in_step(
        """
        kept = paddle.stack([loss])
        history.append(kept.method_of_the_project())
        history.append(float(kept))  #: PPF201
        history.append(float(images.method_of_the_project()))
        history.append([float(value) for value in labels.values()])  #: PPF201
        """
    )


def test_the_methods_that_tensors_are_known_to_have() -> None:
    tensors = (paddle.to_tensor([1.0]), paddle.nn.Linear(1, 1).weight)
    names = {name for tensor in tensors for name in dir(tensor) if not name.startswith("_")}
    assert [name for name in sorted(names) if not may_have(name)] == []
    assert may_have("recursive_sequence_lengths")
    assert not may_have("number_of_nodes")


def test_what_a_graph_holds_once_it_is_turned_into_tensors() -> None:
    expect_reads(
        """\
        import paddle
        from paddle.io import DataLoader


        def fit(model, dataset, optimizer, history):
            for batch in DataLoader(dataset, batch_size=32):
                graph = batch["graph"].tensor()
                loss = model(graph)
                loss.backward()
                optimizer.step()
                history.append(float(graph.edge_feat["length"].sum()))  #: PPF201
        """
    )


def test_the_count_of_an_enumerate_with_a_name_is_a_number() -> None:
    expect_reads(
        """\
        import paddle
        from paddle.io import DataLoader
        from tqdm import tqdm


        def fit(model, dataset, optimizer, history):
            loader = DataLoader(dataset, batch_size=32)
            bar = tqdm(enumerate(loader), total=len(loader))
            for i, batch in bar:
                loss = model(batch)
                loss.backward()
                optimizer.step()
                history.append(float(i))
                history.append(float(batch))  #: PPF201
            pairs = zip(loader, range(9))
            for batch, number in pairs:
                loss = model(batch)
                loss.backward()
                optimizer.step()
                history.append(float(number))
                history.append(float(batch))  #: PPF201
        """
    )
