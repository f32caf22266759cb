"""Programs that grow in one direction, each with a real step loop: what a check of them costs must grow as they do.

``SHAPES["a chain of names"](2000)`` gives the files of a program with 2,000 of what its name says, by path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from textwrap import indent

Files = Mapping[str, str]
Shape = Callable[[int], Files]

SHAPES: dict[str, Shape] = {}

_HEAD = """\
import paddle
import paddle.nn.functional as F
"""
_LOOP = """\
    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
"""
_DEF = "def train(model, loader, optimizer, args):\n"


def _shape(name: str) -> Callable[[Shape], Shape]:
    def add(function: Shape) -> Shape:
        SHAPES[name] = function
        return function

    return add


def _program(inside: str = "", before: str = "", top: str = "", last: str = "") -> Files:
    """A training script with rows in its step, before its loop, above its function, and at its end."""
    text = _HEAD + top + _DEF + indent(before, "    ") + _LOOP + indent(inside, "        ") + last
    return {"train.py": text}


def _rows(n: int, row: str) -> str:
    """``row`` for each of the numbers below ``n``: ``{i}`` is the number, ``{j}`` the next."""
    return "".join(row.format(i=i, j=i + 1) + "\n" for i in range(n))


# -- one long run of alike statements -----------------------------------------------------------------------------


@_shape("a chain of names in a step")
def _(n: int) -> Files:
    return _program("v0 = loss\n" + _rows(n, "v{j} = v{i}"))


@_shape("a chain of names before the loop")
def _(n: int) -> Files:
    return _program(before="v0 = len(loader)\n" + _rows(n, "v{j} = v{i}"))


@_shape("a chain of names in the module")
def _(n: int) -> Files:
    return _program(top="v0 = paddle.ones([2])\n" + _rows(n, "v{j} = v{i}"), inside="print(v0)\n")


@_shape("a chain of sums")
def _(n: int) -> Files:
    return _program("v0 = loss\n" + _rows(n, "v{j} = v{i} + loss"))


@_shape("new names in a step")
def _(n: int) -> Files:
    return _program(_rows(n, "v{i} = loss * {i}"))


@_shape("new constants in the module")
def _(n: int) -> Files:
    return _program(top=_rows(n, "V{i} = {i}"))


@_shape("one name assigned to again and again")
def _(n: int) -> Files:
    return _program("v = loss\n" + _rows(n, "v = v * {i}"))


@_shape("one name assigned to in branches")
def _(n: int) -> Files:
    return _program("v = loss\n" + _rows(n, "if args.a{i}:\n    v = loss * {i}"))


@_shape("new names in branches")
def _(n: int) -> Files:
    return _program(_rows(n, "if args.a{i}:\n    v{i} = loss * {i}\nelse:\n    v{i} = 0"))


@_shape("items of a dict")
def _(n: int) -> Files:
    return _program("logs = {}\n" + _rows(n, "logs['k{i}'] = loss"))


@_shape("items of a dict that are numbers")
def _(n: int) -> Files:
    return _program("logs = {}\n" + _rows(n, "logs['k{i}'] = {i}"))


@_shape("attributes of self")
def _(n: int) -> Files:
    body = indent(_rows(n, "self.a{i} = paddle.nn.Linear(8, 8)"), "        ")
    uses = indent(_rows(n, "x = self.a{i}(x)"), "        ")
    net = f"class Net(paddle.nn.Layer):\n    def __init__(self):\n        super().__init__()\n{body}\n"
    return _program(top=f"{net}    def forward(self, x):\n{uses}        return x\n\n", before="model = Net()\n")


@_shape("attributes of self set in a step")
def _(n: int) -> Files:
    loop = indent(_LOOP, "    ").replace("model", "self.model").replace("loader", "self.loader")
    rows = indent(_rows(n, "self.a{i} = loss"), " " * 12)
    return {
        "train.py": _HEAD
        + "class Trainer:\n    def __init__(self, model, loader):\n        self.model = model\n"
        + "        self.loader = loader\n    def run(self, optimizer):\n"
        + loop
        + rows
    }


@_shape("nested tuples")
def _(n: int) -> Files:
    return _program("v0 = loss\n" + _rows(n, "v{j} = (v{i}, v{i})"))


@_shape("nested tuples of numbers")
def _(n: int) -> Files:
    return _program("v0 = 1\n" + _rows(n, "v{j} = (v{i}, v{i}, len(v{i}))") + "print(v1)\n")


@_shape("nested tuples handed to helpers")
def _(n: int) -> Files:
    helper = "def pair(a):\n    return (a, a)\n\n"
    return _program(f"v0 = loss\n{_rows(n, 'v{j} = pair(v{i})')}", top=helper)


@_shape("nested tuples made in a loop")
def _(n: int) -> Files:
    rows = "for k in range(3):\n" + indent("v0 = (v0, loss)\n" + _rows(n, "v{j} = (v{i}, v0)"), "    ")
    return _program("v0 = 1\n" + rows)


@_shape("wide tuples of tuples")
def _(n: int) -> Files:
    return _program("v0 = loss\n" + _rows(n, "v{j} = [" + "v{i}, " * 30 + "]"))


@_shape("dicts of layers in dicts")
def _(n: int) -> Files:
    return _program("v0 = paddle.nn.Linear(8, 8)\n" + _rows(n, "v{j} = {{'a': v{i}, 'b': v{i}}}"))


@_shape("a long list")
def _(n: int) -> Files:
    return _program(top="TABLE = [" + ", ".join(map(str, range(n))) + "]\n")


@_shape("a long list of rows")
def _(n: int) -> Files:
    return _program(top="TABLE = [\n" + _rows(n, "    ({i}, 'a{i}'),") + "]\n")


@_shape("a long list in a step")
def _(n: int) -> Files:
    return _program("table = [" + ", ".join("loss" for _ in range(n)) + "]\n")


@_shape("a long list of reads in a step")
def _(n: int) -> Files:
    return _program("table = [" + ", ".join("float(loss)" for _ in range(n)) + "]\n")


@_shape("a long dict in a step")
def _(n: int) -> Files:
    return _program("table = {" + ", ".join(f"'k{i}': loss" for i in range(n)) + "}\n")


@_shape("a long string")
def _(n: int) -> Files:
    return _program(top=f"TEXT = '{'a, b ' * n}'\n")


@_shape("a long string in a step")
def _(n: int) -> Files:
    return _program(f"print('{'a, b ' * n}', loss)\n")


@_shape("a string of many rows")
def _(n: int) -> Files:
    return _program(top='TEXT = """\n' + _rows(n, "row {i} # noqa: PPF201") + '"""\n', inside="print(float(loss))\n")


@_shape("many comments")
def _(n: int) -> Files:
    return _program(_rows(n, "# a comment {i}") + "print(loss)\n")


@_shape("many blank rows")
def _(n: int) -> Files:
    return _program("\n" * n + "print(loss)\n")


@_shape("a row of simple statements")
def _(n: int) -> Files:
    return _program("; ".join(f"v{i} = {i}" for i in range(n)) + "\n")


@_shape("a row of statements in the module")
def _(n: int) -> Files:
    return _program(top="; ".join(f"v{i} = {i}" for i in range(n)) + "\n")


# -- findings -----------------------------------------------------------------------------------------------------


@_shape("reads in a step")
def _(n: int) -> Files:
    return _program(_rows(n, "v{i} = float(loss)"))


@_shape("prints in a step")
def _(n: int) -> Files:
    return _program(_rows(n, "print('{i}', loss)"))


@_shape("reads on one row")
def _(n: int) -> Files:
    return _program("; ".join(f"v{i} = float(loss)" for i in range(n)) + "\n")


@_shape("reads in one expression")
def _(n: int) -> Files:
    return _program(f"v = f({', '.join('loss.item()' for _ in range(n))})\n")


@_shape("reads between other statements")
def _(n: int) -> Files:
    return _program(_rows(n, "v{i} = float(loss)\nargs.seen{i} = {i}"))


@_shape("sums in a step")
def _(n: int) -> Files:
    return _program(_rows(n, "total{i} += float(loss)"), before=_rows(n, "total{i} = 0"), last="    return total0\n")


@_shape("lists that keep the loss")
def _(n: int) -> Files:
    return _program(_rows(n, "kept{i}.append(loss)"), before=_rows(n, "kept{i} = []"), last="    return kept0\n")


@_shape("reads that are silenced")
def _(n: int) -> Files:
    return _program(_rows(n, "v{i} = float(loss)  # noqa: PPF201"))


@_shape("comments that silence nothing")
def _(n: int) -> Files:
    return _program(_rows(n, "v{i} = 1  # noqa: PPF201") + "print(loss.item())\n")


@_shape("codes in one comment")
def _(n: int) -> Files:
    return _program(f"v = float(loss)  # noqa: {', '.join(f'PPF{1000 + i}' for i in range(n))}\n")


@_shape("reads in a helper")
def _(n: int) -> Files:
    helper = "def log(loss):\n" + indent(_rows(n, "v{i} = loss.item()"), "    ") + "\n"
    return _program("log(loss)\n", top=helper)


@_shape("reads in as many helpers")
def _(n: int) -> Files:
    helpers = _rows(n, "def log{i}(loss):\n    v = loss.item()\n    return v\n")
    return _program(_rows(n, "log{i}(loss)"), top=helpers)


@_shape("reads in helpers of other files")
def _(n: int) -> Files:
    files = dict(_program(_rows(n, "log{i}(loss)"), top=_rows(n, "from helper{i} import log{i}")))
    files.update({f"helper{i}.py": f"import paddle\ndef log{i}(loss):\n    return loss.item()\n" for i in range(n)})
    return files


@_shape("step loops")
def _(n: int) -> Files:
    body = indent("print(loss.item())\n", "        ")
    return {"train.py": _HEAD + "".join(_DEF.replace("train", f"train{i}") + _LOOP + body + "\n\n" for i in range(n))}


@_shape("step loops in one function")
def _(n: int) -> Files:
    return {"train.py": _HEAD + _DEF + (_LOOP + indent("print(loss.item())\n", "        ")) * n}


@_shape("step loops in the module")
def _(n: int) -> Files:
    loop = "".join(line[4:] for line in _LOOP.splitlines(keepends=True)) + "    print(loss.item())\n"
    return {"train.py": _HEAD + "from data import model, loader, optimizer\n" + loop * n, "data.py": "import paddle\n"}


# -- nesting ------------------------------------------------------------------------------------------------------


@_shape("an elif chain in a step")
def _(n: int) -> Files:
    rows = "if args.a == -1:\n    v = loss\n" + _rows(n, "elif args.a == {i}:\n    v = loss * {i}")
    return _program(rows)


@_shape("an elif chain of reads")
def _(n: int) -> Files:
    rows = "if args.a == -1:\n    v = loss\n" + _rows(n, "elif args.a == {i}:\n    v = loss.item()")
    return _program(rows)


@_shape("an elif chain in the module")
def _(n: int) -> Files:
    rows = "if V == -1:\n    W = 0\n" + _rows(n, "elif V == {i}:\n    W = {i}")
    return _program(top="V = 1\n" + rows)


@_shape("an elif chain of new names")
def _(n: int) -> Files:
    rows = "if args.a == -1:\n    v = loss\n" + _rows(n, "elif args.a == {i}:\n    v{i} = loss * {i}")
    return _program(rows)


@_shape("early exits")
def _(n: int) -> Files:
    return _program(_rows(n, "if args.a == {i}:\n    continue") + "print(loss.item())\n")


@_shape("early exits with reads")
def _(n: int) -> Files:
    return _program(_rows(n, "if args.a == {i}:\n    continue\nv{i} = loss.item()"))


@_shape("early returns in a helper")
def _(n: int) -> Files:
    helper = "def log(loss, a):\n" + indent(_rows(n, "if a == {i}:\n    return loss * {i}"), "    ")
    return _program("log(loss, args.a)\n", top=helper + "    return loss.item()\n\n")


@_shape("nested loops")
def _(n: int) -> Files:
    depth = 20
    rows = "".join("    " * i + f"for i{i} in range(3):\n" for i in range(depth))
    return _program((rows + "    " * depth + "v = loss.item()\n") * (n // depth))


@_shape("nested loops that pass kinds on")
def _(n: int) -> Files:
    depth = 20
    rows = "".join(" " * i + f"for i{i} in range(3):\n" + " " * (i + 1) + f"v{i} = v{i + 1}\n" for i in range(depth))
    return _program((rows + " " * depth + f"v{depth} = loss\n") * (n // depth))


@_shape("nested withs")
def _(n: int) -> Files:
    depth = 20
    rows = "".join("    " * i + f"with open('{i}') as f{i}:\n" for i in range(depth))
    return _program((rows + "    " * depth + "v = loss.item()\n") * (n // depth))


@_shape("items of one with")
def _(n: int) -> Files:
    items = ", ".join(f"open('{i}') as f{i}" for i in range(n))
    return _program(f"with {items}:\n    print(loss.item())\n")


@_shape("tries in a step")
def _(n: int) -> Files:
    return _program(_rows(n, "try:\n    v{i} = loss.item()\nexcept ValueError:\n    v{i} = 0"))


@_shape("handlers of one try")
def _(n: int) -> Files:
    rows = _rows(n, "except args.E{i}:\n    v{i} = loss")
    return _program("try:\n    v = loss.item()\n" + rows)


@_shape("cases of one match")
def _(n: int) -> Files:
    rows = indent(_rows(n, "case {i}:\n    v{i} = loss"), "    ")
    return _program("match args.a:\n" + rows)


@_shape("a long boolean test")
def _(n: int) -> Files:
    test = " or ".join(f"args.a == {i}" for i in range(n))
    return _program(f"if {test}:\n    print(loss.item())\n")


@_shape("a long boolean test of losses")
def _(n: int) -> Files:
    test = " and ".join("loss" for i in range(n))
    return _program(f"if {test}:\n    print(1)\n")


@_shape("a long sum of losses")
def _(n: int) -> Files:
    return _program(f"v = {' + '.join('loss' for i in range(n))}\nprint(v.item())\n")


@_shape("a long comparison")
def _(n: int) -> Files:
    return _program(f"v = {' < '.join('loss' for i in range(n))}\n")


@_shape("a long chain of attributes")
def _(n: int) -> Files:
    return _program(f"v = args{'.a' * n}\nprint(loss.item())\n")


@_shape("a long chain of methods")
def _(n: int) -> Files:
    return _program(f"v = loss{'.detach()' * n}\nprint(v.item())\n")


@_shape("chains of attributes")
def _(n: int) -> Files:
    return _program(f"v = args{'.a' * 50}\n" * n + "print(loss.item())\n")


@_shape("nested calls")
def _(n: int) -> Files:
    depth = 50
    return _program(f"v = {'abs(' * depth}loss.item(){')' * depth}\n" * (n // depth))


@_shape("nested helper calls in one expression")
def _(n: int) -> Files:
    depth = 50
    return _program(
        f"v = {'same(' * depth}loss{')' * depth}\nprint(v.item())\n" * (n // depth),
        top="def same(a):\n    return a\n\n",
    )


@_shape("nested subscripts")
def _(n: int) -> Files:
    depth = 50
    return _program(f"v = loss{'[0]' * depth}\nprint(v.item())\n" * (n // depth))


@_shape("nested conditional expressions")
def _(n: int) -> Files:
    depth = 50
    text = "".join(f"loss.item() if args.a{i} else " for i in range(depth))
    return _program(f"v = {text}0\n" * (n // depth))


@_shape("nested lambdas")
def _(n: int) -> Files:
    depth = 50
    return _program(f"v = {'lambda: ' * depth}loss.item()\n" * (n // depth))


@_shape("nested comprehensions")
def _(n: int) -> Files:
    depth = 10
    text = "loss.item()"
    for i in range(depth):
        text = f"[{text} for i{i} in args.a]"
    return _program(f"v = {text}\n" * (n // depth))


@_shape("generators of one comprehension")
def _(n: int) -> Files:
    return _program(f"v = [loss.item() {' '.join(f'for i{i} in args.a' for i in range(n))}]\n")


@_shape("parts of an f-string")
def _(n: int) -> Files:
    parts = " ".join(f"{{loss:.{i}f}}" for i in range(n))
    return _program(f"print(f'{parts}')\n")


@_shape("arguments of a call")
def _(n: int) -> Files:
    return _program(f"print({', '.join(f'a{i}=loss' for i in range(n))})\n")


@_shape("nested functions")
def _(n: int) -> Files:
    depth = 10
    text = "".join("    " * i + f"def inner{i}(loss):\n" for i in range(depth))
    calls = "".join("    " * (i + 1) + f"inner{i + 1}(loss)\n" for i in reversed(range(depth - 1)))
    one = text + "    " * depth + "print(loss.item())\n" + calls + "inner0(loss)\n"
    return _program(one * (n // depth))


# -- functions and calls ------------------------------------------------------------------------------------------


@_shape("functions")
def _(n: int) -> Files:
    return _program("f0(loss)\n", top=_rows(n, "def f{i}(a):\n    return a + {i}\n"))


@_shape("functions of one name")
def _(n: int) -> Files:
    return _program("f(loss)\n", top=_rows(n, "def f(a):\n    return a + {i}\n"))


@_shape("a chain of helpers")
def _(n: int) -> Files:
    helpers = _rows(n, "def f{i}(a):\n    return f{j}(a)\n")
    return _program("v = f0(loss)\n", top=helpers + f"def f{n}(a):\n    return a.item()\n\n")


@_shape("a chain of helpers that call twice")
def _(n: int) -> Files:
    helpers = _rows(n, "def f{i}(a):\n    return f{j}(a) + f{j}(a * 2)\n")
    return _program("v = f0(loss)\n", top=helpers + f"def f{n}(a):\n    return a.item()\n\n")


@_shape("a step through helpers")
def _(n: int) -> Files:
    helpers = _rows(n, "def f{i}(a):\n    return a + {i}\n")
    return _program("v = loss\n" + _rows(n, "v = f{i}(v)") + "print(v.item())\n", top=helpers)


@_shape("callers of one helper")
def _(n: int) -> Files:
    return _program(_rows(n, "log(loss, {i})"), top="def log(a, b):\n    print(a.item(), b)\n\n")


@_shape("callers of one helper with other kinds")
def _(n: int) -> Files:
    rows = _rows(n, "log((loss, {i}, (loss,) if args.a else 1), a{i}=loss)")
    return _program(rows, top="def log(a, **b):\n    print(a[0].item(), b)\n\n")


@_shape("functions that call one helper")
def _(n: int) -> Files:
    callers = _rows(n, "def f{i}(a):\n    log(a, {i})\n")
    return _program(_rows(n, "f{i}(loss)"), top=f"def log(a, b):\n    print(a.item(), b)\n\n{callers}")


@_shape("callers of one helper that has a flag")
def _(n: int) -> Files:
    helper = "def log(a, verbose=False):\n    if verbose:\n        print(a.item())\n\n"
    callers = _rows(n, "def f{i}(a):\n    log(a)\n")
    return _program("f0(loss)\n", top=f"{helper}{callers}")


@_shape("handing a flag on")
def _(n: int) -> Files:
    helpers = _rows(n, "def f{i}(a, verbose=False):\n    return f{j}(a, verbose)\n")
    last = f"def f{n}(a, verbose=False):\n    if verbose:\n        print(a.item())\n\n"
    return _program("f0(loss, False)\n", top=helpers + last)


@_shape("helpers that call each other")
def _(n: int) -> Files:
    count = max(int(n**0.5), 2)
    names = [f"f{i}" for i in range(count)]
    helpers = "".join(f"def {name}(a):\n" + "".join(f"    {other}(a)\n" for other in names) + "\n" for name in names)
    return _program("f0(loss)\n", top=helpers)


@_shape("methods of one class")
def _(n: int) -> Files:
    methods = indent(_rows(n, "def m{i}(self, a):\n    return a.item()\n"), "    ")
    return _program(f"meter = Meter()\n{_rows(n, 'meter.m{i}(loss)')}", top=f"class Meter:\n{methods}\n")


@_shape("classes with a method of one name")
def _(n: int) -> Files:
    classes = _rows(n, "class M{i}:\n    def add(self, a):\n        self.v = a.item()\n")
    return _program(_rows(n, "m{i}.add(loss)"), before=_rows(n, "m{i} = M{i}()"), top=classes)


@_shape("classes one of which is meant")
def _(n: int) -> Files:
    classes = _rows(n, "class M{i}:\n    def add(self, a):\n        self.v = a.item()\n")
    return _program(_rows(n, "args.meter.add(loss)"), top=classes)


@_shape("a chain of base classes")
def _(n: int) -> Files:
    classes = "class M0:\n    def add(self, a):\n        self.v = a.item()\n\n" + _rows(
        n, "class M{j}(M{i}):\n    def other{i}(self):\n        return {i}\n"
    )
    return _program("meter.add(loss)\n", before=f"meter = M{n}()\n", top=classes)


@_shape("a chain of base classes of layers")
def _(n: int) -> Files:
    classes = "class M0(paddle.nn.Layer):\n    def forward(self, x):\n        return x.item()\n\n" + _rows(
        n, "class M{j}(M{i}):\n    def other{i}(self):\n        return {i}\n"
    )
    return _program("v = net(x)\n", before=f"net = M{n}()\n", top=classes)


@_shape("subclasses of one class")
def _(n: int) -> Files:
    classes = "class M(paddle.nn.Layer):\n    def run(self, x):\n        return self.hook(x)\n\n" + _rows(
        n, "class M{i}(M):\n    def hook(self, x):\n        return x.item()\n"
    )
    return _program("v = net.run(x)\n", before="net = M0()\n", top=classes)


@_shape("layers")
def _(n: int) -> Files:
    classes = _rows(
        n,
        "class Net{i}(paddle.nn.Layer):\n    def __init__(self):\n        super().__init__()\n"
        "        self.fc = paddle.nn.Linear(7, 9)\n    def forward(self, x):\n        if x.mean() > 0:\n"
        "            print(x.item())\n        return self.fc(x)\n",
    )
    return _program(before="model = Net0()\n", top=classes)


@_shape("layers in a list")
def _(n: int) -> Files:
    return _program(top=f"NET = paddle.nn.Sequential({', '.join('paddle.nn.Linear(7, 9)' for _ in range(n))})\n")


@_shape("layers in a registry")
def _(n: int) -> Files:
    classes = _rows(
        n, "@MODELS.register()\nclass Net{i}(paddle.nn.Layer):\n    def forward(self, x):\n        return x"
    )
    return _program(before=_rows(n, "m{i} = build('Net{i}')"), inside=_rows(n, "v = m{i}(x)"), top=classes)


@_shape("a dict of functions")
def _(n: int) -> Files:
    functions = _rows(n, "def f{i}(a):\n    return a.item()\n")
    table = f"TABLE = {{{', '.join(f'{chr(39)}f{i}{chr(39)}: f{i}' for i in range(n))}}}\n"
    return _program(_rows(n, "v = TABLE['f{i}'](loss)"), top=functions + table)


@_shape("a dict of functions asked by name")
def _(n: int) -> Files:
    functions = _rows(n, "def f{i}(a):\n    return a.item()\n")
    table = f"TABLE = {{{', '.join(f'{chr(39)}f{i}{chr(39)}: f{i}' for i in range(n))}}}\n"
    return _program("v = TABLE[args.name](loss)\n", top=functions + table)


@_shape("functions handed as values")
def _(n: int) -> Files:
    functions = _rows(n, "def f{i}(a):\n    return a.item()\n")
    rows = _rows(n, "g = f{i} if args.a else f{j}\ng(loss)")
    return _program(rows, top=functions + f"def f{n}(a):\n    return a\n\n")


@_shape("functions kept in attributes")
def _(n: int) -> Files:
    functions = _rows(n, "def f{i}(a):\n    return a.item()\n")
    made = indent(_rows(n, "self.g{i} = f{i}"), " " * 8)
    calls = indent(_rows(n, "self.g{i}(loss)"), " " * 12)
    loop = indent(_LOOP, "    ").replace("model", "self.model").replace("loader", "self.loader")
    init = (
        "class Trainer:\n    def __init__(self, model, loader):\n"
        "        self.model = model\n        self.loader = loader\n"
    )
    return {"train.py": _HEAD + functions + init + made + "    def run(self, optimizer):\n" + loop + calls}


@_shape("functions inside the training function")
def _(n: int) -> Files:
    return _program(_rows(n, "f{i}(loss)"), before=_rows(n, "def f{i}(a):\n    return a.item()\n"))


@_shape("helper calls in one expression")
def _(n: int) -> Files:
    return _program(f"v = [{', '.join('log(loss)' for _ in range(n))}]\n", top="def log(a):\n    return a.item()\n\n")


@_shape("helper calls behind a test in one expression")
def _(n: int) -> Files:
    parts = ", ".join(f"args.a{i} and log(loss)" for i in range(n))
    return _program(f"v = [{parts}]\n", top="def log(a):\n    return a.item()\n\n")


@_shape("calls of methods of one object")
def _(n: int) -> Files:
    return _program(_rows(n, "meter.m{i}(loss)\nargs.v{i}.add(loss.item())"))


@_shape("names that are deleted")
def _(n: int) -> Files:
    return _program(_rows(n, "v{i} = loss\ndel v{i}"))


@_shape("values changed in place")
def _(n: int) -> Files:
    return _program(_rows(n, "v{i} = x[{i}]\nv{i}[0] = 1\nkept.append(v{i}.numpy())"), before="kept = []\n")


@_shape("one list appended to")
def _(n: int) -> Files:
    return _program(_rows(n, "kept.append(loss.item())"), before="kept = []\n", last="    return kept\n")


@_shape("one sum added to")
def _(n: int) -> Files:
    return _program(_rows(n, "total += loss.item() * {i}"), before="total = 0.0\n", last="    return total\n")


@_shape("switches of a trainer")
def _(n: int) -> Files:
    attributes = indent(_rows(n, "self.flag{i} = False"), " " * 8)
    tests = indent(_rows(n, "if self.flag{i}:\n    print(loss.item())"), " " * 12)
    loop = indent(_LOOP, "    ").replace("model", "self.model").replace("loader", "self.loader")
    return {
        "train.py": _HEAD
        + "class Trainer:\n    def __init__(self, model, loader):\n        self.model = model\n"
        + "        self.loader = loader\n"
        + attributes
        + "    def run(self, optimizer):\n"
        + loop
        + tests
    }


@_shape("options of a program")
def _(n: int) -> Files:
    options = _rows(n, "parser.add_argument('--o{i}', type=int, default={i})")
    return _program(
        _rows(n, "if args.o{i}:\n    print(loss.item())"),
        before="args = parser.parse_args()\n",
        top=f"import argparse\nparser = argparse.ArgumentParser()\n{options}",
    )


@_shape("loaders")
def _(n: int) -> Files:
    made = _rows(n, "l{i} = paddle.io.DataLoader(data, batch_size={i}, shuffle=True)")
    return _program(before=f"{made}loader = l0\n")


@_shape("loaders made in a loop")
def _(n: int) -> Files:
    made = _rows(
        n,
        "for epoch in range(9):\n    l{i} = paddle.io.DataLoader(data, num_workers=2)\n"
        "    for x in l{i}:\n        f(x)",
    )
    return _program(before=made)


@_shape("loops that evaluate")
def _(n: int) -> Files:
    functions = _rows(
        n,
        "def test{i}(model, loader):\n    model.eval()\n    total = 0\n    for x, y in loader:\n"
        "        out = model(x)\n        total += float(F.cross_entropy(out, y))\n    return total\n",
    )
    return _program(_rows(n, "test{i}(model, loader)"), top=functions)


@_shape("saves")
def _(n: int) -> Files:
    return _program(_rows(n, "paddle.save(model.state_dict(), 'a{i}')"), last="")


@_shape("saves of a distributed program")
def _(n: int) -> Files:
    before = "paddle.distributed.init_parallel_env()\n"
    return _program(_rows(n, "if step % 100 == 0:\n    paddle.save(model.state_dict(), 'a{i}')"), before=before)


@_shape("metrics")
def _(n: int) -> Files:
    before = _rows(n, "m{i} = paddle.metric.Accuracy()")
    return _program(_rows(n, "m{i}.update(m{i}.compute(x, y))\nprint(m{i}.accumulate())"), before=before)


@_shape("tensors made from data")
def _(n: int) -> Files:
    return _program(_rows(n, "t{i} = paddle.to_tensor([1.0, 2.0])\nu{i} = paddle.to_tensor(t{i}.numpy())"))


@_shape("slices read in a step")
def _(n: int) -> Files:
    return _program(_rows(n, "for k in range(8):\n    v{i} = x[k].numpy()\n    w{i} = x[k, :2].mean().item()"))


@_shape("tests of tensors")
def _(n: int) -> Files:
    return _program(_rows(n, "if (x > {i}).any():\n    v{i} = x[x > {i}]\nassert paddle.isnan(loss).sum() == 0"))


@_shape("timed parts")
def _(n: int) -> Files:
    return _program(_rows(n, "t{i} = time.time()\nv{i} = loss.item()\nprint(time.time() - t{i})"), top="import time\n")


@_shape("parameters without use")
def _(n: int) -> Files:
    made = indent(_rows(n, "self.p{i} = self.create_parameter([8])"), " " * 8)
    net = f"class Net(paddle.nn.Layer):\n    def __init__(self):\n        super().__init__()\n{made}\n"
    return _program(
        top=f"{net}    def forward(self, x):\n        return x\n\n",
        before="model = paddle.DataParallel(Net(), find_unused_parameters=True)\n",
    )


@_shape("AMP regions")
def _(n: int) -> Files:
    return _program(_rows(n, "with paddle.amp.auto_cast():\n    v{i} = model(x)"))


@_shape("generators that feed each other")
def _(n: int) -> Files:
    first = "def g0(loader):\n    for x in loader:\n        yield x\n\n"
    chain = _rows(n, "def g{j}(loader):\n    for x in g{i}(loader):\n        print(x.item())\n        yield x\n")
    return _program(before=f"loader = g{n}(loader)\n", top=first + chain)


# -- files --------------------------------------------------------------------------------------------------------


@_shape("a chain of imports")
def _(n: int) -> Files:
    files = dict(_program("print(f(loss))\n", top="from m0 import f\n"))
    files.update({f"m{i}.py": f"import paddle\nfrom m{i + 1} import f\n" for i in range(n)})
    return {**files, f"m{n}.py": "import paddle\ndef f(a):\n    return a.item()\n"}


@_shape("a chain of star imports")
def _(n: int) -> Files:
    files = dict(_program("print(f(loss))\n", top="from m0 import *\n"))
    files.update({f"m{i}.py": f"import paddle\nfrom m{i + 1} import *\n" for i in range(n)})
    return {**files, f"m{n}.py": "import paddle\ndef f(a):\n    return a.item()\n"}


@_shape("star imports")
def _(n: int) -> Files:
    stars = _rows(n, "from m{i} import *")
    files = dict(_program(_rows(n, "f{i}(loss)"), top=stars))
    return {**files, **{f"m{i}.py": f"import paddle\ndef f{i}(a):\n    return a.item()\n" for i in range(n)}}


@_shape("imports of one row")
def _(n: int) -> Files:
    return _program("print(loss)\n", top=f"from m import {', '.join(f'a{i}' for i in range(n))}\n")


@_shape("training scripts beside each other")
def _(n: int) -> Files:
    return {f"train{i}.py": _program("print(loss.item())\n")["train.py"] for i in range(n)}


@_shape("training scripts of one helper")
def _(n: int) -> Files:
    files = {f"train{i}.py": _program("log(loss)\n", top="from helper import log\n")["train.py"] for i in range(n)}
    return {**files, "helper.py": "import paddle\ndef log(a):\n    print(a.item())\n"}


@_shape("files with a class of one name")
def _(n: int) -> Files:
    one = "import paddle\nclass Meter:\n    def add(self, a):\n        self.v = a.item()\n"
    files = {f"m{i}.py": one for i in range(n)}
    return {
        **files,
        **_program("args.meter.add(loss)\nm.add(loss)\n", before="m = Meter()\n", top="from m0 import Meter\n"),
    }


@_shape("files with a chain of base classes")
def _(n: int) -> Files:
    files = {
        f"m{i}.py": f"from m{i + 1} import M{i + 1}\nclass M{i}(M{i + 1}):\n    def hook{i}(self):\n        return 1\n"
        for i in range(n)
    }
    files[f"m{n}.py"] = f"import paddle\nclass M{n}(paddle.nn.Layer):\n    def run(self, a):\n        return a.item()\n"
    return {**files, **_program("m.run(loss)\n", before="m = M0()\n", top="from m0 import M0\n")}


@_shape("files that import each other")
def _(n: int) -> Files:
    count = max(int(n**0.5), 2)
    imports = "".join(f"import p.m{i}\nfrom p.m{i} import f{i}\n" for i in range(count))
    files = {
        f"p/m{i}.py": f"import paddle\n{imports}def f{i}(a):\n    return p.m{(i + 1) % count}.f{(i + 1) % count}(a)\n"
        for i in range(count)
    }
    return {**files, "p/__init__.py": "", **_program("f0(loss)\n", top="from p.m0 import f0\n")}


# -- chains of constants ----------------------------------------------------------------------------------------------

_OPERATORS = "+,-,*,/,//,%,**,@,&,|,^,<<,>>,==,!=,<,<=,>,>=,is,is not,in,not in,and,or"
_CALLS = "int,float,bool,str,len,abs,round,max,min,sum,divmod,pow,sorted,tuple,list,set,dict,g"
_CONSTANTS = {operator: f"v{{j}} = v{{i}} {operator} v{{i}}" for operator in _OPERATORS.split(",")}
_CONSTANTS |= {f"{call}()": f"v{{j}} = {call}(v{{i}}, v{{i}}) + {call}(v{{i}})" for call in _CALLS.split(",")}
_CONSTANTS |= {
    "signs": "v{j} = -v{i} + ~v{i} + (not v{i})",
    "a chain of comparisons": "v{j} = v{i} < v{i} < v{i}",
    "a conditional": "v{j} = v{i} + 1 if args.c{i} else v{i} + 2",
    "a conditional on itself": "v{j} = v{i} if v{i} else v{i}",
    "an f-string": "v{j} = f'{{v{i}}}{{v{i}}}'",
    "format": "v{j} = '{{}}{{}}'.format(v{i}, v{i})",
    "%": "v{j} = '%s%s' % (v{i}, v{i})",
    "methods of text": "v{j} = str(v{i}).replace(str(v{i}), str(v{i}))",
    "tuples": "v{j} = (v{i}, v{i})",
    "an item of a tuple": "v{j} = (v{i}, v{i})[0]",
    "an item of a list": "v{j} = [v{i}, v{i}][v{i}]",
    "the greatest of a list": "v{j} = max([v{i}, v{i}])",
    "a slice": "v{j} = [v{i}, v{i}][v{i}:v{i}]",
    "sets": "v{j} = {{v{i}, v{i}}}",
    "dicts": "v{j} = {{'a': v{i}, 'b': v{i}}}",
    "an entry of a dict": "v{j} = {{'a': v{i}, 'b': v{i}}}['a']",
    "an entry with a default": "v{j} = {{'a': v{i}}}.get('a', v{i}) + {{'a': v{i}}}.get('b', v{i})",
    "keywords of dict": "v{j} = dict(**{{'a': v{i}}}, b=v{i})['a']",
    "a comprehension": "v{j} = [v{i} for _ in (v{i}, v{i})][0]",
    "unpacking": "v{j}, w{j} = v{i} + v{i}, v{i}",
    "+=": "v{j} = v{i}\nv{j} += v{i}",
    ":=": "v{j} = (w{j} := v{i}) + w{j}",
    "two branches": "if args.c{i}:\n    v{j} = v{i} + 1\nelse:\n    v{j} = v{i} + 2",
    "a flag": "v{j} = v{i}\nif v{i}:\n    v{j} = v{i} + v{i}",
    "a while": "v{j} = v{i}\nwhile v{j} < v{i}:\n    v{j} = v{j} + v{i}",
    "attributes of a class": "class C{j}:\n    a = v{i}\n    b = v{i}\nv{j} = C{j}.a + C{j}.b",
    "attributes of an object": "class C{j}:\n    def __init__(self):\n        self.a = v{i}\nv{j} = C{j}().a",
    "getattr": "class C{j}:\n    a = v{i}\nv{j} = getattr(C{j}, 'a', v{i}) + getattr(C{j}, 'b', v{i})",
    "what a helper returns": "def f{j}():\n    return v{i} + v{i}\nv{j} = f{j}() + f{j}()",
    "what a helper hands back": "def f{j}(a, b):\n    return a\nv{j} = f{j}(v{i}, v{i}) + f{j}(v{i}, v{i})",
    "defaults": "def f{j}(a=v{i}, b=v{i}):\n    return a + b\nv{j} = f{j}() + f{j}(v{i})",
    "a lambda": "v{j} = (lambda a: a + v{i})(v{i})",
    "attributes of anything": "v{j} = v{i}.a + v{i}.f(v{i})",
}
_ENDS = {
    "the workers of a loader": "loader = paddle.io.DataLoader(data, num_workers=v{n})\n",
    "a test": "if v{n}:\n    print(loss.item())\n",
    "a width": "layer = paddle.nn.Linear(v{n}, v{n})\n",
    "what is summed up": "args.total += loss.item() * v{n}\nargs.kept.append(v{n})\n",
}


def _chain(form: str, end: str, start: str, place: str) -> Shape:
    def shape(n: int) -> Files:
        return _program(**{place: start + _rows(n, form)}, last=indent(end.format(n=n), " " * 8))

    return shape


CHAINS: dict[str, Shape] = {
    f"{form} for {end} {place}": _chain(_CONSTANTS[form], _ENDS[end], f"v0 = {start}\n", place)
    for form in _CONSTANTS
    for end in _ENDS
    for place, start in (("inside", "2"), ("top", "2"), ("inside", "loss"))
    if start == "2" or end == "what is summed up"
}
"""Chains ``v1 = v0 + v0``, ``v2 = v1 + v1`` and so on, of each form that a constant (or a loss) goes through."""
