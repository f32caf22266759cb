"""What names say of the code that has them: that it evaluates, predicts or shows something rather than trains.

``evaluates("val_loader")`` and ``evaluates("TestSet")`` hold, ``evaluates("latest")`` does not: words count from where
they begin.  Whoever wants to know what a name says asks here, so that a word that is added or taken out holds for all
rules.
"""

from __future__ import annotations

import re
from functools import lru_cache

_DATA = r"(?:set|loader|data|ds|iter|reader|dl)"
_SHORT = r"(?:vals?|dev)"
"""``val`` and ``dev``: they begin a name, or stand beside a word for data; ``expected_val`` has a value in it."""
_EVALUATION = re.compile(
    rf"(?:^|_)(?:eval|valid|testing|tests?(?:$|_|\d|{_DATA}))"
    rf"|^{_SHORT}(?:$|_|\d)|(?:^|_){_SHORT}_?{_DATA}|(?:{_DATA}|run|do|for|is|on|epoch|step)_{_SHORT}$"
)
_PREDICTION = re.compile(
    rf"(?:^|_)(?:infer|predict|preds?(?:$|_?{_DATA})|export|deploy|serv(?:e|ing)(?:$|_)|demo|calib)"
)
_SHOWING = re.compile(r"(?:^|_)(?:visual|rollout|collect|(?<!down_)(?<!up_)(?<!re_)(?<!sub_)samples?(?:$|_))")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@lru_cache(16384)
def snake(name: str) -> str:
    """A name in lower case with its words apart: ``EvalNet`` is ``eval_net``; dots are left as they are."""
    return _CAMEL.sub("_", name).lower()


@lru_cache(16384)
def evaluates(name: str) -> bool:
    """Whether a name says evaluation: ``evaluate``, ``val_loader``, ``testset``, ``DevReader``."""
    return bool(_EVALUATION.search(snake(name).rpartition(".")[2]))


@lru_cache(16384)
def predicts(name: str) -> bool:
    """Whether a name says prediction, export or serving: ``infer``, ``Predictor``, ``export_model``, ``demo``."""
    return bool(_PREDICTION.search(snake(name).rpartition(".")[2]))


@lru_cache(16384)
def is_no_training(name: str) -> bool:
    """Whether a name says that something evaluates, predicts, shows or collects rather than trains."""
    last = snake(name).rpartition(".")[2]
    return "train" not in last and (evaluates(last) or predicts(last) or bool(_SHOWING.search(last)))
