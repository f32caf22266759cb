"""PPF108: a dataset that reads the same file again for each sample."""

from __future__ import annotations

import libcst as cst

from perflint import catalogue
from perflint.facts.repeated_reads import repeated_reads
from perflint.findings import Confidence, Fix, Level
from perflint.index.project import FileIndex
from perflint.lint.context import Context
from perflint.lint.registry import check, row_gate

CODE = "PPF108"
_LAZILY = "open it lazily and keep it in the object, since worker processes must not share a handle"
_HANDLES = ("h5py.File", "lmdb.open")


@row_gate(CODE)
def _rows(file: FileIndex) -> list[int]:
    return [file.row(call) for call in repeated_reads(file)]


@check("Call")
def reads_again(call: cst.Call, context: Context) -> None:
    """Report a read in ``__getitem__`` that does not depend on the index."""
    if CODE not in context.codes:
        return
    spans = context.once(CODE, lambda: set(map(context.file.source.lines.span, repeated_reads(context.file))))
    if context.range(call) in spans:
        rule = catalogue.shipped()[CODE]
        reason = _LAZILY if context.name(call.func) in _HANDLES else rule.fix_reason
        fix = Fix(rule.fix_title, (), Level.DISPLAY, reason)
        context.report(CODE, call, fix, confidence=Confidence.HIGH, claims=False)
