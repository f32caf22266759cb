"""PPF706: a convolutional network on images of one size, for which cuDNN could search its fastest kernels once."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from enum import Enum
from functools import partial

from perflint.catalogue import shipped
from perflint.facts.dataset_samples import wrapped
from perflint.facts.entry_points import DeviceWork, EntryPoint, speaks_of, work_of
from perflint.facts.loaders import LOADER, is_loader_class
from perflint.facts.sample_calls import COMPOSE, looped_over
from perflint.findings import Confidence
from perflint.flow.sources import ValueSource, asked, function_of, is_left_out, scope_binding
from perflint.index.project import FileIndex, Place
from perflint.lint.context import Context
from perflint.lint.registry import At, rule
from perflint.paddle.call_results import LOOPED
from perflint.query import query
from perflint.rules.entry_advice import above_training, models_in, places_beside
from perflint.syntax import reaching
from perflint.syntax.bindings import bindings_of
from perflint.syntax.names import dotted
from perflint.syntax.parameters import argument_of, arguments_of, is_none
from perflint.syntax.scopes import Scope, Statement, terminal
from perflint.syntax.tree import calls_in, walk
from perflint.syntax.vocabulary import means_settings

# Finds whether the images of a training have one size, by following its loader to the code that creates a sample.
#
# In ``DataLoader(Photos(Compose([RandomCrop(256), Flip()])))`` all images have 256 x 256 pixels; with ``Resize(256)``
# alone, which brings the shorter side to 256, they do not. The code that creates a sample is followed in the order in
# which it runs, in the branches that training takes; the last step that crops, scales or pads an image decides.


class Sizes(Enum):
    """The sizes that the images of a training have."""

    ONE = "one"
    MANY = "many"
    UNKNOWN = "unknown"


_PASS_ON = LOOPED | {"list", "prefetch", "trange"}
_ONE_SIZE_DATA = re.compile(r"paddle\.(?:vision\.)?datasets?\.(?:\w+\.)*(?:Cifar10|Cifar100|cifar\.\w+)$")
_PHOTOS = re.compile(r"paddle\.vision\.datasets\.(?:\w+\.)*(?:DatasetFolder|ImageFolder|Flowers|VOC2012)$")
_TRANSFORMS = re.compile(r"paddle\.vision\.transforms\.(?:\w+\.)*(\w+)$")
_CUTS = frozenset({"RandomResizedCrop", "RandomCrop", "CenterCrop", "center_crop", "crop"})
_SCALES = frozenset({"Resize", "resize"})
_FROM_DATA = frozenset({"shape", "width", "height"})
"""Attributes of an image that make a size depend on it; so does ``size``."""
_ARITHMETIC = frozenset({"int", "float", "round", "tuple", "list", "max", "min", "abs", "floor", "ceil", "len"})
_RANDOM = re.compile(r"(?:^|\.)(?:rand\w*|choices?|uniform|normal|sample|shuffle)$")
_SMALLEST = 8
"""The least side length that counts as an image when an array gets a shape."""
_MOST_RUNS, _DEEPEST = 400, 24
"""How many runs of functions are followed, and how many of them nested."""


def sizes_of_images(entry: EntryPoint) -> Sizes:
    """The sizes of the images that an entry point trains on, as far as its loader can be followed."""
    return _sizes_of_images(entry.driven_from, entry)


@query
def _sizes_of_images(file: FileIndex, entry: EntryPoint) -> Sizes:
    loop = entry.loop
    if isinstance(loop, ast.While):
        return Sizes.UNKNOWN
    statement = next((each for each in entry.driver.statements if each.node is loop), None)
    start = asked(loop.iter, Place(file, entry.driver, statement), in_training=True)
    found = _agreed(_Reader().batches(place) for place in _drawn_from(start))
    return Sizes.UNKNOWN if start.is_out_of_budget else found


def _makers(place: ValueSource) -> Iterator[ValueSource]:
    """The known sources of an expression."""
    return (source for source in place.sources() if source.is_known)


def _agreed(found: Iterable[Sizes]) -> Sizes:
    """The result that is true for all of these."""
    sizes = set(found)
    if Sizes.MANY in sizes:
        return Sizes.MANY
    return Sizes.ONE if sizes == {Sizes.ONE} else Sizes.UNKNOWN


def _drawn_from(place: ValueSource) -> Iterator[ValueSource]:
    """What creates the batches of an expression: ``loader`` of ``enumerate(tqdm(loader))``, or ``loader()``."""
    for made in _makers(place):
        call = made.node
        passes = isinstance(call, ast.Call) and (terminal(call) in _PASS_ON) and bool(call.args)
        if isinstance(call, ast.Call) and passes:
            yield from _drawn_from(made.part(call.args[0]))
        elif isinstance(call, ast.Call) and not call.args and not call.keywords and made.object is None:
            inner = list(_drawn_from(made.part(call.func)))
            yield from inner or [made]
        else:
            yield made


class _Reader:
    """Follows the code that creates samples; runs of functions are counted, so that it ends."""

    def __init__(self) -> None:
        self._runs = 0

    # -- loaders and datasets --------------------------------------------------------------------------------

    def batches(self, place: ValueSource) -> Sizes:
        """The sizes in the batches of a loader or a generator."""
        call = place.node
        if not isinstance(call, ast.Call):
            return Sizes.UNKNOWN
        made = place.object
        if place.qualified != LOADER and not (made and is_loader_class(made.file.project, made.file, made.owner)):
            return self.samples(place)
        dataset, collate = argument_of(call, "dataset", 0), argument_of(call, "collate_fn", 8)
        if dataset is None:
            return Sizes.UNKNOWN
        found = _agreed(self.samples(each) for each in _makers(place.part(dataset)))
        return found if collate is None else self._changed(place.part(collate), found)

    def samples(self, place: ValueSource) -> Sizes:
        """The sizes in the samples of a dataset."""
        call, qualified = place.node, place.qualified
        if not isinstance(call, ast.Call):
            return Sizes.UNKNOWN
        if inner := wrapped(place):
            return _agreed(self.samples(each) for part in inner for each in _makers(part))
        if _ONE_SIZE_DATA.match(qualified) or _PHOTOS.match(qualified):
            found = Sizes.ONE if _ONE_SIZE_DATA.match(qualified) else Sizes.UNKNOWN
            transform = argument_of(call, "transform", None)
            return found if transform is None else self._changed(place.part(transform), found)
        inside = place.method("__getitem__", "__iter__")
        return Sizes.UNKNOWN if inside is None else self._run(inside, Sizes.UNKNOWN)

    # -- transforms ------------------------------------------------------------------------------------------

    def _changed(self, place: ValueSource, before: Sizes) -> Sizes:
        """The sizes of images after a transform or a function."""
        found = {self._by(made, before) for made in _makers(place) if not is_none(made.node)}
        return _agreed(found) if len(found) > 1 else next(iter(found), before)

    def _by(self, made: ValueSource, before: Sizes) -> Sizes:
        node = made.node
        if isinstance(node, (ast.List, ast.Tuple)):
            for part in node.elts:
                before = self._changed(made.part(part), before)
            return before
        if isinstance(node, ast.Lambda):
            return self._calls(made, calls_in(node.body), before)
        if not isinstance(node, ast.Call):
            called = function_of(made, node)
            return before if called is None else self._run(made.entered(called), before)
        if COMPOSE.search(made.qualified) and node.args:
            return self._changed(made.part(node.args[0]), before)
        known = _TRANSFORMS.match(made.qualified)
        if known is not None:
            return _after_transform(known[1], argument_of(node, "size", 0), made, before)
        inside = made.method("__call__", "_apply_image", "forward")
        return before if inside is None else self._run(inside, before)

    # -- functions -------------------------------------------------------------------------------------------

    def _run(self, inside: ValueSource, before: Sizes) -> Sizes:
        """The sizes after a run of a function that creates or changes a sample."""
        self._runs += 1
        if self._runs > _MOST_RUNS or len(inside.steps) > _DEEPEST:
            return Sizes.UNKNOWN
        for statement in inside.place.scope.statements:
            if not is_left_out(inside, statement):
                after = self._step(inside.at(statement), statement, before)
                is_chance = after is Sizes.ONE and any(_by_chance(test) for test, _ in statement.conditions)
                before = before if is_chance else after
        return before

    def _step(self, place: ValueSource, statement: Statement, before: Sizes) -> Sizes:
        innermost_first = sorted(statement.calls, key=lambda call: (call.end_lineno or 0, call.end_col_offset or 0))
        before = self._calls(place, innermost_first, self._taken(place, statement, before))
        value = getattr(statement.node, "value", None)
        if isinstance(value, ast.Subscript) and (cut := _is_cut(place, value)) is not None:
            return Sizes.ONE if cut else Sizes.MANY
        return before

    def _taken(self, place: ValueSource, statement: Statement, before: Sizes) -> Sizes:
        """The sizes of the samples that a statement takes from another dataset: ``self.dataset[index]``."""
        for item in statement.nodes:
            if isinstance(item, ast.Subscript) and _is_own(item.value):
                found = _agreed(self.samples(made) for made in _makers(place.part(item.value)))
                before = before if found is Sizes.UNKNOWN else found
        return before

    def _calls(self, place: ValueSource, calls: Iterable[ast.Call], before: Sizes) -> Sizes:
        for call in calls:
            before = self._call(place.part(call), call, before)
        return before

    def _call(self, place: ValueSource, call: ast.Call, before: Sizes) -> Sizes:
        """The sizes after a call in a function that creates a sample."""
        last, known = terminal(call) or "", _TRANSFORMS.match(place.qualified)
        if known is not None:
            return before if known[1][:1].isupper() else _after_function(known[1], place, call, before)
        if place.qualified == "cv2.resize":
            return _fitted(argument_of(call, "dsize", 1), place, before)
        called = function_of(place, call.func)
        if called is not None:
            return self._run(place.entered(called), before)
        if last in ("resize", "reshape") and isinstance(call.func, ast.Attribute):
            return _after_method(last, place, call, before)
        if isinstance(call.func, (ast.Name, ast.Attribute)):
            items = looped_over(place, call.func)
            target = place.part(items if items is not None else call.func)
            return self._changed(target, before) if _may_hold(target, call.func) else before
        return before


def _may_hold(place: ValueSource, func: ast.expr) -> bool:
    """Whether something stored in a variable is called: ``self.transform(x)``, ``op(x)`` in a loop, ``crop(x)``."""
    name = dotted(func) or ""
    if name.startswith("self."):
        return name.count(".") == 1
    return "." not in name and (place.node is not func or scope_binding(name, place.place.scope) is not None)


# -- which sizes a step gives --------------------------------------------------------------------------------------


def _after_transform(name: str, size: ast.expr | None, place: ValueSource, before: Sizes) -> Sizes:
    """The sizes after a transform of ``paddle.vision``, or a function of that name."""
    if name in _CUTS:
        return _fitted(size, place, before) if size is not None else before
    if name not in _SCALES or size is None:
        return before
    for made in _makers(place.part(size)):
        if isinstance(made.node, (ast.Tuple, ast.List)) and len(made.node.elts) == 2:
            return _fitted(made.node, made, before)
        if isinstance(made.node, ast.Call) and _RANDOM.search(dotted(made.node.func) or ""):
            return Sizes.MANY
    return before


def _after_function(name: str, place: ValueSource, call: ast.Call, before: Sizes) -> Sizes:
    if name == "crop":
        height, width = argument_of(call, "height", 3), argument_of(call, "width", 4)
        return _fitted(ast.Tuple([height, width], ast.Load()), place, before) if height and width else before
    return _after_transform(name, argument_of(call, "size" if name in _SCALES else "output_size", 1), place, before)


def _after_method(name: str, place: ValueSource, call: ast.Call, before: Sizes) -> Sizes:
    """``image.resize((w, h))``, ``row.reshape(3, 32, 32)`` and ``np.reshape(row, (3, 32, 32))``."""
    arguments = call.args[1:] if place.qualified.startswith(("numpy.", "paddle.")) else call.args
    shape = arguments[0] if arguments else None
    sides = list(shape.elts) if isinstance(shape, (ast.Tuple, ast.List)) else list(arguments)
    if name == "resize":
        return _fitted(shape, place, before) if shape is not None and len(call.args) <= 3 else before
    numbers = [side.value for side in sides if isinstance(side, ast.Constant)]
    long = [number for number in numbers if isinstance(number, int) and number >= _SMALLEST]
    return Sizes.ONE if len(long) >= 2 else before


def _fitted(size: ast.expr | None, place: ValueSource, before: Sizes) -> Sizes:
    """The sizes after a step that brings images to a size."""
    if size is None or is_none(size):
        return before
    return Sizes.ONE if _is_fixed(place.part(size)) else Sizes.MANY


def _is_cut(place: ValueSource, node: ast.Subscript) -> bool | None:
    """Whether a fixed number of rows and columns is cut out: ``x[top : top + size, left : left + size]``.

    None for everything else: other slices are about channels, or about a list.
    """
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
    lengths = [length for part in parts if isinstance(part, ast.Slice) and (length := _length(part)) is not None]
    return all(_is_fixed(place.part(length)) for length in lengths) if len(lengths) == 2 else None


def _length(part: ast.Slice) -> ast.expr | None:
    """``n`` of ``start : start + n``."""
    upper = part.upper
    if part.lower is None or not isinstance(upper, ast.BinOp) or not isinstance(upper.op, ast.Add):
        return None
    start = ast.dump(part.lower)
    if ast.dump(upper.left) == start:
        return upper.right
    return upper.left if ast.dump(upper.right) == start else None


def _is_fixed(place: ValueSource) -> bool:
    """Whether a size is the same for each image: a number, an option, an attribute; not computed from an image."""
    for item in walk(place.node):
        if isinstance(item, ast.Call) and terminal(item) not in _ARITHMETIC:
            return False
        if isinstance(item, ast.Attribute) and _is_size_of_image(item, place):
            return False
    return all(_is_fixed_name(place.part(name)) for name in _names(place.node))


def _names(node: ast.AST) -> Iterator[ast.expr]:
    """The names in an expression, with their attributes of ``self``; not those of calls."""
    if isinstance(node, ast.Call):
        for argument in arguments_of(node):
            yield from _names(argument)
    elif isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and dotted(node)):
        yield node
    else:
        for child in ast.iter_child_nodes(node):
            yield from _names(child)


def _is_fixed_name(place: ValueSource) -> bool:
    """Whether all values of a name are fixed; a name that leads nowhere counts as an option."""
    if place.is_circular or (isinstance(place.node, ast.Name) and _is_unpacked(place, place.node.id)):
        return False
    made = [each for each in _makers(place) if each.node is not place.node]
    return all(_is_fixed(each) for each in made)


def _is_unpacked(place: ValueSource, name: str) -> bool:
    """Whether a function gets a name from a loop, or by unpacking: ``h, w = image.shape[:2]``."""
    at, scope = place.place.statement, place.place.scope
    for binding in reaching.before(name, at, scope) if at is not None else ():
        node = binding.statement.node
        if isinstance(node, (ast.For, ast.AsyncFor, ast.With, ast.AugAssign)):
            return True
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
            return not isinstance(node.value, (ast.Tuple, ast.Name)) and not _is_own(node.value)
    return False


def _is_own(node: ast.expr) -> bool:
    return (dotted(node) or "").startswith("self.")


def _is_size_of_image(node: ast.Attribute, place: ValueSource) -> bool:
    """Whether ``x.shape``, ``x.width`` or ``x.size`` belongs to an image, not to ``self`` or the options."""
    owner = dotted(node.value) or ""
    if node.attr == "size":
        return not means_settings(owner) and owner in _local_values(place.place.scope)
    return node.attr in _FROM_DATA and not (means_settings(owner) or (owner == "self" and node.attr != "shape"))


def _local_values(scope: Scope) -> set[str]:
    return {name for name in bindings_of(scope) if "." not in name} | set(scope.parameters)


def _by_chance(test: ast.expr) -> bool:
    """Whether a test depends on a random number or on the image itself, so that not all images take the branch."""
    for item in walk(test):
        if isinstance(item, ast.Call) and _RANDOM.search(dotted(item.func) or ""):
            return True
        if isinstance(item, ast.Attribute) and item.attr in _FROM_DATA:
            return True
    return False


# PPF706: a convolutional network on images of one size, for which cuDNN only estimates which kernels are fastest.

RULE = shipped()["PPF706"]
_CHOSEN = (
    *("FLAGS_cudnn_exhaustive_search", "cudnn_exhaustive_search", "FLAGS_cudnn_deterministic", "cudnn_deterministic"),
    *("FLAGS_use_autotune", "use_autotune", "autotune", "deterministic"),
)
"""What shows that cuDNN's search for kernels was chosen deliberately."""
_SCALED = ("MultiScale", "multi_scale", "multiscale", "BatchRandomResize", "random_shape", "random_size", "short_size")
"""Names in a step that changes the size of whole batches."""
_LINES = ("if {paddle}.is_compiled_with_cuda():", '    {paddle}.set_flags({{"FLAGS_cudnn_exhaustive_search": True}})')
"""The rows above the training: a CPU build does not have the flag."""
_BY_CUDNN = {DeviceWork.CONVOLUTIONS, DeviceWork.VOLUMES, DeviceWork.OTHER_CONVOLUTIONS}


def leaves_cudnn_to_guess(entry: EntryPoint) -> bool:
    """Whether a step spends its time on convolutions of one size, and nothing turns on the kernel search."""
    if speaks_of(entry, *_CHOSEN) or entry.file.has_words(*_SCALED) or entry.driven_from.has_words(*_SCALED):
        return False
    work = work_of(entry)
    if work.isdisjoint(_BY_CUDNN) or DeviceWork.ATTENTION in work:
        return False
    return sizes_of_images(entry) is Sizes.ONE


_models = partial(models_in, is_worth=leaves_cudnn_to_guess)


@rule(RULE.code, at=At.ANYWHERE, find=_models, claims=False, heeds_claims=False)
def no_search(entry: EntryPoint, context: Context) -> None:
    """Report the model of a training step whose convolutions use kernels that cuDNN only estimates to be fastest."""
    fix = above_training(entry, _LINES, RULE)
    context.report(fix, related=places_beside(entry), confidence=Confidence.MEDIUM)
