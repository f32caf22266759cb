"""The whole of three published Paddle suites: the gates lose nothing, and the fixes leave the rest alone."""

from __future__ import annotations

import ast
import difflib

import pytest

from perflint.configuration.settings import Settings
from perflint.findings import Finding, Level
from perflint.fix import fixer
from perflint.fix.fixer import FixOutcome
from perflint.run import engine
from perflint.text.source import Source
from tests import corpus

ALL = Settings(join_lines=False, select=("ALL",))

# What is reported in the three suites, as path, rule and rows; a row stands twice where two findings begin on it.  Each
# was judged right by reading, so a change of this list is a change to read again.  In a forward pass, right means that
# training runs it at each step and that the host does wait, or copy, there.
DETECTION, SEGMENTATION = "paddledet-2.6.0/ppdet", "paddleseg-2.8.0/paddleseg"
BACKBONES = "paddleclas-2.6.0/paddleclas/ppcls/arch/backbone/model_zoo"
READ: dict[str, dict[str, list[int]]] = {
    # -- PaddleClas: drop_path makes a tensor of 1 - self.drop_prob, twice in each block of each forward pass
    f"{BACKBONES}/convnext.py": {"PPF205": [52]},
    # The size of the batch is made a tensor, `paddle.to_tensor(...)`, which both calls of `reshape` read back.
    f"{BACKBONES}/cswin_transformer.py": {"PPF207": [134, 141]},
    f"{BACKBONES}/cvt.py": {"PPF205": [52]},
    f"{BACKBONES}/dsnet.py": {"PPF205": [105]},
    f"{BACKBONES}/foundation_vit.py": {"PPF205": [292]},
    f"{BACKBONES}/svtrnet.py": {"PPF205": [95]},
    f"{BACKBONES}/tnt.py": {"PPF205": [57]},
    f"{BACKBONES}/van.py": {"PPF205": [51]},
    # -- PaddleDetection
    f"{DETECTION}/engine/trainer.py": {
        "PPF201": [552],  # hands the losses to TrainingStats.update at each step, on rank 0
        "PPF601": [832],  # slice_predict: eval(), but gradients on
    },
    # Boxes are scaled by way of NumPy where two views differ in size, and the losses go to TrainingStats.update.
    f"{DETECTION}/engine/trainer_ssod.py": {"PPF201": [352]},  # 254 and 304 read only where the batch has boxes
    f"{DETECTION}/utils/stats.py": {"PPF201": [77]},  # one read for each loss
    f"{DETECTION}/modeling/assigners/uniform_assigner.py": {"PPF203": [85]},  # only guards selections for a summed loss
    f"{DETECTION}/modeling/bbox_utils.py": {"PPF205": [131, 131, 323]},  # deviations and means; the least divisor
    f"{DETECTION}/modeling/backbones/transformer_utils.py": {"PPF205": [35]},  # drop_path: 1 - self.drop_prob
    f"{DETECTION}/modeling/heads/retina_head.py": {"PPF205": [151]},  # the number of classes, for each image
    f"{DETECTION}/modeling/heads/s2anet_head.py": {
        "PPF205": [514, 526, 596, 609],  # weights of losses, for each image, and two of them for each level
        # For an assigner that works with NumPy, image by image: one copy of the boxes, labels and flags would do.  At
        # 631 the advice is wrong: `gt_labels + 1` adds nothing up.
        "PPF210": [630, 631, 632, 655],
    },
    f"{DETECTION}/modeling/heads/yolo_head.py": {"PPF207": [364]},  # one_hot of it, for a summed cross entropy
    # The number of classes, for each image.  The divisor at 277 is read right behind the selections of 271 and 272.
    f"{DETECTION}/modeling/heads/yolof_head.py": {"PPF205": [262]},
    f"{DETECTION}/modeling/losses/jde_loss.py": {"PPF207": [171]},  # only counts
    f"{DETECTION}/modeling/losses/keypoint_loss.py": {"PPF907": [54]},  # a mean squared error for each joint
    # Both indices of each matched box, in a loss that is looked up in a dict by its name.
    f"{DETECTION}/modeling/losses/sparsercnn_loss.py": {"PPF210": [90, 90, 343]},
    f"{DETECTION}/modeling/losses/ssd_loss.py": {
        "PPF203": [123],  # a choice between two numbers, for each image of the batch
        # Summed; it gives the selection the name of what it selects from.  148 and 149 wait right behind the test at
        # 147, and would gain only together with it.
        "PPF207": [160],
    },
    f"{DETECTION}/modeling/losses/supcontrast.py": {"PPF207": [80]},  # a mean over a mask
    f"{DETECTION}/modeling/reid/fairmot_embedding_head.py": {
        "PPF203": [168, 220],  # guards a division by a count
        "PPF207": [138, 208],  # labels of a cross entropy; at 208 for each class
    },
    # The mask marks the first count_num of a sort: their indices are at hand, and their number is no secret.
    f"{DETECTION}/modeling/ssod/losses.py": {"PPF207": [119, 120, 225, 226]},
    f"{DETECTION}/modeling/ssod/utils.py": {
        # 72 and 74: what the mask takes of two tensors goes back to where it took it, so `where` does
        # 81: both losses hand it masks
        "PPF207": [72, 72, 74, 74, 81],
    },
    f"{DETECTION}/modeling/transformers/dino_transformer.py": {"PPF205": [606]},  # a zero; 604 is an infinity
    f"{DETECTION}/modeling/transformers/matchers.py": {"PPF210": [121]},  # for SciPy, image by image: one copy would do
    f"{DETECTION}/modeling/transformers/utils.py": {
        "PPF205": [253],  # the 2 of a division
    },
    f"{DETECTION}/optimizer/optimizer.py": {"PPF510": [85]},  # a cosine with a boundary for each step
    f"{DETECTION}/slim/distill_loss.py": {
        "PPF203": [706, 713],  # for each box of each image; 713 guards a division by a sum
    },
    # -- PaddleSeg
    f"{SEGMENTATION}/core/train.py": {
        "PPF201": [262, 267],  # avg_loss += float(loss); avg_loss_list[i] += loss_list[i].numpy()
    },
    f"{SEGMENTATION}/models/ginet.py": {
        "PPF306": [120, 131],  # word embeddings of width 300 under AMP; 84 nodes between two convolutions
    },
    f"{SEGMENTATION}/models/gscnn.py": {"PPF210": [171]},  # the images go to OpenCV and back in the forward pass
    f"{SEGMENTATION}/models/backbones/transformer_utils.py": {"PPF205": [36]},  # drop_path: 1 - self.drop_prob
    f"{SEGMENTATION}/models/losses/cross_entropy_loss.py": {
        "PPF905": [128],  # the weight of each pixel's class
    },
    f"{SEGMENTATION}/models/losses/edge_attention_loss.py": {"PPF203": [73]},  # a minimum
    f"{SEGMENTATION}/models/losses/gscnn_dual_task_loss.py": {
        "PPF203": [129, 136],  # guards a division by a sum
        "PPF205": [58],  # a kernel of three numbers, twice in each pass
    },
    f"{SEGMENTATION}/models/losses/maskformer_loss.py": {
        "PPF210": [436],  # a divisor
    },
    # Not the index of the two OHEM losses: the tests right before and after it wait as well.
    f"{SEGMENTATION}/models/losses/pixel_contrast_cross_entropy_loss.py": {"PPF210": [129]},  # for each class
    f"{SEGMENTATION}/models/losses/semantic_connectivity_loss.py": {
        "PPF205": [70, 136, 141],  # zeros; 136 for each class, 141 for each connected part of a label
        "PPF210": [66, 67],  # predictions and labels, for OpenCV; the labels came from the host
    },
}

# What the fixes of these findings change, row by row.
EDITED: dict[str, list[str]] = {
    f"{DETECTION}/engine/trainer.py": ["+    @paddle.no_grad()"],  # on slice_predict
    # Unsafe, because the step then waits for the list of losses, until somebody adds up those on the device, too.
    f"{SEGMENTATION}/core/train.py": [
        "-            avg_loss += float(loss)",
        '+            avg_loss += loss.detach().astype("float64")',
        "-                avg_loss /= log_iters",
        "+                avg_loss = float(avg_loss) / log_iters",
        "-                             ) // iters_per_epoch + 1, iter, iters, avg_loss,",
        "+                             ) // iters_per_epoch + 1, iter, iters, float(avg_loss),",
        "-                    log_writer.add_scalar('Train/loss', avg_loss, iter)",
        "+                    log_writer.add_scalar('Train/loss', float(avg_loss), iter)",
    ],
    f"{SEGMENTATION}/models/losses/semantic_connectivity_loss.py": [
        "-        zero = paddle.to_tensor([0.])  # for accelerating",
        "+        zero = paddle.full([1], 0.)  # for accelerating",
    ],
}


@pytest.fixture(scope="module")
def sources() -> dict[str, Source]:
    return corpus.sources()


@pytest.fixture(scope="module")
def findings(sources: dict[str, Source]) -> list[Finding]:
    return engine.check(sources, ALL)


@pytest.fixture(scope="module")
def fixed(sources: dict[str, Source]) -> FixOutcome:
    return fixer.fix_all(sources, lambda given: engine.check(given, ALL), Level.UNSAFE)


def test_all_of_it_is_read(sources: dict[str, Source]) -> None:
    assert len(sources) == 592


def test_findings_are_those_that_were_read(sources: dict[str, Source], findings: list[Finding]) -> None:
    found = [
        (finding.path, finding.code, sources[finding.path].lines.position(finding.start)[0]) for finding in findings
    ]
    expected = [(path, code, row) for path, codes in READ.items() for code, rows in codes.items() for row in rows]
    assert sorted(found) == sorted(expected)


def test_processes_find_the_same(sources: dict[str, Source], findings: list[Finding]) -> None:
    assert engine.check(sources, ALL, jobs=2) == findings


def test_every_fixed_file_parses(sources: dict[str, Source], fixed: FixOutcome) -> None:
    assert not fixed.rejected
    for source in fixed.changed.values():
        ast.parse(source.text)


def test_second_run_changes_nothing(sources: dict[str, Source], fixed: FixOutcome) -> None:
    assert fixed.settled
    again = fixer.fix_all({**sources, **fixed.changed}, lambda given: engine.check(given, ALL), Level.UNSAFE)
    assert not again.changed


def test_only_what_an_edit_touches_differs(sources: dict[str, Source], fixed: FixOutcome) -> None:
    assert {path: _differing(sources[path].text, source.text) for path, source in fixed.changed.items()} == EDITED


def _differing(before: str, after: str) -> list[str]:
    """The rows that only one of two texts has, in order, the old ones with ``-`` and the new ones with ``+``."""
    rows = list(difflib.unified_diff(before.split("\n"), after.split("\n"), lineterm="", n=0))
    return [row for row in rows[2:] if not row.startswith("@@")]
