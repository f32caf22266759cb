"""The public programs that ``perflint step`` is compared with: what is run, on which small data, for how many steps.

They were chosen because they run on a CPU with Paddle 3.3.1.  What the comparison would give played no part.
"""

from __future__ import annotations

import json
import zlib
from itertools import starmap
from typing import Any

from . import data
from .scripts import Traced
from .small_data import (
    array,
    cifar,
    configuration,
    digits_json,
    made,
    mnist,
    photos,
    reviews,
    text,
    views,
    words,
)

COMMITS = {
    "PaddlePaddle/PaddleRec": "656326adf3c4117c11ec0eff5e8f61acd8191c2a",
    "PaddlePaddle/PaddleGAN": "094a2eb926d451ad9ad56c92c6f23e2c7199df73",
    "PaddlePaddle/PaddleDetection": "666f597fd00d3157e84dd9fb2dd3f40bf9918ebc",
    "PaddlePaddle/PaddleSports": "85dd6b6ba2a1ffb273001cf94fa45ce763871db1",
    "PaddlePaddle/PaddleSlim": "9f3e9b2f0f9948b780900d1299f2c3fe47322deb",
    "PaddlePaddle/PaddleSleeve": "943a0b9e26de0959f7f6b67c501f03dbf725f692",
    "PaddlePaddle/awesome-DeepLearning": "772e97d3103fae65313fc2683d3dff13e5cbb723",
    "lelexx/fastflow_paddle": "9c12f6d1d58b51df4b6cab82b3df6acf9137ac36",
    "hnmizuho/InvDN_paddlepaddle": "23d58a703c8e4dc0e28f3651fe54af9b0359ad31",
    "icey-zhang/MTCNN_paddle": "716f9e4c6977e333e94f4fb14012ea4863fcda19",
    "JMDang/ner_paddle": "1ae7452a2445ec504160eb64a84025c441318ab5",
    "PaddlePaddle/PaddleSeg": "d7975e7cb3b9102eae4eabcef5afb81b878473aa",
    "PaddlePaddle/PaddleClas": "d178931fca432204e6b7422bac4f92e09ff22fa4",
    "PaddlePaddle/PARL": "3bb5fe36d245f4d69bae0710dc1dc9d1a172f64d",
    "PaddlePaddle/PASSL": "5c7359b15e37ffa8b994e394843a29f77814447c",
    "thunder95/paddle_papers_reproduce": "7421a0d382af2302e08b5843fbcf7f55c1fe40fa",
    "yeyupiaoling/VITS-PaddlePaddle": "995e6275df635e767b431b3d83e12bf9184ee7cf",
    "yaojin17/thinkmatch_paddle": "49600dc4e42dc59a6e9d7d3b8c6eb2fc3a77f4c7",
    "zhouziyueharry-droid/ai4sc_paddle": "6b73a336fa68831fea6993bd670642c225d16ef7",
}
"""The commit of each repository."""

ON_CPU = (
    "paddle.set_device = lambda *_: paddle.CPUPlace()",
    "paddle.CUDAPlace = lambda *_: paddle.CPUPlace()",
    "paddle.Tensor.cuda = lambda self, *_, **__: self",
)
"""What asks for a GPU gets the CPU."""
ONE_NUMBER = (
    "paddle.Tensor.numpy = (lambda own: lambda self, *a: own(self, *a).reshape(tuple(self.shape) or "
    "((1,) if 'site-packages' not in __import__('sys')._getframe(1).f_code.co_filename else ())))(paddle.Tensor.numpy)",
)
"""A tensor without axes gives an array of one number, as it did before Paddle 2.5."""
NAMES = (
    "import numpy; [setattr(numpy, *pair) for pair in (('int', int), ('float', float), ('bool', bool), "
    "('object', object), ('product', numpy.prod), ('sctypes', {'float': [numpy.float32, numpy.float64], "
    "'int': [numpy.int32, numpy.int64], 'uint': [numpy.uint8]})) if pair[0] not in vars(numpy)]",
)
"""Names that NumPy had before 1.24."""
AT_HOME = ("import os; os.environ['HOME'] = os.environ['PYTHONPATH'].split(os.pathsep)[0]",)
"""The copy is the home directory, in which Paddle keeps the data sets that it downloads."""
HERE = (
    "import os; common = paddle.dataset.common; common.download = lambda url, module, *_: "
    "os.path.join(common.DATA_HOME, module, url.split('/')[-1])",
)
"""They are there, whatever their checksum is."""


NO_METRIC = ("import sys, types; sys.modules['medpy'] = types.ModuleType('medpy'); sys.modules['medpy'].metric = None",)
"""An empty package for an import of MedPy that the program does not use."""
NO_WEIGHTS = (
    "paddle.utils.download.get_weights_path_from_url = lambda *_: 'none.pdparams'",
    "own = paddle.load; paddle.load = lambda path, *a: {} if 'none.pdparams' in path else own(path, *a)",
)
"""Weights that would be downloaded are those that the model starts with."""


def _program(name: str, repository: str, script: str, arguments: str = "", **more: Any) -> Traced:
    """A program of a repository: its arguments as in a shell, without quotes."""
    fields: dict[str, Any] = {
        "make_data": data.nothing,
        "data": "the repository's own sample",
        "trains": "",
        "steps": 8,
    }
    return Traced(
        name,
        f"{repository}",
        COMMITS[repository],
        script,
        tuple(arguments.split()),
        needs=(),
        warmup=0,
        **{**fields, **more},
    )


_SPORTS = "PaddlePaddle/PaddleSports"
_ACTIONS = "04-sports_what/4.2-semantic_attribute/4.2.2-action_recognition"
_GAN = "PaddlePaddle/PaddleGAN"
_LESSONS = "PaddlePaddle/awesome-DeepLearning"
_CLASS = "junior_class"
_SLIM = "PaddlePaddle/PaddleSlim"
_MARKET = "dataset/market1501/Market-1501-v15.09.15"


def _action(name: str) -> Traced:
    """One of the models of actions of skeletons."""
    place = f"{_ACTIONS}/{name}"
    return _program(
        f"sports-{name}",
        _SPORTS,
        f"{place}/main.py",
        "--window_size 32 --data_file train.npy --label_file labels.npy --BATCH_SIZE 4",
        data="64 skeletons of 25 joints over 32 frames",
        make_data=made(array(f"{place}/train.npy", (64, 3, 32, 25, 1)), array(f"{place}/labels.npy", (64,), 30)),
        trains="actions of skeletons",
        folder=place,
        parts=(place,),
        shims=(*ON_CPU, *ONE_NUMBER),
        before=NAMES,
    )


def _rec(path: str, trains: str) -> Traced:
    """A model of PaddleRec, trained on its own sample."""
    name = path.rpartition("/")[2]
    return _program(
        f"rec-{name}",
        "PaddlePaddle/PaddleRec",
        "tools/trainer.py",
        f"-m models/{path}/config.yaml -o runner.use_gpu=False",
        trains=trains,
    )


def _segmentation(
    name: str, model: dict[str, Any], losses: list[Any], steps: int = 6, more: Any = (), **dataset: Any
) -> Traced:
    """A model of PaddleSeg."""
    types = [each if isinstance(each, dict) else {"type": each} for each in losses]
    config = {
        "batch_size": 2, "iters": 1000,
        "train_dataset": {
            "type": "Dataset", "dataset_root": "data", "train_path": "data/train.txt", "num_classes": 2,
            "mode": "train",
            "transforms": [
                {"type": "RandomPaddingCrop", "crop_size": [128, 128]}, {"type": "RandomHorizontalFlip"}, *more,
                {"type": "Normalize"},
            ], **dataset,
        },
        "optimizer": {"type": "SGD", "momentum": 0.9},
        "lr_scheduler": {"type": "PolynomialDecay", "learning_rate": 0.01, "end_lr": 0, "power": 0.9},
        "loss": {"types": types, "coef": [1] * len(types)},
        "model": model,
    }  # fmt: skip
    return _program(
        name,
        "PaddlePaddle/PaddleSeg",
        "tools/train.py",
        "--config data/config.yml --device cpu",
        trains="segmentation",
        data="16 photographs of 160 pixels, cropped to 128, in batches of 2",
        steps=steps,
        make_data=made(
            photos("data/{}.jpg", 16, (160, 160)),
            photos("data/{}.png", 16, (160, 160), "L", 2),
            text("data/train.txt", "{0}.jpg {0}.png", 16),
            text("data/config.yml", json.dumps(config).replace("{", "{{").replace("}", "}}")),
        ),
    )


def _detection(name: str, path: str, steps: int = 6, size: int = 0) -> Traced:
    """A model of PaddleDetection; ``size``: that of its images, instead of what its configuration says."""
    smaller = (
        f"_BASE_: ['{path.removeprefix('configs/')}']\nTrainReader:\n  sample_transforms:\n  - Decode: {{{{}}}}\n"
        f"  - RandomResize: {{{{target_size: [[{size}, {size + 64}]], interp: 2, keep_ratio: True}}}}\n"
        "  - NormalizeImage: {{is_scale: true, mean: [0.485,0.456,0.406], std: [0.229, 0.224,0.225]}}\n"
        "  - Permute: {{}}"
    )
    return _program(
        name,
        "PaddlePaddle/PaddleDetection",
        "tools/train.py",
        f"-c {'configs/generated.yml' if size else path} -o use_gpu=false pretrain_weights=null "
        "TrainReader.batch_size=1 worker_num=0 log_iter=2",
        trains="object detection",
        data="64 photographs of 320 by 240 pixels with two boxes each",
        steps=steps,
        make_data=made(data.boxes, *([text("configs/generated.yml", smaller)] if size else [])),
        before=NAMES,
    )


_LUNGS = """\
data_root: data/
batch_size: 2
iters: 15000
train_dataset:
  type: MedicalDataset
  dataset_root: lungs
  result_dir: lungs
  transforms:
    - type: RandomFlip3D
  mode: train
  num_classes: 3
optimizer:
  type: sgd
  momentum: 0.9
lr_scheduler:
  type: PolynomialDecay
  decay_steps: 15000
  learning_rate: 0.001
  end_lr: 0
  power: 0.9
loss:
  types:
    - type: MixedLoss
      losses:
        - type: CrossEntropyLoss
          weight: Null
        - type: DiceLoss
      coef: [1, 1]
  coef: [1]
model:
  type: VNet
  elu: False
  in_channels: 1
  num_classes: 3
  pretrained: null
"""


_FACES = "\n".join(
    f"annotations/faces/{row}" for row in ("1.jpg 1 0.1 0.1 0.1 0.1", "2.jpg 0", "3.jpg -1 0.1 0.1 -0.1 0.1")
)
"""A face, none, and a part of one."""

PROGRAMS: tuple[Traced, ...] = (
    *map(_action, ("stgcn", "ctrgcn")),
    _program(
        "gan-pix2pix",
        _GAN,
        "tools/main.py",
        "--config-file data/generated.yaml",
        trains="image translation",
        data="8 pairs of photographs of 64 pixels",
        make_data=made(
            photos("data/facades/train/{}.jpg", 8, (144, 72)),
            photos("data/facades/test/{}.jpg", 4, (144, 72)),
            configuration(
                "configs/pix2pix_facades.yaml",
                "data/generated.yaml",
                {
                    "model.generator.num_downs": 6,
                    "model.generator.ngf": 8,
                    "model.discriminator.ndf": 8,
                    "dataset.train.preprocess.2.pipeline.0.size": [72, 72],
                    "dataset.train.preprocess.2.pipeline.1.size": [64, 64],
                    "dataset.test.preprocess.2.pipeline.0.size": [64, 64],
                },
                ["validate", "export_model"],
            ),
        ),
    ),
    _program(
        "gan-dcgan",
        _GAN,
        "tools/main.py",
        "--config-file data/generated.yaml",
        trains="digits (GAN)",
        data="1024 digits of noise in batches of 16",
        make_data=made(
            mnist(),
            configuration(
                "configs/dcgan_mnist.yaml",
                "data/generated.yaml",
                {
                    "model.generator.ngf": 8,
                    "model.discriminator.ndf": 8,
                    "dataset.train.batch_size": 16,
                },
            ),
        ),
        shims=HERE,
        before=AT_HOME,
    ),
    _program(
        "gan-wgan",
        _GAN,
        "tools/main.py",
        "--config-file data/generated.yaml",
        trains="digits (Wasserstein GAN)",
        data="1024 digits of noise in batches of 16",
        make_data=made(
            mnist(),
            configuration(
                "configs/wgan_mnist.yaml",
                "data/generated.yaml",
                {
                    "dataset.train.batch_size": 16,
                    "dataset.train.num_workers": 0,
                },
            ),
        ),
        shims=HERE,
        before=AT_HOME,
    ),
    _program(
        "gan-esrgan",
        _GAN,
        "tools/main.py",
        "--config-file data/generated.yaml",
        trains="larger images",
        data="16 pairs of photographs",
        make_data=made(
            photos("data/DIV2K/DIV2K_train_HR_sub/{}.png", 16, (160, 160)),
            photos("data/DIV2K/DIV2K_train_LR_bicubic/X4_sub/{}.png", 16, (40, 40)),
            photos("data/Set14/GTmod12/{}.png", 2, (160, 160)),
            photos("data/Set14/LRbicx4/{}.png", 2, (40, 40)),
            configuration(
                "configs/esrgan_psnr_x4_div2k.yaml",
                "data/generated.yaml",
                {
                    "model.generator.nf": 8,
                    "model.generator.nb": 2,
                    "dataset.train.batch_size": 4,
                    "dataset.train.preprocess.2.pipeline.0.gt_patch_size": 64,
                },
                ["validate", "export_model"],
            ),
        ),
    ),
    _program(
        "gan-mprnet",
        _GAN,
        "tools/main.py",
        "--config-file data/generated.yaml",
        trains="removal of noise",
        data="16 pairs of photographs",
        make_data=made(
            *(
                photos(f"data/SIDD/{part}/{kind}/{{}}.png", 16, (96, 96))
                for part in ("train", "val")
                for kind in ("input", "target")
            ),
            configuration(
                "configs/mprnet_denoising.yaml",
                "data/generated.yaml",
                {
                    "dataset.train.img_options.patch_size": 64,
                    "dataset.train.batch_size": 1,
                    "dataset.train.num_workers": 0,
                    "model.generator.n_feat": 16,
                    "model.generator.scale_unetfeats": 8,
                    "model.generator.scale_orsnetfeats": 8,
                },
                ["validate", "export_model"],
            ),
        ),
        steps=5,
    ),
    _program(
        "lesson-digits",
        _LESSONS,
        f"{_CLASS}/chapter-2-step_to_deep_learning/code/train.py",
        trains="digits",
        data="640 digits of noise",
        folder=f"{_CLASS}/chapter-2-step_to_deep_learning/code",
        parts=(f"{_CLASS}/chapter-2-step_to_deep_learning",),
        make_data=digits_json(f"{_CLASS}/chapter-2-step_to_deep_learning/code/datasets/mnist.json.gz"),
        shims=ON_CPU,
    ),
    _program(
        "lesson-lenet",
        _LESSONS,
        f"{_CLASS}/chapter-3-Computer_Vision/code/train_MNIST.py",
        trains="digits",
        data="1024 digits of noise",
        folder=f"{_CLASS}/chapter-3-Computer_Vision/code",
        parts=(f"{_CLASS}/chapter-3-Computer_Vision",),
        make_data=mnist(),
        shims=(*ON_CPU, *HERE),
        before=(*AT_HOME, "import sys; sys.path.append('nets')"),
    ),
    _program(
        "lesson-eyes",
        _LESSONS,
        f"{_CLASS}/chapter-3-Computer_Vision/code/train_PALM.py",
        trains="ill eyes",
        data="80 photographs",
        folder=f"{_CLASS}/chapter-3-Computer_Vision/code",
        parts=(f"{_CLASS}/chapter-3-Computer_Vision",),
        make_data=made(
            *(
                photos(
                    f"{_CLASS}/chapter-3-Computer_Vision/code/data/palm/PALM-Training400/PALM-Training400/{kind}{{:04}}.jpg",
                    40,
                    (64, 64),
                )
                for kind in "HP"
            )
        ),
        shims=ON_CPU,
        before=("import sys; sys.path.append('nets')",),
    ),
    _program(
        "lesson-words",
        _LESSONS,
        f"{_CLASS}/chapter-5-NLP/code/train.py",
        trains="word vectors",
        data="a text of 20,000 words",
        folder=f"{_CLASS}/chapter-5-NLP/code",
        parts=(f"{_CLASS}/chapter-5-NLP",),
        make_data=words(f"{_CLASS}/chapter-5-NLP/code/data/text8.txt", 20000),
    ),
    _program(
        "fastflow",
        "lelexx/fastflow_paddle",
        "train.py",
        "--data lite_data --batch_size 4",
        trains="defects in photographs",
        shims=(*ON_CPU, *NO_WEIGHTS),
    ),
    _program(
        "invdn",
        "hnmizuho/InvDN_paddlepaddle",
        "train_denoising_1card.py",
        trains="removal of noise",
        data="16 pairs of photographs of 144 pixels",
        make_data=made(
            photos("SIDD_Medium_Srgb_Patches_512/train/GT/{}.png", 16, (160, 160)),
            photos("SIDD_Medium_Srgb_Patches_512/train/Noisy/{}.png", 16, (160, 160)),
            photos("SIDD_Medium_Srgb_Patches_512/train/LQ/{}.png", 16, (40, 40)),
            photos("SIDD_Valid_Srgb_Patches_256/valid/GT/{}.png", 2, (160, 160)),
            photos("SIDD_Valid_Srgb_Patches_256/valid/Noisy/{}.png", 2, (160, 160)),
            configuration(
                "training_1card.yml",
                "training_1card.yml",
                {
                    "OPTIM.BATCH_SIZE": 2,
                    "OPTIM.WEIGHT_DECAY_G": 1e-8,
                    "OPTIM.LR_INITIAL": 2e-4,
                },
            ),
        ),
        shims=("own = paddle.load; paddle.load = lambda path, *a: {} if 'default_invdn' in path else own(path, *a)",),
    ),
    _program(
        "slim-quant",
        _SLIM,
        "demo/dygraph/quant/train.py",
        "--data cifar10 --model mobilenet_v1 --batch_size 8 --use_gpu False",
        trains="a quantized classifier",
        data="CIFAR-10 of noise",
        make_data=cifar(),
        shims=(*ON_CPU, *HERE),
        before=(*AT_HOME, *NAMES),
        folder="demo/dygraph/quant",
    ),
    _program(
        "sleeve-digits",
        "PaddlePaddle/PaddleSleeve",
        "AdvBox/examples/image_cls/mnist_cnn_bapi.py",
        trains="digits",
        data="1024 digits of noise",
        make_data=mnist(),
        shims=(*ON_CPU, *HERE),
        before=(*AT_HOME, *NAMES),
        folder="AdvBox/examples/image_cls",
        parts=("AdvBox/examples/image_cls",),
    ),
    _segmentation(
        "seg-ocrnet",
        {
            "type": "OCRNet",
            "backbone": {"type": "HRNet_W18_Small_V1"},
            "num_classes": 2,
            "backbone_indices": [0],
        },
        ["CrossEntropyLoss", "CrossEntropyLoss"],
    ),
    _segmentation(
        "seg-pointrend",
        {
            "type": "PointRend",
            "backbone": {"type": "ResNet50_vd", "output_stride": 8},
            "num_classes": 2,
            "backbone_indices": [0, 1, 2, 3],
        },
        ["CrossEntropyLoss", "PointCrossEntropyLoss"],
    ),
    _segmentation(
        "seg-maskformer",
        {
            "type": "MaskFormer",
            "num_classes": 2,
            "backbone": {"type": "SwinTransformer_tiny_patch4_window7_224_maskformer"},
        },
        [{"type": "MaskFormerLoss", "num_classes": 2, "eos_coef": 0.1}],
        more=[{"type": "GenerateInstanceTargets", "num_classes": 2, "ignore_index": 255}],
        steps=4,
    ),
    _segmentation(
        "seg-edges",
        {
            "type": "DecoupledSegNet",
            "backbone": {"type": "ResNet50_vd", "output_stride": 8},
            "num_classes": 2,
            "backbone_indices": [0, 3],
            "aspp_ratios": [1, 12, 24, 36],
            "aspp_out_channels": 256,
        },
        [
            "OhemCrossEntropyLoss",
            "RelaxBoundaryLoss",
            {"type": "BCELoss", "weight": "dynamic", "edge_label": True},
            "OhemEdgeAttentionLoss",
        ],
        edge=True,
        steps=5,
    ),
    _program(
        "seg-matting",
        "PaddlePaddle/PaddleSeg",
        "Matting/tools/train.py",
        "--config configs/generated.yml --device cpu --log_iters 1",
        trains="cut-outs of people",
        data="16 photographs of 128 pixels",
        folder="Matting",
        make_data=made(
            photos("Matting/data/PPM-100/train/fg/{}.jpg", 16, (128, 128)),
            photos("Matting/data/PPM-100/train/alpha/{}.jpg", 16, (128, 128), "L"),
            text("Matting/data/PPM-100/train.txt", "train/fg/{0}.jpg", 16),
            configuration(
                "Matting/configs/quick_start/modnet-mobilenetv2.yml",
                "Matting/configs/generated.yml",
                {
                    "model.backbone.pretrained": None,
                    "train_dataset.transforms.1.crop_size": [64, 64],
                },
                ["val_dataset"],
            ),
        ),
    ),
    _program(
        "seg-lungs",
        "PaddlePaddle/PaddleSeg",
        "contrib/MedicalSeg/train.py",
        "--config generated.yml --log_iters 2",
        trains="lungs in volumes",
        data="8 volumes of 32 by 32 by 32",
        folder="contrib/MedicalSeg",
        parts=("contrib/MedicalSeg",),
        make_data=made(
            *(array(f"contrib/MedicalSeg/data/lungs/images/{number}.npy", (32, 32, 32)) for number in range(8)),
            *(array(f"contrib/MedicalSeg/data/lungs/labels/{number}.npy", (32, 32, 32), 3) for number in range(8)),
            text("contrib/MedicalSeg/data/lungs/train_list.txt", "images/{0}.npy labels/{0}.npy", 8),
            text("contrib/MedicalSeg/generated.yml", _LUNGS),
        ),
        shims=ON_CPU,
        before=NO_METRIC,
    ),
    _program(
        "clas-people",
        "PaddlePaddle/PaddleClas",
        "tools/train.py",
        "-c ppcls/configs/reid/strong_baseline/baseline.yaml -o Global.device=cpu -o Global.use_visualdl=False "
        "-o Arch.Backbone.pretrained=False -o DataLoader.Train.sampler.batch_size=8 "
        "-o DataLoader.Train.loader.num_workers=0 -o Global.eval_during_train=False",
        trains="people again",
        data="64 photographs of 16 people",
        make_data=made(
            *(
                photos(f"{_MARKET}/bounding_box_train/{person:04}_c1s{{}}_000001_00.jpg", 4, (64, 128))
                for person in range(1, 17)
            ),
            *(
                photos(f"{_MARKET}/{part}/0001_c1s{{}}_000001_00.jpg", 4, (64, 128))
                for part in ("query", "bounding_box_test")
            ),
        ),
        shims=ON_CPU,
    ),
    _detection("det-yolov3", "configs/yolov3/yolov3_mobilenet_v1_270e_coco.yml"),
    _detection("det-ssd", "configs/ssd/ssdlite_mobilenet_v3_small_320_coco.yml"),
    _detection("det-faster-rcnn", "configs/faster_rcnn/faster_rcnn_r50_fpn_1x_coco.yml", steps=5, size=256),
    _detection("det-ppyoloe", "configs/ppyoloe/ppyoloe_crn_s_300e_coco.yml", steps=5),
    _program(
        "faces",
        "icey-zhang/MTCNN_paddle",
        "training/rnet/train.py",
        trains="faces",
        data="32 photographs of 24 pixels in batches of 1024",
        make_data=made(
            photos("annotations/faces/{}.jpg", 32, (24, 24)),
            *(
                text(
                    f"annotations/imglist_anno_24_{part}.txt",
                    _FACES,
                    4096,
                )
                for part in ("train", "val")
            ),
        ),
    ),
    _program(
        "sports-nerf",
        _SPORTS,
        "04-sports_what/4.3-visual_attribute/4.3.2-NeRF/run_nerf.py",
        "--config configs/lego.txt --N_rand 64 --N_samples 8 --N_importance 8 --i_print 2",
        trains="views of a scene (NeRF)",
        data="12 rendered views of 40 pixels",
        folder="04-sports_what/4.3-visual_attribute/4.3.2-NeRF",
        parts=("04-sports_what/4.3-visual_attribute/4.3.2-NeRF",),
        make_data=views("04-sports_what/4.3-visual_attribute/4.3.2-NeRF/data/nerf_synthetic/lego"),
        shims=(*ON_CPU, *ONE_NUMBER),
        before=NAMES,
    ),
    _program(
        "lesson-reviews",
        _LESSONS,
        f"{_CLASS}/chapter-6-sentiment_classification/code/train.py",
        trains="reviews of films",
        data="1024 reviews of 30 words",
        folder=f"{_CLASS}/chapter-6-sentiment_classification/code",
        parts=(f"{_CLASS}/chapter-6-sentiment_classification",),
        make_data=reviews(f"{_CLASS}/chapter-6-sentiment_classification/code/data/aclImdb_v1.tar.gz"),
        shims=ONE_NUMBER,
    ),
    *starmap(
        _rec,
        (
            ("match/dssm", "two towers"),
            ("multitask/mmoe", "experts"),
            ("multitask/dselect_k", "experts"),
            ("multitask/escm2", "two tasks"),
            ("rank/deepfefm", "clicks"),
            ("rank/bst", "clicks by a transformer"),
            ("rank/bert4rec", "films by a transformer"),
            ("contentunderstanding/tagspace", "tags"),
            ("rank/din", "clicks by attention"),
            ("rank/dlrm", "clicks"),
            ("multitask/maml", "tasks"),
            ("recall/mind", "interests"),
        ),
    ),
)
BY_NAME = {script.name: script for script in PROGRAMS}


def is_set_aside(name: str) -> bool:
    """Whether a program is one of those that nothing is tuned for: by a sum of its name, so nobody has chosen."""
    return zlib.crc32(name.encode()) % 2 == 1
