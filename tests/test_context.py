"""What a check can ask at a node: its step, its kind, its callee, and whether its place is taken."""

from __future__ import annotations

import libcst as cst
import pytest

from perflint import catalogue
from perflint.configuration.settings import Settings
from perflint.lint import registry, units
from perflint.lint.context import Context, local_name, shorten
from perflint.lint.registry import Check
from perflint.lint.walk import Walk
from perflint.training.steps import points_of
from tests.support import PATH, expect_marked, expect_marked_in_step, in_step, project


def ask(text: str, question: Check, node_type: type[cst.CSTNode] = cst.Call) -> None:
    """Ask a question at every node of a type, in every unit of a text."""
    file = project(text).files[PATH]
    registry.type_all(file)
    points = {file.source.lines.offset(node.lineno, node.col_offset): point for node, point in points_of(file).items()}
    for unit in units.units_of(file.tree):
        parsed = units.parse(file.source, unit)
        context = Context(file, parsed, Settings(join_lines=False), catalogue.shipped(), frozenset(), points)
        Walk(context, {node_type.__name__: [question]}).run()
        assert context.parents == []
        assert context.statement is None


def hot_calls(text: str) -> list[str]:
    found: list[str] = []

    def question(call: cst.Call, context: Context) -> None:
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


@pytest.mark.parametrize(
    "source", ["x for x in y", "(yield)", "a\n.b", "lambda: 1", "1 if a else\\\n 2", "'''a\nb'''", "f'{x!r:>3}'"]
)
def test_an_expression_can_be_handed_to_the_index(source: str) -> None:
    parsed: list[bool] = []
    text = f"def g():\n    return f({source})\n"
    ask(text, lambda call, context: parsed.append(context.expression(call.args[0].value) is not None))
    assert parsed == [True]


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


@pytest.mark.parametrize(
    ("text", "name"), [("a", "a"), ("a.b.c", "a.b.c"), ("a().b", ""), ("a[0].b", ""), ("'a'.b", "")]
)
def test_local_names(text: str, name: str) -> None:
    assert local_name(cst.parse_expression(text)) == name


def test_shortened_text_is_as_long_as_it_may_be() -> None:
    assert shorten("a  b\n c") == "a b c"
    assert shorten("x" * 40) == "x" * 40
    assert shorten("a" * 30 + "b" * 30) == "a" * 28 + "..." + "b" * 9
    assert len(shorten("y" * 41)) == 40
