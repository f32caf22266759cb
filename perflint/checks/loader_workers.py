"""PPF101 if the 0 is elsewhere: in an option, a default, a constant, a dict, or a wrapper's call."""

from __future__ import annotations

import libcst as cst

from perflint import catalogue
from perflint.checks import loader_readings, loader_samples
from perflint.checks.edits import insert_argument
from perflint.checks.excuses import explained
from perflint.facts.loader_facts import WorkerDefault, worker_defaults_in
from perflint.facts.loader_uses import Worth
from perflint.findings import Confidence, Edit, Fix, Level, Related
from perflint.index.project import FileIndex
from perflint.lint.context import Context, shorten
from perflint.lint.registry import check, row_gate

CODE = "PPF101"
_MESSAGES = {
    "option": "The default `{what}` gives the loader at {place} no workers, so {consequence}; {advice}.",
    "fallback": "A configuration without this setting gets `{what}` from here, so the loader at {place} has no "
    "workers, and {consequence}; {advice}.",
    "value": "`{what}` gives the loader at {place} no workers, so {consequence}; {advice}.",
    "missing": "`{what}` makes a loader without workers, so {consequence}; {advice}.",
}
_ADVICE = {
    "option": "make {workers} the default",
    "fallback": "fall back to {workers}",
    "value": "write {workers}",
    "missing": "give it {insert}={workers} to load in the background",
}
_MOST_CALLERS = 5
"""How many calls a finding names: one edit of the default fixes them all."""
_LIKE = {"unknown": "fallback", "parameter": "option"}
# A constant or a call is certain; a default may be overridden on each start, and an unread configuration usually sets
# the number of workers.
_CONFIDENCE = {"value": Confidence.HIGH, "missing": Confidence.HIGH, "unknown": Confidence.LOW}


@row_gate(CODE)
def _rows(file: FileIndex) -> list[int]:
    return [file.source.lines.position(start)[0] for start, _ in worker_defaults_in(file)]


@check("Integer")
@check("Call")
def workers_elsewhere(node: cst.Integer | cst.Call, context: Context) -> None:
    """Report the place that leaves a training loader in this or another file without workers."""
    if CODE not in context.codes:  # nothing is claimed here, so the other rules are not affected
        return
    found = worker_defaults_in(context.file).get(context.range(node))
    if found is None or explained(node, catalogue.shipped()[CODE].match[0].unless_comment, context):
        return
    shown = node if isinstance(node, cst.Call) else _shown(context) or node
    written = f"{shown.name.value}=0" if isinstance(shown, cst.Param) else shorten(context.text(shown))
    path, kind = context.file.path, _LIKE.get(found.kind, found.kind)
    advice = _ADVICE[kind].format(workers=context.settings.default_workers, insert=found.insert)
    where = f"line {found.line}" if found.path == path else f"{found.path}:{found.line}"
    related = [] if isinstance(node, cst.Call) else [Related(found.path, found.line, f"feeds `{found.loader}` here")]
    related += [Related(*place, "keeps this default here") for place in found.callers[:_MOST_CALLERS]]
    context.report(
        CODE,
        shown,
        _fix(node, found, context),
        related=tuple(related),
        claims=False,
        confidence=_confidence(found),
        event=loader_readings.event(found.reading),
        message=_MESSAGES[kind],
        what=written,
        place=where,
        consequence=loader_readings.consequence(found.reading, context),
        advice=loader_readings.advice(found.obstacle, advice, context),
    )


def _confidence(found: WorkerDefault) -> Confidence:
    predicts = found.reading.worth is Worth.PREDICTS
    return Confidence.LOW if predicts else _CONFIDENCE.get(found.kind, Confidence.MEDIUM)


def _shown(context: Context) -> cst.CSTNode | None:
    """The node to point at: the whole ``default=0``, ``num_workers=0``, ``"num_workers": 0`` or assignment."""
    parent = context.parents[-1] if context.parents else None
    if isinstance(parent, cst.Arg) and parent.keyword is None:
        call = context.parents[-2]  # `config.get("num_workers", 0)`
        return call if isinstance(call, cst.Call) else None
    return parent if isinstance(parent, (cst.Arg, cst.Param, cst.DictElement, cst.Assign, cst.AnnAssign)) else None


def _fix(node: cst.Integer | cst.Call, found: WorkerDefault, context: Context) -> Fix:
    rule, value = catalogue.shipped()[CODE], str(context.settings.default_workers)
    if found.obstacle is not None:
        return loader_samples.words(found.obstacle, rule.fix_title, context)
    if isinstance(node, cst.Call):
        edits = insert_argument(node, f"{found.insert}={value}", context)
    else:
        edits = [Edit(*context.range(node), value)]
    return Fix(rule.fix_title, tuple(edits), Level.UNSAFE, rule.fix_reason)
