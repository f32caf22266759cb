"""The public training scripts that are traced, and the small data that is made for them.

They were chosen for what they train, and because they run on a CPU with Paddle 3.3.1.  What perflint says about them
played no part.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from published_parts.public import BY_NAME as MEASURED
from published_parts.public import Script

from . import data


@dataclass(frozen=True)
class Traced(Script):
    """A script to trace: ``steps`` of it.

    Attributes:
        trains: what is trained, in words.
        shims: statements that give Paddle back what the script's release of it had; run once Paddle is imported.
        before: the same, run before anything else.
        folder: the working directory, seen from the root of the repository.
        parts: the folders of the repository that are copied; all of it if there are none.
    """

    trains: str = ""
    shims: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    folder: str = "."
    parts: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """How it is run in its working directory."""
        return " ".join(["python", os.path.relpath(self.script, self.folder), *self.arguments])


def _measured(name: str, trains: str, steps: int) -> Traced:
    """One of those that ``public_scripts.py`` measures."""
    script = MEASURED[name]
    fields = {field: getattr(script, field) for field in Script.__dataclass_fields__}
    return Traced(**{**fields, "warmup": 0, "steps": steps}, trains=trains)


_PHOTOS = ("opencv-python-headless", "scipy", "scikit-learn", "scikit-image")

SCRIPTS: tuple[Traced, ...] = (
    _measured("paddlerec", "recommendation", 24),
    _measured("mtcnn", "face detection", 24),
    _measured("paddleseg", "segmentation", 16),
    Traced(
        "paddleclas",
        "PaddlePaddle/PaddleClas",
        "d178931fca432204e6b7422bac4f92e09ff22fa4",
        "tools/train.py",
        (
            *("-c", "ppcls/configs/quick_start/new_user/ShuffleNetV2_x0_25.yaml"),
            *("-o", "DataLoader.Train.sampler.batch_size=8"),
        ),
        (*_PHOTOS, "easydict", "prettytable", "ujson", "faiss-cpu"),
        warmup=0,
        steps=40,
        data="256 photographs of 250 by 250 pixels in batches of 8, in the configuration of its quick start",
        make_data=data.flowers,
        trains="image classification",
    ),
    Traced(
        "paddledetection",
        "PaddlePaddle/PaddleDetection",
        "666f597fd00d3157e84dd9fb2dd3f40bf9918ebc",
        "tools/train.py",
        (
            *("-c", "configs/picodet/picodet_xs_320_coco_lcnet.yml"),
            *("-o", "use_gpu=false", "pretrain_weights=null", "TrainReader.batch_size=4"),
        ),
        (*_PHOTOS, "pycocotools", "terminaltables", "typeguard", "shapely", "imgaug", "lapx", "motmetrics"),
        warmup=0,
        steps=40,
        data="64 photographs of 320 by 240 pixels with two boxes each, in batches of 4, for PicoDet-XS",
        make_data=data.boxes,
        trains="object detection",
    ),
    Traced(
        "paddlegan",
        "PaddlePaddle/PaddleGAN",
        "094a2eb926d451ad9ad56c92c6f23e2c7199df73",
        "tools/main.py",
        ("--config-file", "data/generated.yaml"),
        (*_PHOTOS, "imageio", "librosa", "numba", "easydict", "munch", "natsort"),
        warmup=0,
        steps=20,
        data="two sets of 8 photographs, cropped to 64 pixels, for CycleGAN with 8 filters",
        make_data=data.horses,
        trains="image translation (GAN)",
    ),
    Traced(
        "quantum",
        "PaddlePaddle/Quantum",
        "760c787f29e18db77ec6fba5e91da6166ae6599e",
        "paddle_quantum/mbqc/QAOA/example/maxcut_main.py",
        (),
        ("qcompute", "openfermion", "cvxpy", "fastdtw", "scipy", "networkx", "matplotlib", "tqdm"),
        warmup=0,
        steps=12,
        data="a graph that the script draws",
        make_data=data.nothing,
        trains="a quantum circuit (QAOA)",
        before=("import os; os.environ['MPLBACKEND'] = 'agg'",),
    ),
    Traced(
        "mhcn",
        "PaddlePaddle/PaddleRec",
        "656326adf3c4117c11ec0eff5e8f61acd8191c2a",
        "tools/trainer.py",
        ("-m", "config.yaml"),
        ("six",),
        warmup=0,
        steps=24,
        data="the repository's own sample",
        make_data=data.nothing,
        trains="a hypergraph network for recommendation",
        folder="models/recall/mhcn",
    ),
    Traced(
        "parl",
        "PaddlePaddle/PARL",
        "3bb5fe36d245f4d69bae0710dc1dc9d1a172f64d",
        "examples/DQN/train.py",
        (),
        ("gym", "termcolor", "pyzmq", "cloudpickle"),
        warmup=0,
        steps=60,
        data="episodes of CartPole",
        make_data=data.nothing,
        trains="reinforcement learning",
        before=(
            "import os; os.environ.update(PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION='python', PARL_BACKEND='paddle')",
        ),
    ),
    Traced(
        "voiceprint",
        "yeyupiaoling/VoiceprintRecognition-PaddlePaddle",
        "45c4180212e9e5b055009c06da1be971d68324c6",
        "train.py",
        ("--configs", "configs/generated.yml", "--use_gpu", "False", "--do_eval", "False"),
        ("yeaudio", "soundfile", "scikit-learn", "loguru", "visualdl"),
        warmup=0,
        steps=30,
        data="64 sounds of one second in batches of 4, for ECAPA-TDNN with fewer channels",
        make_data=data.voices,
        trains="speaker recognition",
    ),
    Traced(
        "textcnn",
        "PaddlePaddle/PaddleRec",
        "656326adf3c4117c11ec0eff5e8f61acd8191c2a",
        "tools/trainer.py",
        ("-m", "models/contentunderstanding/textcnn/config.yaml"),
        ("six",),
        warmup=0,
        steps=24,
        data="the repository's own sample",
        make_data=data.nothing,
        trains="text classification",
    ),
)
BY_NAME = {script.name: script for script in SCRIPTS}
