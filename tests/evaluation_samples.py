"""Evaluation loops, and what PPF601 finds in them."""

from __future__ import annotations

from collections.abc import Mapping

from perflint.configuration.settings import Settings
from perflint.findings import Confidence, Finding
from perflint.run import engine
from tests.support import sources

RULE = "PPF601"
EVALUATE = """\
import paddle


def evaluate(model, loader):
    model.eval()
    for x, y in loader:
        metric.update(model(x).numpy(), y.numpy())
"""
METHOD = """\
import paddle


class Evaluator:
    def evaluate(self, loader):
        self.model.eval()
        for x, y in loader:
            self.metric.update(self.model(x).numpy(), y.numpy())
"""


def found(files: Mapping[str, str] | str) -> list[Finding]:
    """The findings of the rule, the unsure ones included."""
    settings = Settings(join_lines=False, select=(RULE,), min_confidence=Confidence.LOW)
    return engine.check(sources(files), settings)


def confidences(files: Mapping[str, str] | str) -> list[Confidence]:
    return [finding.confidence for finding in found(files)]


def only(files: Mapping[str, str] | str) -> Finding:
    """The one finding."""
    (finding,) = found(files)
    return finding


def expect_quiet(files: Mapping[str, str] | str) -> None:
    """The rule says nothing, not even with a low confidence."""
    assert [finding.message for finding in found(files)] == []
