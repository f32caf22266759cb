"""PPF115: batches of texts of any length, which are padded to the longest in each."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from perflint.catalogue import shipped
from perflint.facts.dataset_samples import Follower
from perflint.facts.loaders import loader_calls, training_on
from perflint.facts.programs import is_toy
from perflint.findings import Related
from perflint.flow.sources import Through, asked
from perflint.index.hierarchy import Hierarchy
from perflint.index.modules import Modules
from perflint.index.project import FileIndex, Located, Place, Project
from perflint.lint.context import Context
from perflint.lint.registry import At, Candidate, rule
from perflint.lint.statement_code import statement_around
from perflint.query import query
from perflint.syntax.names import dotted, names_in
from perflint.syntax.parameters import argument_of
from perflint.syntax.scopes import Scope, terminal
from perflint.syntax.tree import string_of, walk
from perflint.training.every import whole_number

RULE = shipped()["PPF115"]
_SAMPLERS = {"paddle.io.BatchSampler": 2, "paddle.io.DistributedBatchSampler": 4}
"""The samplers of Paddle that may shuffle, each with the position of that parameter."""
_RANDOM = re.compile(r"paddle\.io\.(?:RandomSampler|SubsetRandomSampler)$")
_SORTS = re.compile(r"(?i)sort(?:ed|_\w+)?\(|bucket|group_by")
"""What may put the samples of a file in the order of their lengths."""
_FEWEST = 4
"""With fewer samples in a batch there is little padding."""

# Finds what pads a batch to its longest sample: PaddleNLP's `Pad` and collators, `tokenizer.pad`, own functions.

_PADS = re.compile(r"paddlenlp\.data\.(?:collate\.)?Pad$")
_COLLATORS = re.compile(
    r"paddlenlp\.data\.(?:data_collator\.)?DataCollator(?:WithPadding|ForSeq2Seq|ForTokenClassification|ForLanguageModeling)$"
)
_FIXED = re.compile(
    r"padding\s*=\s*\(?[\"']max_length|pad_to_max\w*\s*=\s*True|(?:pad_to|to)_max_(?:seq_)?len\w*\s*=\s*True"
)
"""What makes all samples as long as the longest may be."""
_TEXTS = re.compile(r"(?i)tokenizer|vocab|input_ids|token_ids|word_ids|phone|mel|spectro|utterance")
_SEQUENCES = re.compile(
    r"(?i)(?:^|_)(?:tok|token|ids?|texts?|words?|chars?|sents?|sentences?|sequences?|seqs?|src|tgt|trg|phones?|phonemes?"
    r"|mels?|specs?|spectrograms?|wavs?|audios?|speech|utts?|feats?|frames?|inputs?)(?:_|s?$|\d)"
)
_FEW = re.compile(r"(?i)box|(?:^|_)gts?(?:_|$)|annot|target|obj|polygon|point|node|edge|caption")
"""What there are only some of in a sample: padding them costs little."""
_LONGEST = frozenset({"max", "numpy.max", "numpy.amax"})
_FILLS = frozenset({"pad", "zeros", "ones", "full", "empty", "zeros_like", "full_like"})


@dataclass(frozen=True)
class Padding:
    """What pads the samples of a batch to the longest, with its file."""

    node: ast.AST
    file: FileIndex
    text: str


class _Pads(Follower):
    """Finds what pads in everything that a collating function may be, or calls; the files of all of it, too."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Padding] = []
        self.files: set[FileIndex] = set()

    def called(self, call: ast.Call, place: Place) -> None:
        """Note a call that creates, or is, what pads."""
        file = place.file
        self.files.add(file)
        qualified, last = file.names.qualified(call.func), terminal(call) or ""
        made = Modules.of(file.project).class_at(file, call.func)
        names = {qualified, *(Hierarchy.of(file.project).unseen(*made) if made is not None else ())}
        receiver = dotted(call.func.value) or "" if isinstance(call.func, ast.Attribute) else ""
        is_pad = any(map(_PADS.match, names)) and (file.matches(_TEXTS) or _SEQUENCES.search(ast.unparse(call)))
        is_collator = any(map(_COLLATORS.match, names)) or (last == "pad" and "tokenizer" in receiver.lower())
        if is_pad or (is_collator and _pads_to_longest(call)):
            self.found.append(Padding(call, file, dotted(call.func) or last))

    def entered(self, at: Place) -> None:
        """Note a function that looks for the longest of some sequences, and pads the others."""
        self.files.add(at.file)
        for statement in at.scope.statements:
            node = statement.node
            value = node.value if isinstance(node, ast.Assign) else None
            names = {target.id for target in getattr(node, "targets", ()) if isinstance(target, ast.Name)}
            if (
                value is not None
                and names
                and _is_longest(value, at.before(statement))
                and _is_filled_to(names, at.scope)
            ):
                self.found.append(Padding(node, at.file, at.scope.name))


def _pads_to_longest(call: ast.Call) -> bool:
    """Whether a collator does what it does by default, and not for a fixed length."""
    padding = argument_of(call, "padding", 1)
    if padding is None or string_of(padding) == "longest":
        return True
    return isinstance(padding, ast.Constant) and padding.value is True


def _is_longest(value: ast.expr, at: Place) -> bool:
    """``max(len(text) for text in texts)``, ``max(mel.shape[1] for mel in mels)``: of sequences, by their names.

    The lengths may have a name: ``lengths = [len(text) for text in texts]``, ``max(lengths)``.
    """
    if not isinstance(value, ast.Call) or at.file.names.qualified(value.func) not in _LONGEST:
        return False
    parts = [value, *(each.node for given in value.args for each in asked(given, at, through=Through.NAME).sources())]
    names = [part for each in parts for name in names_in(each) for part in name.split(".")]
    texts = [string_of(item) or "" for each in parts for item in walk(each) if isinstance(item, ast.Constant)]
    measures = any(name in ("len", "shape") or "len" in name for name in names)
    said = [*names, *texts, at.scope.name]
    return measures and any(map(_SEQUENCES.search, said)) and not any(map(_FEW.search, said))


def _is_filled_to(names: set[str], scope: Scope) -> bool:
    """Whether a function fills something up to a length: ``[0] * (longest - len(x))``, ``np.zeros((n, longest))``."""
    for statement in scope.statements:
        for item in statement.nodes:
            if isinstance(item, ast.BinOp) and isinstance(item.op, ast.Sub):
                if not names.isdisjoint(names_in(item.left)):
                    return True
            elif isinstance(item, ast.Call) and terminal(item) in _FILLS and not names.isdisjoint(names_in(item)):
                return True
    return False


# Finds the training loaders that put samples of any length into one batch.


@dataclass(frozen=True)
class RandomLengths:
    """A sampler, or a loader, whose batches are padded.

    ``padding``: what pads them. ``sampler``: what draws them; ``others``: the same for other cases, such as several
    processes.
    """

    padding: Padding
    sampler: Located
    others: tuple[Located, ...]


@query
def random_lengths(project: Project) -> Mapping[str, Mapping[ast.AST, RandomLengths]]:
    """What makes the batches of a project that are in good part padding, by path.

    That is a sampler. For a loader that shuffles by itself it is what pads: other rules are about the loader.
    """
    made: list[tuple[Scope, ast.Call, RandomLengths]] = []
    for call, at in loader_calls(project):
        drawing = _drawing(call, at)
        padding = _padding(call, at, any(_shuffles(*each) for each in drawing)) if drawing else None
        if padding is not None and _trains(call, at):
            made.append((at.scope, call, RandomLengths(padding, drawing[0], tuple(drawing[1:]))))
    with_sampler = {scope for scope, call, lengths in made if lengths.sampler.call is not call}
    found: dict[str, dict[ast.AST, RandomLengths]] = {}
    for scope, call, lengths in made:
        if lengths.sampler.call is not call:
            found.setdefault(lengths.sampler.place.file.path, {}).setdefault(lengths.sampler.call, lengths)
        elif scope not in with_sampler:  # else it is the same loader, for one process
            found.setdefault(lengths.padding.file.path, {}).setdefault(lengths.padding.node, lengths)
    return found


def _drawing(call: ast.Call, at: Place) -> list[Located]:
    """What draws for a loader, whatever the lengths: samplers of Paddle, those for one process first, or the loader.

    A sampler that does not shuffle takes the samples in the order of their file, whose lengths are mixed as well.
    """
    if argument_of(call, "collate_fn", 8) is None:
        return []
    sampler = argument_of(call, "batch_sampler", 4)
    if sampler is None:
        return [Located(call, at)] if _shuffles(call, at) and not _is_small(call, 5, at) else []
    found = []
    for source in asked(sampler, at, in_training=True).sources():
        made, qualified = source.node, source.qualified
        if not isinstance(made, ast.Call) or qualified not in _SAMPLERS:
            return []  # it may group them
        drawn = argument_of(made, "sampler", 1) if qualified == "paddle.io.BatchSampler" else None
        size = 3 if qualified == "paddle.io.BatchSampler" else 1
        if (drawn is None or _is_random(drawn, source.place)) and not _is_small(made, size, source.place):
            found.append(Located(made, source.place))
    shuffling = [each for each in found if _shuffles(*each)]  # one for training, if there is another for evaluation
    return sorted(shuffling or found, key=lambda each: terminal(each.call) != "BatchSampler")


def _is_random(sampler: ast.expr, at: Place) -> bool:
    return any(_RANDOM.match(each.qualified) for each in asked(sampler, at).sources())


def _shuffles(call: ast.Call, at: Place) -> bool:
    """Whether a call shuffles: its argument is true, or not known and the data is that of a training."""
    qualified = at.file.names.qualified(call.func)
    drawn = argument_of(call, "sampler", 1) if qualified == "paddle.io.BatchSampler" else None
    given = argument_of(call, "shuffle", _SAMPLERS.get(qualified, 6))
    if given is None:
        return drawn is not None and _is_random(drawn, at)
    values = [each.node for each in asked(given, at, in_training=True).sources()]
    return not all(isinstance(value, ast.Constant) and not value.value for value in values)


def _is_small(call: ast.Call, position: int, at: Place) -> bool:
    size = argument_of(call, "batch_size", position)
    number = 1 if size is None else whole_number(size, at)
    return number is not None and number < _FEWEST


def _padding(call: ast.Call, at: Place, shuffled: bool) -> Padding | None:
    """What pads the batches of a loader to their longest sample; None if samples have one length.

    None also if nothing shuffles the samples, and some code may have put them in the order of their lengths.
    """
    pads = _Pads()
    pads.value(argument_of(call, "collate_fn", 8), at.at(at.scope, None))
    if not pads.found:
        return None
    files = {at.file, *(each.file for each in pads.found)}
    dataset = argument_of(call, "dataset", 0)
    for source in asked(dataset, at).sources() if dataset is not None else ():
        files |= {source.place.file, *(step.place.file for step in source.steps)}
        made = source.object
        files |= {made.file} if made is not None else set()
    in_order = not shuffled and any(file.matches(_SORTS) for file in files)
    if in_order or any(file.matches(_FIXED) for file in files | pads.files):
        return None
    first = pads.found[0]
    near = (each for each in pads.found if each.file is first.file)
    return min(near, key=lambda each: each.file.row(each.node))


def _trains(call: ast.Call, at: Place) -> bool:
    read = training_on(call, at)
    return read is not None and not (read.on_cpu or is_toy(at.file))


# PPF115: the sampler, or the loader that shuffles.


def _places(file: FileIndex) -> Iterator[Candidate]:
    for node, found in random_lengths(file.project).get(file.path, {}).items():
        statement = statement_around(file.tree, node)
        if statement is not None:
            yield Candidate(node, statement, found)


@rule(RULE.code, at=At.ANYWHERE, find=_places, claims=False, needs_kinds=False)
def length_groups(found: RandomLengths, context: Context) -> None:
    """Report a sampler that puts samples of any length into one batch."""
    padding, (call, place) = found.padding, found.sampler
    pads, draws = (padding.file.path, padding.file.row(padding.node)), (place.file.path, place.file.row(call))
    is_padding = context.node is not call
    others = [(each.place.file.path, each.place.file.row(each.call), "likewise") for each in found.others]
    other = (*draws, "draws samples of any length") if is_padding else (*pads, "pads each batch to its longest sample")
    has_helper = any(target.startswith("paddlenlp") for target in place.file.names.targets)
    context.report(
        RULE.words("helper" if has_helper else ""),
        related=tuple(Related(*each) for each in (other, *others)),
        message=RULE.texts["at the padding"] if is_padding else "",
        what=dotted(call.func) or "",
        pad=padding.text,
        place=context.where(*(draws if is_padding else pads)),
    )
