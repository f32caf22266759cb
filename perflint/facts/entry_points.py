"""Training entry points: where programs train, the files that they load, and what their steps spend time on."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

from perflint.facts.programs import has_no_gpu, is_for_paddle_1, is_toy
from perflint.flow.calls import CallGraph, Certainty
from perflint.flow.constant_values import OPEN
from perflint.flow.constants import Constants
from perflint.flow.sources import sources
from perflint.flow.values import Values
from perflint.index.imports import Imports
from perflint.index.in_use import InUse
from perflint.index.kinds import EITHER, LAYER_TAG
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Place, Project
from perflint.query import query
from perflint.syntax.bindings import bound_by
from perflint.syntax.names import dotted, plain_names, spellings
from perflint.syntax.parameters import argument_of, is_spread
from perflint.syntax.scopes import LOOPS, Class, Loop, Scope, Statement, terminal
from perflint.syntax.tree import walk
from perflint.syntax.vocabulary import is_no_training, is_trial, makes, means_loss, means_model
from perflint.training import step_loops
from perflint.training.evidence import STEP_METHODS, steps_environment, takes_optimizer_step, turns_gradients_off

# Finds training entry points: the places where programs do their training steps, each with the parts of its step.
#
# In ``for x, y in loader: loss = net(x, y); loss.backward(); opt.step()`` the entry point is ``loss.backward()``, its
# model ``net``, and its optimizer ``opt``. If the loop calls a function that does the backward pass, the entry point
# is in that function. Loops that are copies of each other are one entry point, as are the functions called by one
# loop.

_SAME = 0.8
"""The share of common calls from which two neighbouring programs count as copies."""
_SMALL_DATA = ("MNIST", "FashionMNIST", "UCIHousing", "mnist", "uci_housing", "Iris", "load_iris", "load_digits")
"""Data sets of exercises, on which training takes a minute."""
_ACTING = ("gym", "parl", "gymnasium", "paddlescience", "deepxde", "paddle_quantum")
"""Packages of programs whose time is not spent in layers: they play games, or solve equations."""
_OPTIMIZER = re.compile(r"(?:opt\w*|adamw?|sgd|momentum|solver)$", re.IGNORECASE)
_SCORES = re.compile(r"loss|criteri|\bcri_|metric|acc(?:uracy)?$|score|cost|entropy|mse", re.IGNORECASE)
"""Names of layers that score a model's output."""
_HIGHER = ("create_graph", "double_grad", "hessian", "Hessian", "jvp", "vjp")
_PREPARING = frozenset(
    {"to_tensor", "to_variable", "cast", "astype", "reshape", "transpose", "unsqueeze", "squeeze", "next", "len"}
    | {"float", "int", "array", "asarray", "range", "list", "tuple", "dict", "zip", "items", "keys", "values"}
    | {"to", "Tensor", "cuda"}
)
_NO_MODELS = frozenset({"clear_grad", "clear_gradients", "train", "eval", "state_dict", "parameters", "to_tensor"})


@dataclass(frozen=True, eq=False)
class EntryPoint:
    """Where a program does its training steps.

    Attributes:
        file: the file of the backward pass.
        scope: the function of the backward pass.
        backward: the statement ``loss.backward()``.
        call: the call in it.
        loop: the step loop, in ``driver`` of the file ``driven_from``.
        forward: the adjacent statements before the backward pass that compute the loss, in order; empty if they are
            elsewhere.
        models: the called models, as source text: ``net``, ``self.model``.
        others: similar places that this one represents.
    """

    file: FileIndex
    scope: Scope
    backward: Statement
    call: ast.Call
    loop: Loop
    driven_from: FileIndex
    driver: Scope
    forward: tuple[ast.stmt, ...]
    models: tuple[str, ...]
    others: tuple[tuple[FileIndex, ast.AST], ...] = ()

    @property
    def loss(self) -> str:
        """The name that ``backward`` is called on; ``""`` for an expression."""
        owner = self.call.func.value if isinstance(self.call.func, ast.Attribute) else None
        return (dotted(owner) or "") if owner is not None else ""

    @cached_property
    def model_call(self) -> tuple[Statement, ast.Call] | None:
        """The first call of a model before the backward pass, with its statement; None if none is known."""
        inside = {item for node in self.forward for item in ast.walk(node)}
        for statement in self.scope.statements:
            for call in statement.calls if statement.node in inside else ():
                if (dotted(call.func) or "").removesuffix(".forward") in self.models:
                    return statement, call
        return None

    @property
    def is_alone(self) -> bool:
        """Whether the step has no other backward pass."""
        return sum(terminal(call) == "backward" for call in self.scope.calls) == 1

    @property
    def is_in_loop(self) -> bool:
        """Whether the backward pass is in the step loop itself, not in a function that the loop calls."""
        return self.scope is self.driver

    @property
    def optimizers(self) -> tuple[str, ...]:
        """The optimizers that step near the backward pass, as source text: ``opt`` of ``opt.step()``."""
        loop = self.backward.loop
        return tuple(
            dict.fromkeys(
                dotted(call.func.value) or ""
                for statement in self.scope.statements
                if statement.loop is loop
                for call in statement.calls
                if takes_optimizer_step(call) and isinstance(call.func, ast.Attribute)
                if _OPTIMIZER.search(dotted(call.func.value) or "")
            )
        )


@query
def entry_points(project: Project) -> Sequence[EntryPoint]:
    """The entry points of all programs of a project that are worth advice, one for all similar ones."""
    alike: list[list[EntryPoint]] = []
    for group in entries_by(lambda entry: entry.loop, project):
        known = next((each for each in alike if are_copies(each[0], group[0])), None)
        if known is None:
            alike.append(group)
        else:
            known.extend(group)
    return [one_of(group) for group in alike]


def entries_by(key: Callable[[EntryPoint], object], project: Project) -> list[list[EntryPoint]]:
    """All entry points of a project in groups."""
    groups: dict[object, list[EntryPoint]] = {}
    for file in project.mentions.of("backward"):
        if not is_left_out(file):
            for entry in _in(file):
                groups.setdefault(key(entry), []).append(entry)
    return [*groups.values()]


@query
def entries_of(file: FileIndex) -> Sequence[EntryPoint]:
    """The entry points with their backward pass in a file."""
    if not file.has_words("backward") or is_left_out(file):
        return ()
    return [entry for entry in entry_points(file.project) if entry.file is file]


def one_of(group: list[EntryPoint]) -> EntryPoint:
    """The first one of a group, at best in the file of its loop; one of a known wide model if its own is narrow."""
    wide = (each for each in group if classes_of_model(each) and not is_narrow(each))
    first = next((each for each in group if each.file is each.driven_from), group[0])
    first = next(wide, first) if len(group) > 1 and is_narrow(first) else first
    others = tuple((other.file, other.call) for other in group if other is not first)
    return replace(first, others=others)


@query
def is_left_out(file: FileIndex) -> bool:
    """Whether the training in a file is an exercise, a test, or does not run on a GPU."""
    if file.is_quiet or file.is_offline or file.is_foreign or file.is_static or file.has_words(*_SMALL_DATA):
        return True
    if file.has_words(*_HIGHER) or is_for_paddle_1((file,)) or any(p in _ACTING for p in file.names.packages):
        return True
    return is_toy(file) or has_no_gpu(file) or InUse.of(file.project).is_left_over(file)


def _in(file: FileIndex) -> Iterator[EntryPoint]:
    """The first backward pass of each step of a file."""
    seen: set[tuple[Scope, Loop | None]] = set()
    for scope, statement, call in file.calls_named("backward"):
        if not isinstance(call.func, ast.Attribute) or (scope, statement.loop) in seen:
            continue
        if is_trial(scope.name) or is_no_training(scope.name) or _acts(scope):
            continue
        driven = _driver(Place(file, scope), statement)
        if driven is not None and not _acts(driven[1]) and not is_left_out(driven[0]):
            seen.add((scope, statement.loop))
            forward, models = forward_of(Place(file, scope), statement, call)
            yield EntryPoint(file, scope, statement, call, driven[2], driven[0], driven[1], forward, models)


def _acts(scope: Scope) -> bool:
    """Whether a function steps an environment, as in reinforcement learning."""
    return scope.once(_acts, lambda: steps_environment(scope))


@query(cycle=None)
def _driver(at: Place, statement: Statement) -> tuple[FileIndex, Scope, Loop] | None:
    """The step loop around a statement, in its function or in a caller."""
    loops = frozenset(step_loops.step_loops(at))
    found: tuple[FileIndex, Scope, Loop] | None = None
    for link in statement.around:
        if isinstance(link.node, LOOPS) and link.branch == "body" and link.node in loops:
            found = at.file, at.scope, link.node
    if found is not None or isinstance(at.scope.node, ast.Module):
        return found
    least = Certainty.NAME if at.scope.name in STEP_METHODS else Certainty.OVERRIDE
    for site in CallGraph.of(at.file.project).each(at, least):
        if not site.file.is_quiet and site.scope is not at.scope:
            found = _driver(site.function, site.statement)
            if found is not None:
                return found
    return None


def forward_of(at: Place, statement: Statement, call: ast.Call) -> tuple[tuple[ast.stmt, ...], tuple[str, ...]]:
    """The statements before a backward pass that compute its loss, and the models that they call.

    They begin with the first call of a model, or of anything else that does more than create a tensor from the batch.
    If a block around the backward pass calls no model, as ``scaled = scaler.scale(loss)`` under ``if fp16:`` does not,
    they are those of the innermost block around it that does.
    """
    wanted, beside = plain_names(call.func), tuple[ast.stmt, ...]()
    if "self" in wanted:
        wanted = (wanted - {"self"}) | {dotted_loss(call)}
    for block, upper in _blocks(at.scope, statement):
        before = block[: block.index(upper)] if upper in block else []
        places = _leading_to(wanted, before)
        models = {place: [name for name in _called_in(before[place]) if _is_model(at, name)] for place in places}
        first = next((place for place in places if models[place]), None)
        if first is not None:
            names = (name for found in models.values() for name in found)
            return tuple(before[first : places[-1] + 1]), tuple(dict.fromkeys(names))
        first = next((place for place in places if not all(map(_prepares, _called_in(before[place])))), None)
        if first is not None and not beside:
            beside = tuple(before[first : places[-1] + 1])
    return beside, ()


def _blocks(scope: Scope, statement: Statement) -> Iterator[tuple[list[ast.stmt], ast.stmt]]:
    """The blocks around a statement up to the body of the innermost loop, each with its statement that leads there."""
    upper = statement.node
    for link in statement.around:
        yield link.block, upper
        if isinstance(link.node, LOOPS):
            return
        if link.branch != "after":
            upper = link.node
    yield scope.node.body, upper


def _leading_to(wanted: set[str], before: Sequence[ast.stmt]) -> list[int]:
    """Those of some statements whose values are used for some names, in order; adds the names that these use."""
    found = list[int]()
    for place in reversed(range(len(before))):
        bound = _bound_below(before[place])
        if not bound.isdisjoint(wanted):
            wanted |= plain_names(before[place]) - {"self"}
            found.append(place)
    return found[::-1]


def _prepares(name: str) -> bool:
    """Whether a call only brings data into shape, or to the device."""
    return name.rpartition(".")[2] in _PREPARING


def dotted_loss(call: ast.Call) -> str:
    """The name that ``backward`` is called on: ``loss``, also in ``(loss / 4).backward()``."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    names = [name for item in walk(owner) if (name := dotted(item))] if owner is not None else []
    return next((name for name in names if means_loss(name)), names[0] if names else "")


def _bound_below(node: ast.stmt) -> set[str]:
    """The names that a statement binds, including those in its blocks."""
    return {name for item in ast.walk(node) if isinstance(item, ast.stmt) for name in bound_by(item)}


def _called_in(node: ast.stmt) -> Iterator[str]:
    """The names that a statement calls, but for what it runs without gradients, such as a teacher."""
    waiting: list[ast.AST] = [node]
    for item in waiting:  # grows in the loop
        if isinstance(item, ast.With) and any(turns_gradients_off(each.context_expr) for each in item.items):
            continue
        waiting += ast.iter_child_nodes(item)
        name = dotted(item.func) if isinstance(item, ast.Call) else None
        if name is not None:
            yield name.removesuffix(".forward")


def _is_model(at: Place, name: str) -> bool:
    """Whether a call of this name runs a model: it is a layer of the project, or has the name of one."""
    last = name.rpartition(".")[2]
    if last in _NO_MODELS or makes(last):
        return False
    node = ast.parse(name, mode="eval").body
    kind = Values.of(at.file.project).lasting_kind(at, node)
    if kind.tag == LAYER_TAG:
        return _SCORES.search(last) is None
    return means_model(last) and name not in at.file.names.bound


def are_copies(first: EntryPoint, second: EntryPoint) -> bool:
    """Whether two programs train the same way: in one file, in steps of one shape, or with nearly the same calls."""
    if first.file is second.file or _shape(first) == _shape(second):
        return True
    if first.file.parts[:-1] != second.file.parts[:-1]:
        return False
    one, other = (frozenset(filter(None, map(terminal, each.scope.calls))) for each in (first, second))
    return len(one & other) >= _SAME * len(one | other)


def _shape(entry: EntryPoint) -> str:
    """The shape of a step, without names and numbers: the calls around its backward pass, in order."""
    return entry.scope.once((_shape, entry.backward.loop), lambda: _calls_around(entry.backward, entry.scope))


def _calls_around(statement: Statement, scope: Scope) -> str:
    loop = statement.loop
    steps = scope.statements_in(loop) if loop is not None else scope.statements
    return " ".join(
        f"{type(each.node).__name__}:{','.join(sorted(filter(None, map(terminal, each.calls))))}" for each in steps
    )


# The programs of an entry point as a whole: the files that they load, and the words in these.


def speaks_of(entry: EntryPoint, *words: str) -> bool:
    """Whether a file that the programs of an entry point load for training contains one of these words."""
    named = [file for file in entry.file.project.mentions.of(*words) if not (file.is_offline or file.is_quiet)]
    return bool(named) and not _loaded(entry.file, entry.driven_from).isdisjoint(named)


@query
def _loaded(file: FileIndex, driver: FileIndex) -> frozenset[FileIndex]:
    imports = Imports.of(file.project)
    return imports.closure(imports.users([file, driver]))


# Finds what a program spends its training steps on, by its layers: wide convolutions, attention, wide products.
#
# A file that an entry point loads may contain several models, one of which is trained: all of them count, unless the
# class of the model is known.


class DeviceWork(Enum):
    """Layers that take time on the device."""

    CONVOLUTIONS = "convolutions"
    VOLUMES = "3-D convolutions"
    """``auto_cast`` runs them in half precision only if its ``custom_white_list`` names them."""
    OTHER_CONVOLUTIONS = "transposed convolutions"
    """Those that ``auto_cast`` leaves in float32, since its white list only has ``conv2d``."""
    ATTENTION = "attention"
    PRODUCTS = "wide linear layers"
    SEQUENCES = "1-D convolutions"
    """Paddle computes them by ``conv2d``."""


_BY_CHANNELS = frozenset(
    {DeviceWork.CONVOLUTIONS, DeviceWork.SEQUENCES, DeviceWork.VOLUMES, DeviceWork.OTHER_CONVOLUTIONS}
)
"""Work that only fills a device if the layers are wide."""
_OF_LAYERS = {
    DeviceWork.CONVOLUTIONS: spellings(["paddle.nn.Conv2D"]),
    DeviceWork.SEQUENCES: spellings(["paddle.nn.Conv1D"]),
    DeviceWork.VOLUMES: spellings(["paddle.nn.Conv3D"]),
    DeviceWork.OTHER_CONVOLUTIONS: spellings(
        f"paddle.nn.{name}" for name in ("Conv2DTranspose", "Conv3DTranspose", "SubmConv3D")
    ),
}
"""The layers of each kind of convolution."""
_CAST = _OF_LAYERS[DeviceWork.CONVOLUTIONS] | _OF_LAYERS[DeviceWork.SEQUENCES] | _OF_LAYERS[DeviceWork.VOLUMES]
_NOT_CAST = {DeviceWork.VOLUMES, DeviceWork.OTHER_CONVOLUTIONS}
_ATTENTION = spellings(
    f"paddle.nn.{name}"
    for name in ("MultiHeadAttention", "Transformer", "TransformerEncoderLayer", "TransformerDecoderLayer")
)
_VISION = re.compile(r"paddle\.vision\.models\.(?!LeNet)\w|paddleseg\.models|ppcls\.arch")
_LANGUAGE = re.compile(r"(?:paddlenlp|paddleformers)\.transformers\.|.*\.from_pretrained$")
_NO_LAYERS = re.compile(r"tokenizer|config|processor", re.IGNORECASE)
_CHANNELS, _WIDTH = 64, 1024
"""Widths from which a convolution, or a linear layer, keeps Tensor Cores busy."""
_MANY_CHANNELS = 256
"""The width that all but the smallest networks for images reach."""
_WORDS = ("Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose", "Conv3DTranspose", "Linear", "MultiHeadAttention", "softmax")
_MORE_WORDS = ("TransformerEncoderLayer", "TransformerDecoderLayer", "models", "from_pretrained", "Transformer")


def work_of(entry: EntryPoint) -> frozenset[DeviceWork]:
    """What the model of an entry point spends its time on, as far as the project shows."""
    return _work_of(entry.file, entry.driven_from, entry)


@query
def _work_of(file: FileIndex, driver: FileIndex, entry: EntryPoint) -> frozenset[DeviceWork]:
    return frozenset().union(*(_work_in(each) for each in model_files(entry)))


def is_narrow(entry: EntryPoint) -> bool:
    """Whether a model is known to be made of narrow convolutions: a few layers, for small images."""
    return work_of(entry) <= _BY_CHANNELS and not any(_has_wide(each) for each in model_files(entry))


@query
def _has_wide(file: FileIndex) -> bool:
    """Whether a file has a convolution with many channels, or with an unknown number of them, or a known backbone."""
    if not file.has_words(*_WORDS, *_MORE_WORDS) or file.is_foreign:
        return False
    if _reads_backbone(file):
        return True
    for scope in file.scopes.scopes:
        for call in scope.calls:
            name = file.names.resolve(dotted(call.func) or "")
            if _VISION.match(name):
                return True
            if name in _CAST and _is_wide(call, 1, "out_channels", _MANY_CHANNELS):
                width = argument_of(call, "out_channels", 1)
                values = Constants.of(file.project).possible(width, Place(file, scope)) if width is not None else ()
                if any(not isinstance(each.value, int) or each.value >= _MANY_CHANNELS for each in values or OPEN):
                    return True
    return False


def runs_wide_layers(network: ast.expr, at: Place) -> bool:
    """Whether a network, as an expression, is known to have layers that Tensor Cores can run."""
    for source in sources(network, at):
        found = Modules.of(at.file.project).class_named(source.qualified)
        if _VISION.match(source.qualified):
            return True
        if found is not None and _work_in(found[0]) - _NOT_CAST:
            return not _work_in(found[0]) <= _BY_CHANNELS or _has_wide(found[0])
    return False


def model_files(entry: EntryPoint) -> frozenset[FileIndex]:
    """The files with the classes of an entry point's model, and their imports; all loaded files if none is known."""
    imports = Imports.of(entry.file.project)
    classes = classes_of_model(entry)
    own = {file for file, _ in classes}
    if any(_holds_another(owner) for _, owner in classes):
        own |= {entry.file, entry.driven_from}
    beside = imports.on_path(entry.file) | imports.on_path(entry.driven_from)
    starts = own or {entry.file, entry.driven_from, *imports.importers(entry.file), *beside}
    return frozenset(each for each in imports.closure(starts) if not each.is_quiet)


def _holds_another(owner: Class) -> bool:
    """Whether a model runs one that it is made from: ``TokenClassifier(ErnieModel.from_pretrained(name), 3)``."""
    given = {
        name
        for name, values in owner.attributes.items()
        for value, scope in values
        if scope.name == "__init__" and isinstance(value, ast.Name) and value.id in scope.parameters
    }
    return any(
        (dotted(call.func) or "").removeprefix("self.") in given
        for each in owner.methods.values()
        for call in each.calls
    )


def classes_of_model(entry: EntryPoint) -> frozenset[tuple[FileIndex, Class]]:
    """The classes that the models of an entry point may be of, as far as known."""
    return frozenset(found for name in entry.models for found in _classes(entry, name))


def _classes(entry: EntryPoint, name: str) -> Iterator[tuple[FileIndex, Class]]:
    """The classes that a model may be of."""
    kind = Values.of(entry.file.project).lasting_kind(Place(entry.file, entry.scope), ast.parse(name, mode="eval").body)
    for each in kind.type.split(EITHER) if kind.tag == LAYER_TAG else ():
        found = Modules.of(entry.file.project).class_named(each)
        if found is not None:
            yield found


@query
def _work_in(file: FileIndex) -> frozenset[DeviceWork]:
    """What the layers of one file spend their time on."""
    if not file.has_words(*_WORDS, *_MORE_WORDS) or file.is_foreign:
        return frozenset()
    calls = ((Place(file, scope), call) for scope in file.scopes.scopes for call in scope.calls)
    own = (DeviceWork.CONVOLUTIONS,) if _reads_backbone(file) else ()
    return frozenset(filter(None, (*own, *(_work(at, call) for at, call in calls))))


def _reads_backbone(file: FileIndex) -> bool:
    """Whether a file reads the name of a library's network for images, as in a table: ``NETS = {"r50": resnet50}``."""
    return any(_VISION.match(file.names.resolve(name)) and name in file.loads for name in file.names.bound)


def _work(at: Place, call: ast.Call) -> DeviceWork | None:
    name = at.file.names.resolve(dotted(call.func) or "")
    work = next((work for work, names in _OF_LAYERS.items() if name in names), None)
    if work is not None:
        return work if _is_wide(call, 1, "out_channels", _CHANNELS) else None
    if name in _ATTENTION or (_LANGUAGE.match(name) and not _NO_LAYERS.search(name)):
        return DeviceWork.ATTENTION
    if _VISION.match(name):
        return DeviceWork.CONVOLUTIONS
    if name == "paddle.nn.Linear" and (
        _is_wide(call, 1, "out_features", _WIDTH) or _is_known_to_be_wide(at, call, "out_features", _WIDTH)
    ):
        return DeviceWork.PRODUCTS
    return None


def _is_known_to_be_wide(at: Place, call: ast.Call, parameter: str, least: int) -> bool:
    """Whether options, defaults or constants make a width at least this size, by all that is known of it."""
    width = argument_of(call, parameter, 1)
    values = Constants.of(at.file.project).possible(width, at) if width is not None else ()
    return bool(values) and all(isinstance(each.value, int) and each.value >= least for each in values)


def _is_wide(call: ast.Call, position: int, parameter: str, least: int) -> bool:
    """Whether a width is a literal of at least this size, or computed: toy models are not that general."""
    if is_spread(call):
        return True
    width = argument_of(call, parameter, position)
    if isinstance(width, ast.Constant):
        return isinstance(width.value, int) and width.value >= least
    return width is not None and parameter == "out_channels"
