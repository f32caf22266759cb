"""PPF201 in a static graph: ``exe.run`` fetches at each step what is only used every n steps, or only logged."""

from __future__ import annotations

import ast

import libcst as cst

from perflint.facts.static_fetches import few_uses
from perflint.findings import Confidence, Fix, Level
from perflint.lint.context import Context, method_of, shorten
from perflint.lint.registry import step_check, step_triggers
from perflint.training.steps import Step

CODE = "PPF201"
_MESSAGE = (
    "`{what}` copies what it fetches to the host and waits for the device at {where}, although only the steps with"
    " `{test}` use {names}{there}; pass `fetch_list=[]` on the others."
)
_LOGGED = (
    "`{what}` copies what it fetches to the host and waits for the device at {where}, only to log {names}{there}; log"
    " every n steps, and pass `fetch_list=[]` on the others."
)
_TITLE = "fetch on the steps that use the values, and pass `fetch_list=[]` on the others"
_REASON = "the test has to be made before the run, and the code that unpacks the values belongs under it"

step_triggers[CODE] |= {"run"}


@step_check("Call")
def fetched_at_each_step(call: cst.Call, context: Context, step: Step) -> None:
    """Report ``exe.run(program, fetch_list=[loss])`` if ``loss`` is only logged, or used every n steps."""
    asked = context.expression(call) if method_of(call) == "run" else None
    found = few_uses(context.here, asked) if isinstance(asked, ast.Call) else None
    if found is None:
        return
    *first, last = (f"`{name}`" for name in found.names)
    names = f"{', '.join(first)} and {last}" if first else last
    context.report(
        CODE,
        call,
        Fix(_TITLE, (), Level.DISPLAY, _REASON),
        step,
        confidence=Confidence.MEDIUM,
        message=_LOGGED if found.test is None else _MESSAGE,
        test=shorten(ast.unparse(found.test)) if found.test is not None else "",
        names=names,
        there=f" at {found.path}:{found.row}" if found.path != context.file.path else "",
    )
