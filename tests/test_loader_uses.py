"""PPF101 and PPF102: loaders whose batches feed no training, by what reads them."""

from __future__ import annotations

from textwrap import dedent

import pytest

from perflint.configuration.settings import Settings
from perflint.findings import Confidence, ImpactLevel
from perflint.run import engine
from tests.support import Files, check, expect_marked, sources

TRAINING = """
    for image, label in {loader}:
        loss = network(image, label)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
"""


def rows(files: Files, least: Confidence = Confidence.MEDIUM, code: str = "PPF101") -> list[tuple[str, int]]:
    """Path and row of the findings, which are the same with the gates and without."""
    given = sources(files)
    settings = Settings(join_lines=False, select=(code,), min_confidence=least, min_impact=ImpactLevel.LOW)
    findings = engine.check(given, settings)
    return [(item.path, given[item.path].lines.position(item.start)[0]) for item in findings]


def used(body: str) -> str:
    """A module that makes ``loader`` in its row 6 and goes on with ``body``."""
    imports = "import paddle\nfrom tqdm import tqdm\n\nimport numpy as np\n\n"
    head = imports + "loader = paddle.io.DataLoader(data, batch_size=4)\n"
    return head + dedent(body).strip("\n") + "\n"


FOUND = [("train.py", 6)]


@pytest.mark.parametrize(
    "body",
    [
        "for image, label in loader:\n    network(image, label).backward()\n    optimizer.step()",
        "for state in loader:\n    network(policy(state).sample()).backward()\n    optimizer.step()",
        "for image in tqdm(enumerate(loader())):\n    metric.update(network(image))",
        "for image in loader:\n    if image is None:\n        break\n    metric.update(network(image))",
        "for image in loader:\n    metric.update(network(image))\n    if metric.is_full():\n        break",
        "trainer.fit(loader)",
        "train(loader)",
        "batches = {'train': loader}",
        "both = [loader, other]",
        "it = iter(loader)\nfor step in range(1000):\n    network(next(it)).backward()\n    optimizer.step()",
        "it = iter(loader)\nwhile True:\n    image = next(it)",
        "for epoch in range(100):\n    for step in range(4):\n        image = next(iter(loader))",
        "def batches():\n    for image in loader:\n        yield image\n\n\nmodel.fit(batches())",
        "def first():\n    for image in loader:\n        return image\n\n\ntrain_on(first())",
        "def first():\n    return next(iter(loader))\n\n\nwhile True:\n    network(first()).backward()",
        "def first(of=loader):\n    print(of)",
        "kept = []\nfor image in loader:\n    kept.append(image)",
        "for image in loader:\n    process(image)",
        "for image in loader:\n    self.model(image)",
        "best = loader if ok else other\nfor image in best:\n    network(image).backward()\noptimizer.step()",
    ],
)
def test_loaders_that_train_evaluate_or_go_where_nobody_sees(body: str) -> None:
    assert rows(used(body)) == FOUND


@pytest.mark.parametrize(
    "body",
    [
        "for image, label in loader:\n    print(image.shape)\n    break",
        "for step, image in enumerate(tqdm(loader)):\n    network(image)\n    if step >= 2:\n        break",
        "for image in loader:\n    size, width = image.shape\n    print(np.mean(image.numpy()), size)",
        "image = next(iter(loader))\nprint(network(image))",
        "batches = loader\nit = iter(batches)\nfor _ in range(4):\n    image = next(it)\nprint(network(image))",
        "print(len(loader), loader.dataset)\nassert loader is not None\nfor image in loader():\n    print(image)",
        "def show():\n    for image in loader:\n        print(image)\n\n\nshow()",
        "def show(batches):\n    for image in batches:\n        draw(image)\n\n\n"
        "def draw(image):\n    print(image)\n\n\nshow(loader)",
    ],
)
def test_loaders_that_are_tried_once_or_looked_at(body: str) -> None:
    assert rows(used(body), Confidence.LOW) == []


@pytest.mark.parametrize(
    "body",
    [
        "predict(network, loader)",
        "model.predict(test_data=loader)",
        "Predictor(loader).run()",
        "ptq.quant_post_static(exe, data_loader=loader)",
        "PostTrainingQuantization(exe, data_loader=loader).quantize()",
        "def infer(batches):\n    return [network(image) for image in batches]\n\n\ninfer(loader)",
        "def measure_latency():\n    for image in loader:\n        network(image)\n\n\nmeasure_latency()",
        "for noise in loader:\n    image = diffusion.sample(noise)",
        "def make(batches):\n    for noise in batches:\n        kept.append(diffusion.sample(noise))\n\n\nmake(loader)",
    ],
)
def test_loaders_for_predictions_are_shown_on_request(body: str) -> None:
    assert rows(used(body)) == []
    assert rows(used(body), Confidence.LOW) == FOUND


def test_a_program_in_which_nothing_trains() -> None:
    program = """
        def main():
            for image in loader:
                results.append(network(image))


        if __name__ == "__main__":
            main()
        """
    text = used(program)
    assert rows({"show.py": text}) == []
    assert rows({"show.py": text}, Confidence.LOW) == [("show.py", 6)]
    assert rows({"show.py": text + "    fit(network)\n"}) == [("show.py", 6)]
    assert rows({"show.py": text, "main.py": "import show\n"}) == [("show.py", 6)]
    assert rows({"train.py": text}) == FOUND


def test_a_prediction_beside_training_does_not_hide_it() -> None:
    both = "predict(network, loader)" + dedent(TRAINING.format(loader="loader"))
    assert rows(used(both)) == FOUND
    assert rows(used("predict(network, valid_loader)").replace("loader =", "valid_loader =")) == FOUND


def test_a_global_that_nothing_reads_beside_a_training_loop() -> None:
    text = used("").replace("loader =", "test_loader =")
    assert rows(text) == FOUND  # another file may read it: this one does nothing
    training = dedent(TRAINING.format(loader="batches"))
    assert rows(text + training, Confidence.LOW) == []
    reader = "from train import test_loader\n\nfor image in test_loader:\n    network(image)\n"
    assert rows({"train.py": text + training, "other.py": reader}) == FOUND
    assert rows({"train.py": text + training, "other.py": "from train import *\n"}) == FOUND
    assert rows({"train.py": text + training, "other.py": "import train\n\nrun(train.test_loader)\n"}) == FOUND
    assert rows({"train.py": text + training, "other.py": "from train import network\n"}, Confidence.LOW) == []


def test_a_global_of_a_function_is_read_in_another() -> None:
    text = """\
        import paddle


        def read():
            for image in loader:
                {use}


        def main():
            global loader
            loader = paddle.io.DataLoader(data, batch_size=4)
            read()
    """
    assert rows(text.format(use="metric.update(network(image))")) == [("train.py", 11)]
    assert rows(text.format(use="print(image)")) == []


def test_a_trial_under_the_main_guard_is_not_imported() -> None:
    files = {
        "dataset.py": """\
            import paddle


            class Faces(paddle.io.Dataset):
                pass


            if __name__ == "__main__":
                loader = paddle.io.DataLoader(Faces(), batch_size=4)
                for face in loader:
                    print(face.shape)
            """,
        "main.py": "from dataset import *\n\nloader = make(Faces())\n",
    }
    assert rows(files, Confidence.LOW) == []


def test_who_calls_the_function_that_makes_the_loader() -> None:
    reader = """\
        import paddle


        def create_loader(args):
            loader = paddle.io.DataLoader(read(args), batch_size=4)
            return loader
        """
    loop = "from reader import create_loader\n\nfor image in create_loader(args):\n    results.write(network(image))\n"
    found = [("reader.py", 5)]
    assert rows({"reader.py": reader}) == found
    assert rows({"reader.py": reader, "main.py": loop}) == found
    assert rows({"reader.py": reader, "run_infer.py": loop}) == []
    assert rows({"reader.py": reader, "run_infer.py": loop}, Confidence.LOW) == found
    assert rows({"reader.py": reader, "run_infer.py": loop, "main.py": loop}) == found
    handed = "from reader import create_loader\n\nengine(create_loader)\n"
    assert rows({"reader.py": reader, "run_infer.py": loop, "main.py": handed}) == found
    unknown = "import lib.reader as made\n\nfor image in made.create_loader(args):\n    network(image)\n"
    assert rows({"reader.py": reader, "run_infer.py": loop, "main.py": unknown}) == found
    another = "from lib.elsewhere import create_loader\n\nfor image in create_loader(args):\n    network(image)\n"
    assert rows({"reader.py": reader, "run_infer.py": loop, "main.py": another}) == []


def test_which_of_the_loaders_a_function_returns() -> None:
    text = """\
        import paddle


        def build():
            first = paddle.io.DataLoader(data, batch_size=4) #: PPF101
            second = paddle.io.DataLoader(data, batch_size=4)
            return first, second


        one, two = build()
        for image in one:
            metric.update(network(image))
        image = next(iter(two))
        """
    expect_marked(text, "PPF101")


def test_attributes_are_followed_through_the_classes_that_share_them() -> None:
    text = """\
        import paddle


        class Base:
            def run(self):
                {base}


        class Trainer(Base):
            def __init__(self, data):
                loader = paddle.io.DataLoader(data, batch_size=4)
                self.few = loader

            def show(self):
                batch = next(iter(self.few))
                print(self.network(batch))


        class Other:
            def run(self):
                for image in self.few:
                    self.metric.update(self.network(image))


        trainer = Trainer(data)
        {outside}
        """
    found = [("train.py", 11)]
    assert rows(text.format(base="pass", outside="trainer.show()")) == []
    assert rows(text.format(base="self.train(self.few)", outside="trainer.show()")) == found
    assert rows(text.format(base="pass", outside="fit(trainer.few)")) == found
    assert rows(text.format(base="pass", outside="getattr(trainer, 'few')")) == found
    unseen = text.replace("class Base:", "class Base(lib.Engine):")
    assert rows(unseen.format(base="pass", outside="trainer.show()")) == found


@pytest.mark.parametrize(
    ("dataset", "is_found"),
    [
        ("[(x[i], y[i]) for i in chosen]", False),
        ("[(x, y), (u, v)]", False),
        ("list(zip(x, y))", False),
        ("paddle.io.TensorDataset([x, y])", False),
        ("Images(list(paths))", True),
        ("paddle.io.Subset(images, chosen)", True),
    ],
)
def test_samples_that_lie_in_memory(dataset: str, is_found: bool) -> None:
    text = f"import paddle\n\npairs = {dataset}\ntrain_loader = paddle.io.DataLoader(pairs, batch_size=8)\n"
    assert rows(text) == ([("train.py", 4)] if is_found else [])
    assert rows(text.replace("pairs,", f"dataset={dataset},")) == ([("train.py", 4)] if is_found else [])


def test_a_dataset_that_makes_the_batches() -> None:
    text = "import paddle\n\nloader = paddle.io.DataLoader(reader, batch_size=None, shuffle=False)\n"
    assert rows(text) == []
    assert rows(text.replace("None", "None, batch_sampler=sampler")) == [("train.py", 3)]


def test_the_zero_elsewhere_follows_the_loader_that_gets_it() -> None:
    text = """\
        import paddle

        WORKERS = 0
        loader = paddle.io.DataLoader(data, batch_size=4, shuffle=True, num_workers=WORKERS)
        """
    text = dedent(text)
    assert rows(text) == [("train.py", 3)]
    assert rows(text + "predict(network, loader)\n") == []
    assert rows(text + "predict(network, loader)\n", Confidence.LOW) == [("train.py", 3)]
    assert rows(text + "image = next(iter(loader))\n", Confidence.LOW) == []
    other = "train_loader = paddle.io.DataLoader(data, batch_size=4, shuffle=True, num_workers=WORKERS)\n"
    assert rows(text + "predict(network, loader)\n" + other) == [("train.py", 3)]


def test_a_subclass_is_named_where_it_is_made() -> None:
    text = """\
        import paddle


        class Loader(paddle.io.DataLoader):
            def __init__(self, dataset, num_workers=0):
                super().__init__(dataset, batch_size=4, num_workers=num_workers)


        class Config:
            workers = 0


        train_loader = Loader(train_set, num_workers=Config.workers)
        """
    (finding,) = engine.check(sources(text), Settings(join_lines=False, select=("PPF101",)))
    assert "the loader at line 13 " in finding.message
    assert rows(dedent(text) + "image = next(iter(train_loader))\n") == []


def test_shared_memory_of_a_loader_that_is_tried_once() -> None:
    text = "import paddle\n\nloader = paddle.io.DataLoader(data, num_workers=2, use_shared_memory=False)\n"
    assert rows(text, code="PPF102") == [("train.py", 3)]
    assert rows(text + "image = next(iter(loader))\n", Confidence.LOW, "PPF102") == []
    assert rows(text + "predict(network, loader)\n", Confidence.LOW, "PPF102") == [("train.py", 3)]


@pytest.mark.parametrize(("kept", "is_found"), [("paddle.to_tensor(pairs)", False), ("pairs", True)])
def test_a_dataset_that_keeps_tensors(kept: str, is_found: bool) -> None:
    """Workers are processes: tensors of Paddle do not get there."""
    text = f"""
        import paddle


        class Pairs(paddle.io.Dataset):
            def __init__(self, pairs):
                self.pairs = {kept}

            def __getitem__(self, index):
                return self.pairs[index]


        def train(model, optimizer, pairs):
            loader = paddle.io.DataLoader(Pairs(pairs), batch_size=8)
            for x in loader:
                loss = model(x).mean()
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
        """
    assert [item.code for item in check(text, "PPF101")] == (["PPF101"] if is_found else [])
