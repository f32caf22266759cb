"""Why a run may have found nothing: its files do not use Paddle, or do not train.

``perflint check model.py`` finds little, because the training step that calls the model is in another file.
"""

from __future__ import annotations

from collections.abc import Sequence

from perflint.text.source import Source

_PADDLE = ("paddle", "Paddle")
_TRAINING = (".backward", ".minimize", ".fit(", "train_batch", "Trainer", ".step(", ".train(", ".learn(")
"""A file that trains has one of these; the other way round it does not follow."""


def remark(sources: Sequence[Source]) -> str:
    """A sentence for the end of a report without findings, after a space; empty where the files train, or are none.

    Only the text of the files is looked at, so a word in a comment is enough for silence.

    Example: ``" None of them uses Paddle."``
    """
    if not sources:
        return ""
    them = "It does not" if len(sources) == 1 else "None of them"
    if not _any_has(sources, _PADDLE):
        return f" {them} {'use' if len(sources) == 1 else 'uses'} Paddle."
    if not _any_has(sources, _TRAINING):
        verb = "contain" if len(sources) == 1 else "contains"
        return f" {them} {verb} a training step: check the directory of the script that trains."
    return ""


def _any_has(sources: Sequence[Source], words: tuple[str, ...]) -> bool:
    return any(word in source.text for source in sources for word in words)
