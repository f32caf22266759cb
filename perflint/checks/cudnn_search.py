"""PPF706: a convolutional network on images of one size, for which cuDNN only estimates which kernels are fastest."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from perflint import catalogue
from perflint.checks.entry_advice import above_training, entry_of_model, places_beside
from perflint.facts.entry_points import EntryPoint, entries_of
from perflint.facts.entry_programs import speaks_of
from perflint.facts.entry_work import DeviceWork, work_of
from perflint.facts.image_sizes import Sizes, sizes_of_images
from perflint.findings import Confidence
from perflint.index.project import FileIndex
from perflint.lint.context import Context
from perflint.lint.registry import check, statement_gate
from perflint.syntax.scopes import Statement

CODE = "PPF706"
_CHOSEN = (
    *("FLAGS_cudnn_exhaustive_search", "cudnn_exhaustive_search", "FLAGS_cudnn_deterministic", "cudnn_deterministic"),
    *("FLAGS_use_autotune", "use_autotune", "autotune", "deterministic"),
)
"""What shows that cuDNN's search for kernels was chosen deliberately."""
_SCALED = ("MultiScale", "multi_scale", "multiscale", "BatchRandomResize", "random_shape", "random_size", "short_size")
"""Names in a step that changes the size of whole batches."""
_LINES = ("if {paddle}.is_compiled_with_cuda():", '    {paddle}.set_flags({{"FLAGS_cudnn_exhaustive_search": True}})')
"""The rows above the training: a CPU build does not have the flag."""
_BY_CUDNN = {DeviceWork.CONVOLUTIONS, DeviceWork.OTHER_CONVOLUTIONS}


@statement_gate(CODE)
def _guessing(file: FileIndex) -> Iterator[tuple[Statement, Confidence]]:
    for entry in entries_of(file):
        if entry.model_call is not None and leaves_cudnn_to_guess(entry):
            yield entry.model_call[0], Confidence.MEDIUM


def leaves_cudnn_to_guess(entry: EntryPoint) -> bool:
    """Whether a step spends its time on convolutions of one size, and nothing turns on the kernel search."""
    if speaks_of(entry, *_CHOSEN) or entry.file.has_words(*_SCALED) or entry.driven_from.has_words(*_SCALED):
        return False
    work = work_of(entry)
    if work.isdisjoint(_BY_CUDNN) or DeviceWork.ATTENTION in work:
        return False
    return sizes_of_images(entry) is Sizes.ONE


@check("Call")
def no_search(call: cst.Call, context: Context) -> None:
    """Report the model of a training step whose convolutions use kernels that cuDNN only estimates to be fastest."""
    entry = entry_of_model(call, context, CODE)
    if entry is None or not leaves_cudnn_to_guess(entry):
        return
    fix = above_training(entry, _LINES, catalogue.shipped()[CODE])
    context.report(
        CODE,
        call,
        fix,
        related=places_beside(entry),
        confidence=Confidence.MEDIUM,
        claims=False,
    )
