"""What a check can ask at a node: its step, its kind, its callee, and whether its place is taken."""

from __future__ import annotations

import ast
from collections.abc import Callable

from perflint import catalogue
from perflint.configuration.settings import Settings
from perflint.index.project import Place
from perflint.lint import registry
from perflint.lint.context import Context, shorten
from tests.support import PATH, expect_marked, expect_marked_in_step, in_step, project


def ask(text: str, question: Callable[[ast.Call, Context], object]) -> None:
    """Ask a question at every call of a text, those around others first."""
    file = project(text).files[PATH]
    context = Context(file, Settings(join_lines=False), catalogue.shipped(), frozenset())
    for scope in file.scopes.scopes:
        registry.ensure_points(Place(file, scope))
        for statement in scope.statements:
            for node in context.code(statement.node).order:
                if isinstance(node, ast.Call):
                    context.enter(node, statement.node)
                    question(node, context)


def hot_calls(text: str) -> list[str]:
    found: list[str] = []

    def question(call: ast.Call, context: Context) -> None:
        if context.step is not None:
            found.append(context.text(call))

    ask(text, question)
    return found


def test_every_call_of_a_step_is_seen_at_its_step() -> None:
    body = """
        a(); b(c())
        if d():
            e()
        elif f():
            g()
        with h() as i:
            j()
        for k in l(): m()
        while n():
            o()
        try:
            p()
        finally:
            q()
        r(s=[t() for u in v()])
        """
    names = "abcdefghjlmnopqrtv"
    found = [text for text in hot_calls(in_step(body)) if len(text) == 3 or text.startswith(("b(", "r("))]
    assert "".join(sorted(text[0] for text in found)) == names


def test_off_the_hot_path() -> None:
    calls = hot_calls(
        in_step("if step % 9 == 0:\n    a()\nb() if step % 9 == 0 else c()\nd(lambda: e())\nstep == 0 and f()")
        + "    g()\nh()\n"
    )
    assert {call for call in calls if len(call) == 3} == {"c()"}
    assert "d(lambda: e())" in calls


def test_the_callee_is_found_through_imports_and_through_kinds() -> None:
    found: list[str] = []
    text = """
        import paddle as pd
        from paddle.io import DataLoader as L
        model = pd.Model(net)
        L(data)
        model.fit(data)
        other.fit(data)
        make().fit(data)
        pd.Model(net).fit(data)
        [L][0](data)
        """
    ask(text, lambda call, context: found.append(context.callee(call)))
    assert found == [
        "paddle.Model",
        "paddle.io.DataLoader",
        "paddle.Model.fit",
        "other.fit",
        "",
        "make",
        "paddle.Model.fit",
        "paddle.Model",
        "",
    ]


def test_text_and_range_leave_out_space_and_parentheses() -> None:
    found: list[str] = []
    ask("x = (  f(  1 ,(2) )  ) # note\n", lambda call, context: found.append(context.text(call)))
    assert found == ["f(  1 ,(2) )"]


def test_one_place_gets_one_finding() -> None:
    expect_marked_in_step(
        """
        print(loss.item(), f"{loss}", "%f" % loss, str(loss))  #: PPF202
        print(f"{loss.numpy()}".format(loss))  #: PPF202
        meter.update(float(loss.numpy().item()))  #: PPF201
        meter.update(np.mean(np.array(loss)), float(loss))  #: PPF201 PPF201
        meter.update("{}".format(f"{loss}"))  #: PPF202
        """
    )


def test_one_place_on_several_rows_gets_one_finding() -> None:
    expect_marked_in_step(
        """
        logger.info(  #: PPF202
            "%d %f",
            step,
            loss.item(),
        )
        """
    )


def test_a_finding_does_not_take_its_neighbours_place() -> None:
    expect_marked(in_step("a = loss.item() + float(loss) * int(loss)  #: PPF201 PPF201 PPF201"))


def test_shortened_text_is_as_long_as_it_may_be() -> None:
    assert shorten("a  b\n c") == "a b c"
    assert shorten("x" * 40) == "x" * 40
    assert shorten("a" * 30 + "b" * 30) == "a" * 28 + "..." + "b" * 9
    assert len(shorten("y" * 41)) == 40
