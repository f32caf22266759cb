"""Step loops other than ``for`` over a loader: generators, ``while``, static graphs."""

from __future__ import annotations

import pytest

from tests.step_loops import expect_loop_named
from tests.support import check, expect_reads

# --- generators


def test_a_generator_that_reads_each_batch() -> None:
    expect_reads(
        """
        import paddle
        from paddle.io import DataLoader


        def weighted(dataset):
            loader = DataLoader(dataset, batch_size=32)
            start = paddle.ones([1]).item()
            for images, labels in loader:
                weight = (labels != 255).astype("float32").mean()
                yield images, labels, weight.item() * start  #: PPF201
            print("end", paddle.ones([1]).item())


        def train(model, dataset, optimizer, criterion):
            for images, labels, weight in weighted(dataset):
                loss = criterion(model(images), labels) * weight
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
        """
    )


def test_a_generator_that_serves_evaluation() -> None:
    expect_reads(
        """
        import paddle
        from paddle.io import DataLoader


        def weighted(dataset):
            for images, labels in DataLoader(dataset, batch_size=32):
                yield images, labels, (labels != 255).astype("float32").mean().item()


        def evaluate(model, dataset, criterion):
            with paddle.no_grad():
                return [criterion(model(images), labels) * weight for images, labels, weight in weighted(dataset)]


        def statistics(dataset):
            total = 0.0
            for images, labels, weight in weighted(dataset):
                total += weight
            return total
        """
    )


def test_a_generator_of_batches_in_another_file() -> None:
    files = {
        "data/__init__.py": "from .batches import batches\n",
        "data/batches.py": """\
            from paddle.io import DataLoader


            def batches(dataset, steps):
                loader = DataLoader(dataset, batch_size=32)
                count = 0
                while count < steps:
                    for images, labels in loader:
                        count += 1
                        yield images, labels, int(labels.max())  #: PPF201
            """,
        "train.py": """\
            import paddle
            from data import batches


            def train(model, dataset, optimizer, criterion):
                for step, (images, labels, classes) in enumerate(batches(dataset, 1000)):
                    loss = criterion(model(images), labels)
                    loss.backward()
                    optimizer.step()
                    optimizer.clear_grad()
                    print(step, classes)  #: PPF405
                    positive = labels.astype("float32").mean()
                    model.scale = float(positive)  #: PPF201
            """,
    }
    expect_reads(files)
    expect_loop_named(files, "data/batches.py", "train.py")


def test_an_endless_generator_asked_for_the_next_batch() -> None:
    expect_reads(
        """
        import paddle
        from paddle.io import DataLoader


        def endless(loader: DataLoader):
            while True:
                for images, labels in loader:
                    yield images, labels.max().item()  #: PPF201


        def train(model, dataset, optimizer, steps):
            batches = endless(DataLoader(dataset, batch_size=8))
            for step in range(steps):
                images, largest = next(batches)
                loss = model(images).mean()
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                if step % 10 == 0:
                    print(step, largest)
        """
    )


def test_an_iterable_object_that_yields_batches() -> None:
    expect_reads(
        """
        import paddle
        from paddle.io import DataLoader


        class Prefetcher:
            def __init__(self, dataset):
                self.loader = DataLoader(dataset, batch_size=8)

            def __len__(self):
                return len(self.loader)

            def __iter__(self):
                for images, labels in self.loader:
                    yield images, labels.max().item()  #: PPF201


        def train(model, dataset, optimizer):
            batches = Prefetcher(dataset)
            for images, largest in batches:
                loss = model(images).mean()
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
        """
    )


# --- while loops


@pytest.mark.parametrize(
    "head",
    ["while step < max_steps:", "while True:", "while not done:", "while trainer.global_step < max_steps:", "while 1:"],
)
def test_while_loops_over_steps(head: str) -> None:
    expect_reads(
        f"""
        import paddle


        def train(trainer, model, loader, optimizer, max_steps, done=False):
            step = 0
            batches = iter(loader)
            print("first", paddle.zeros([1]).item())
            {head}
                images = next(batches)
                loss = model(images).mean()
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                step += 1
                print(step, loss.item())  #: PPF202
                if step >= max_steps:
                    print("last", loss.item())
                    break
            print("end", loss.item())
        """
    )


@pytest.mark.parametrize("head", ["while epoch < epochs:", "while True:", "while step < max_steps:"])
def test_while_loops_around_the_step_loop(head: str) -> None:
    expect_reads(
        f"""
        import paddle


        def train(model, loader, optimizer, epochs, max_steps):
            epoch = step = 0
            {head}
                for images in loader:
                    loss = model(images).mean()
                    loss.backward()
                    optimizer.step()
                    optimizer.clear_grad()
                    step += 1
                    model.last = loss.item()  #: PPF201
                epoch += 1
                print(epoch, loss.item())
        """
    )


def test_while_loops_that_do_not_train() -> None:
    expect_reads(
        """
        import paddle


        def wait(queue, model, optimizer):
            while not queue.empty():
                print("left", queue.get().mean().item())
            optimizer.step()
            optimizer.clear_grad()


        def search(model, low, high):
            while high - low > 1e-3:
                middle = paddle.to_tensor((low + high) / 2)
                low, high = (middle.item(), high) if model(middle).mean().item() > 0 else (low, middle.item())
            return low
        """
    )


# --- static graphs


def test_a_static_graph_logs_at_each_step() -> None:
    expect_reads(
        """
        import numpy as np
        import paddle

        paddle.enable_static()


        def train(net, loader, epochs):
            main = paddle.static.default_main_program()
            images = paddle.static.data("images", [None, 3, 224, 224])
            loss = net(images).mean()
            paddle.optimizer.SGD(learning_rate=0.1).minimize(loss)
            print("built", loss.name)
            exe = paddle.static.Executor()
            exe.run(paddle.static.default_startup_program())
            total = 0.0
            for epoch in range(epochs):
                for step, batch in enumerate(loader):
                    (value,) = exe.run(main, feed={"images": batch}, fetch_list=[loss])
                    total += float(np.mean(value))
                    total += value.item()
                    print("step", step, "loss", value)  #: PPF405
                    if step % 10 == 0:
                        print("step", step, float(value))
                print("epoch", epoch, float(value))
        """
    )


def test_a_static_graph_through_a_helper() -> None:
    expect_reads(
        {
            "program.py": """\
                def train_batch(exe, program, feed, fetch_list):
                    values = exe.run(program, feed=feed, fetch_list=fetch_list)
                    print("loss", values[0])  #: PPF405
                    return values
                """,
            "train.py": """\
                import paddle
                from program import train_batch

                paddle.enable_static()


                def main(loader, loss):
                    paddle.optimizer.SGD(learning_rate=0.1).minimize(loss)
                    exe = paddle.static.Executor()
                    exe.run(paddle.static.default_startup_program())
                    program = paddle.static.default_main_program()
                    for data in loader:
                        train_batch(exe, program, data, [loss])
                """,
        }
    )


def test_static_graphs_that_do_not_train() -> None:
    expect_reads(
        """
        import paddle

        paddle.enable_static()


        def start(exe, programs):
            for program in programs:
                exe.run(program)
                print("started", program)


        def evaluate(exe, test_program, loader, accuracy):
            for data in loader:
                (value,) = exe.run(test_program, feed=data, fetch_list=[accuracy])
                print("accuracy", value)


        def predict(path, images):
            exe = paddle.static.Executor()
            program, feeds, targets = paddle.static.load_inference_model(path, exe)
            for image in images:
                result = exe.run(program, feed={feeds[0]: image}, fetch_list=targets)
                print(result)
        """
    )


# --- code that is never reached

UNREACHED = """
import sys

import paddle


def train(model, loader, optimizer):
    for images in loader:
        loss = model(images).mean()
        {inside}
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        model.last = loss.item(){mark}
"""


@pytest.mark.parametrize("inside", ["exit()", "sys.exit(1)", "break", "raise ValueError(loss)", "return loss"])
def test_a_loop_that_ends_in_its_first_iteration(inside: str) -> None:
    expect_reads(UNREACHED.format(inside=inside, mark=""))
    expect_reads(UNREACHED.format(inside=f"if loss is None: {inside}", mark="  #: PPF201"))


def test_what_follows_the_end_of_a_step_in_its_block() -> None:
    expect_reads(UNREACHED.format(inside="pass", mark="  #: PPF201\n        continue\n        print(loss.item())"))


def test_a_function_that_is_defined_after_the_end_of_its_module() -> None:
    steps = UNREACHED.replace("import paddle\n", "import paddle\n\npaddle.seed(1)\n{end}\n")
    expect_reads(steps.format(inside="pass", end="exit()", mark=""))
    expect_reads(steps.format(inside="pass", end="if sys.argv:\n    exit()", mark="  #: PPF201"))


def test_a_helper_that_returns_before_it_reads() -> None:
    expect_reads("""
        import paddle


        def show(loss):
            loss.check()
            return
            print(loss.item())


        def train(model, loader, optimizer):
            for images in loader:
                loss = model(images).mean()
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                show(loss)
    """)


@pytest.mark.parametrize(("end", "is_found"), [("exit()", False), ("raise SystemExit", False), ("print(1)", True)])
def test_nothing_is_reported_after_the_end_of_a_module(end: str, is_found: bool) -> None:
    text = f"""
        import paddle
        from paddle.io import DataLoader

        data = paddle.vision.datasets.Flowers(mode="train")
        {end}
        loader = DataLoader(data, batch_size=64, shuffle=True, num_workers=0)
        model = paddle.vision.models.resnet50()
        optimizer = paddle.optimizer.Adam(parameters=model.parameters())
        for images, labels in loader:
            loss = paddle.nn.functional.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
    """
    assert bool(check(text)) is is_found
