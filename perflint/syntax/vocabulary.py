"""Guesses from a name what it means: a loss, a model, a loader, a step count, the rank, evaluation, prediction.

``evaluates("val_loader")`` and ``evaluates("TestSet")`` are true, ``evaluates("latest")`` is not: the pattern has to
match at the beginning of a word in the name. All code that interprets names uses this module, so that an added or
removed word applies to all rules. The names of Paddle's own functions are in the modules that need them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@lru_cache(16384)
def snake(name: str) -> str:
    """A name in snake case: ``EvalNet`` becomes ``eval_net``; dots are unchanged."""
    return _CAMEL.sub("_", name).lower()


def _asks(words: str, unless: str = "", flags: int = re.IGNORECASE) -> Callable[[str], bool]:
    """A test of a name: whether a pattern is found in it, and the pattern ``unless`` is not."""
    found, denied = re.compile(words, flags), re.compile(unless, flags) if unless else None
    return lru_cache(4096)(lambda name: bool(found.search(name)) and not (denied and denied.search(name)))


def _says(words: str) -> Callable[[str], bool]:
    """A test of the words of a name, in snake case: whether a pattern is found where one of them begins."""
    asks = _asks(rf"(?<![a-z])(?:{words})", flags=0)
    return lru_cache(4096)(lambda name: asks(snake(name)))


def _means(words: re.Pattern[str]) -> Callable[[str], bool]:
    """A test of the last part of a dotted name, in snake case: whether a pattern is found in it."""
    return lru_cache(16384)(lambda name: bool(words.search(snake(name).rpartition(".")[2])))


# -- what code is for: training, evaluation, prediction, trials --------------------------------------------------------

_DATA = r"(?:set|loader|data|ds|iter|reader|dl)"
_SHORT = r"(?:vals?|dev)"
"""``val`` and ``dev``: at the beginning of a name, or next to a word for data; in ``expected_val`` it means a value."""
_EVALUATION = re.compile(
    rf"(?:^|_)(?:eval|valid|testing|tests?(?:$|_|\d|{_DATA}))"
    rf"|^{_SHORT}(?:$|_|\d)|(?:^|_){_SHORT}_?{_DATA}|(?:{_DATA}|run|do|for|is|on|epoch|step)_{_SHORT}$"
)
_CALIBRATION = r"(?:^|_)(?:calib|(?:ptq|quant_(?:post|error|recon)|post_(?:training_)?quant\w*|observer)(?:$|_))"
_PREDICTION = re.compile(
    rf"(?:^|_)(?:infer|predict|preds?(?:$|_?{_DATA})|export|deploy|serv(?:e|ing)(?:$|_)|demo)|{_CALIBRATION}"
)
_SHOWING = re.compile(r"(?:^|_)(?:visual|explain|rollout|collect|(?<!down_)(?<!up_)(?<!re_)(?<!sub_)samples?(?:$|_))")


evaluates = _means(_EVALUATION)
"""Whether a name means evaluation: ``evaluate``, ``val_loader``, ``testset``, ``DevReader``."""

predicts = _means(_PREDICTION)
"""Whether a name means prediction, or a preparation for it: ``infer``, ``Predictor``, ``export_model``, ``ptq``."""

calibrates = _means(re.compile(_CALIBRATION))
"""Whether a name means that a trained model is run on a few batches, to be quantized: ``calibrate``, ``ptq``."""


samples = _says(r"r?sample(?:$|_)")
"""Whether a name means to draw samples: ``sample``, ``rsample``, ``_sample_noise``; not ``upsample``, ``Sampler``."""


@lru_cache(16384)
def is_no_training(name: str) -> bool:
    """Whether a name means that something evaluates, predicts, shows or collects rather than trains."""
    last = snake(name).rpartition(".")[2]
    return not trains(last) and (evaluates(last) or predicts(last) or bool(_SHOWING.search(last)))


_TRAINING = r"(?<!pre_)(?<!pre-)(?<!post_)(?:is|re)?train(?!er|able)|(?:trn|fit)(?:_|$)|fine_?tun|distill"
trains = _says(_TRAINING)
"""Whether a name means training (``train_epoch``, ``finetune``); ``pretrained`` and ``constraint`` do not."""

speaks_of_training = _says(rf"{_TRAINING}|fit\b|backward|minimize|optimi[sz]er|compress|search|learn_")
"""Whether a name may occur in a program that trains: also ``optimizer``, ``backward``, ``search``."""

calls_training = _asks(r"^(fit|train|finetune|fine_tune)($|_(one_)?(epoch|model|loop|network)$)", flags=0)
"""Whether a function with this name is a whole training: ``fit``, ``train_one_epoch``."""

retrieves = _asks(r"(^|_)(query|gallery)(_|\d|$)")
"""Whether a name means a data set for retrieval: ``gallery_loader``, ``query``."""

scores = _asks(r"(^|_)scor(e|ing)($|_)", flags=0)
"""Whether a name means that something is scored: ``score``, ``scoring_loop``."""

measures = _asks(r"(^|_)(throughput|latency|speed)(_|$)")
"""Whether a name means that a model is timed: ``throughput``, ``measure_latency``."""

decodes = _says(
    r"viterbi|beam|greedy|(?<!neighbor_)(?<!neighbors_)(?<!neighbour_)search|post_?process|generation"
    r"|(?:decode|generate|nms|track\w*)(?:$|_)"
)
"""Whether a name means that results are selected from a model's outputs: ``BeamSearch``, ``post_process``, ``nms``.

A ``neighbor_search`` does not count: it is part of a model.
"""

is_trial = _asks(r"(^|_)(bench\w*|profil\w*|debug\w*|test)($|_)")
"""Whether a function's name means that it tests, times or watches something: ``test``, ``benchmark_model``."""

tests_itself = _asks(r"(^|_)(unit_?test|smoke_?test|self_?test)s?($|_)")
"""Whether a function's name means that it only tests the code around it: ``unittest``, ``smoke_test``."""

is_test_code = _asks(r"^(tests?|.*_tests|test_.*|.*_test|alignment|reprod\w*|conftest|unittests?|ut|testing)$", flags=0)
"""Whether a part of a module's name means that it contains tests."""

is_offline = _asks(
    r"^(deploy\w*|serving|inference|.*_?infer|infer_.*|.*_?predict|predict_.*|.*export.*|(.*_)?eval(uate|uation)?|eval_.*)$"
)
"""Whether a part of a module's name means that it evaluates, predicts, exports or serves."""

exports = _says(
    r"export|convert|torch2paddle|to_paddle|tracing|onnx|(?:deploy\w*|serving|paddle_?serving|paddle_?inference)(?:$|_)"
)
"""Whether a name means that a model is exported, converted or served: ``export_model``, ``deploy``, ``to_onnx``."""

sets_up = _asks(r"^_*(init|reset|build|setup|load)", flags=0)
"""Whether a function's name means that it runs once, before the steps: ``_init_state``, ``reset``."""


# -- what a value is: a model, a loss, data, a metric, settings --------------------------------------------------------

_NETWORK = r"model|net|network|generator|discriminator|backbone|encoder|decoder|student|teacher|net_?[GD]\w*"
_PART = r"(_?(fn|func|function|layer|op|[GDABgdab12]|\d))?$"
_LOSS = re.compile(r"(^|_)(loss(es)?|loss_?dict|cost|avg_cost|logits?)(_|\d|$)|loss$|^loss", re.IGNORECASE)
_NO_LOSS = _says(
    r"(?:loss(?:es)?)?(?:meter|hist|list|record|log(?!its)|fn|func|name|weight|coef|lambda|item|value|avg|mean|sum|total_|tot_"
    r"|scale|epoch|key|type|cfg|config|path|file|str|msg|info|best|min|max|prev|last|num|count|np|layer|class)"
    # seconds
    r"|(?:reader|batch|run|time|infer|io|data|step|preprocess|postprocess)_?cost|cost_?(?:time|averager)"
)

means_model = _asks(rf"^(\w*_)?({_NETWORK}){_PART}", flags=0)
"""Whether a name means a network: ``model``, ``net_G``, ``student_model``."""

runs_forward = _asks(
    r"^((compute_|get_)?loss|(en|de)code(_\w+)?|forward_\w+|extract_\w+|get_\w*(feat|embed)\w*|\w+_step)$", flags=0
)
"""Whether a method with this name runs its network: ``model.compute_loss(x, y)``, ``model.encode(x)``."""

means_layer = _asks(rf"^(\w*_)?({_NETWORK}|criterion|loss|losses){_PART}", flags=0)
"""Whether a name means something that is called with tensors: a network, or a ``criterion``, a ``loss_fn``."""

means_scheduler = _says(r"sched|lr|learning_rate|prof|env|(?:p|prog|progress)?bar|timer|warmup")
"""Whether a name means that ``step`` does not update weights: ``lr_scheduler``, ``profiler``, ``env``."""

means_scaler = _says(r"(?:grad|amp)?scaler")
"""Whether a name means a gradient scaler."""

means_optimizer = _asks(r"optim|(^|_)opts?($|_|[A-Z\d])", flags=0)
"""Whether a name means one or more optimizers: ``optimizer_d``, ``optG``, ``optim``, ``optimizers``."""

means_parameters = _asks(r"(^|_)(param(eter)?s?|weights)($|_|\d)")
"""Whether a name means the parameters of a network: ``params``, ``parameters_to_clip``."""

makes = _asks(r"^(build|create|get|load|init|make|save|export|set|count|print|freeze|convert|define)_", flags=0)
"""Whether a function's name means that it creates, reads or stores something: ``build_model``, ``save_net``."""


def means_loss(name: str) -> bool:
    """Whether a name alone suggests the loss tensor of a step (``loss``, ``loss_G``, ``losses``)."""
    last = name.rpartition(".")[2]
    return bool(_LOSS.search(last)) and not _NO_LOSS(last)


means_loader = _asks(
    r"(data_?loader|_loader|^loader$|train_?loader|loader_\w+|dataloader)",
    unless=r"(load_|loader_(conf|config|cfg|args|param)|_fn$|builder)",
)
"""Whether a name means an object with batches (``train_loader``, ``dataloader``)."""

means_batches = _says(
    rf"(?:mini|micro)?batch|load|reader|iter|(?:data|train|valid|val|test|eval)+_?{_DATA}|(?:data|ds|dl|gen|generator)(?:$|_)"
)
"""Whether a name may mean something that yields batches: ``reader``, ``data``, ``batches``."""

means_input = _says(
    r"(?:mini|micro|multi|train|test|src|raw)?(?:batch|data|input|sample|feed|image|img|label|target|feature)"
)
"""Whether a name means a batch, or a part of one: ``images``, ``labels``."""

draws_batch = _asks(r"^next$|(next|get|load|read|fetch|draw).*batch")
"""Whether a function's name means that it returns the next batch: ``next``, ``get_batch``."""

means_metric = _says(r"metric|evaluator|(?:acc|accuracy|auc|precisionk?|recallk?|f1|m_?ap|m_?inp|eval_class)(?:$|_|\d)")
"""Whether a name means a metric: ``metric``, ``train_acc``, ``evaluator``."""

speaks_of_metrics = _says(r"metric|evaluat")
"""Whether a class or a module may be for evaluation, judging by its name."""

is_metric_code = _asks(r"(^|_)metrics?$")
"""Whether a part of a module's name means that it contains metrics: ``metrics``, ``eval_metric``."""

counts_hits = _says(r"(?:acc|accuracy|precision|recall|f1|auc|top_?k|correct|iou|confusion|hits?|rank)(?:$|_|\d)")
"""Whether a function's name means that it counts correct results: ``accuracy``, ``top_k``, ``iou``."""

is_bounded = _says(r"deque|queue|smoothed_value|window")
"""Whether a container's constructor means that old items are dropped: ``deque(maxlen=20)``, ``SmoothedValue()``."""

means_logger = _asks(r"(^|_|\.)(\w*logg?(er|ing|s)?)\d*(\(\))?$")
"""Whether a dotted name means a logger: ``logger``, ``self.log``, ``get_logger()``."""

means_settings = _asks(r"(^|_)(args?|cfgs?|configs?|conf|opts?|options|h?params|flags|settings)($|_)")
"""Whether a part of a dotted name means the user's settings: ``args``, ``self.cfg``."""

picks = _says(
    r"assign|match|(?:sampl\w*|nms|propos\w*|anchor\w*|rpn|rcnn|gat(?:e|ing)|moe|rout(?:e|ing)|dispatch|hard_neg\w*"
    r"|ohem|mining|miner)(?:$|_)"
)
"""Whether a name means that boxes, tokens or experts are selected, whose number is part of the result."""

is_given_by_data = _says(
    r"(?:n|num)?(?:class|vocab|categor|label|anchor|joint|keypoint|kpt|landmark|point|bins?(?:$|_)|reg_max|action|obs|state_dim"
    r"|mels?(?:$|_)|freq|n_fft|spec|token|embed_num|num_emb|node_num|user|item|field|feat_num|feature_num)"
)
"""Whether a name means a size of the data: how many classes, words, points."""


# -- what counts: steps, epochs, intervals, processes ------------------------------------------------------------------

_START = r"skip|warm|burn|ignore|delay|offset|(^|_)(start|begin|first|initial|profile)($|_)"


means_step = _asks(
    r"(^|_)(i|j|it|iter|iters|iteration|iterations|itr|step|steps|batch|batch_?id|batch_?idx|batch_?index|idx|index"
    r"|n_?iter|niter|cnt|count|counter|num|total_iters|current_iter|global_step)($|_)",
    unless=r"size|class|worker|type|mode|name|rank|gpu|device|dim|channel",
)
"""Whether a name counts steps: ``i``, ``global_step``, ``batch_id``; ``batch_size`` does not."""

means_epoch = _asks(
    r"(^|_)(epoch|epochs|epo|ep|epoch_?id|epoch_?idx|pass_?id)($|_)",
    unless=r"iter|step|batch|per_epoch|each_epoch|len|size",
)
"""Whether a name counts epochs rather than steps."""

means_accumulation = _says(r"accum|grad_acc|update_freq|acc_steps|gradient_acc")
"""Whether a name means the number of steps whose gradients are accumulated: ``accum_steps``."""

means_interval = _asks(r"(^|_)(period|interval|patience|every|freq|frequency)($|_)")
"""Whether a name means an interval: ``log_freq``, ``save_every``."""

means_end = _asks(
    r"(^|_)(last|final|end)($|_)|^(iters|steps|iterations)$|(iters?|steps?|batch(es)?)_per_\w+$"
    r"|(^|_)(max|total|num|n|all)_?(train_?)?(iters?|iterations?|steps?|batch(es)?|updates?)($|_)",
    unless=_START,
)
"""Whether a name means the last step, or the number of all steps: ``max_steps``, ``iters_per_epoch``."""

means_start = _asks(_START)
"""Whether a name means the step where the usual steps begin: ``skip_batches``, ``warmup_steps``."""

means_rank = _says(
    r"(?:local|global)?rank|master|main_?(proc|card|node|worker|device|thread)|is_?main|is_?chief|trainer_?id|dev_?id"
    r"|device_?id|(?:gpu|card|node|proc|process|worker|local)_?(?:id|idx|index)(?:$|_)|first_?worker|is_?primary|is_?first|is_?leader"
    r"|is_?root|is_?local|coordinator"
)
"""Whether a name means the number or role of this process: ``local_rank``, ``is_master``, ``trainer_id``."""

counts_processes = _says(
    r"world_?size|n_?ranks|num_?(trainers|gpus|cards|processes|workers|nodes)|n_?gpus?|device_?count"
)
"""Whether a name means the number of processes: ``world_size``, ``num_gpus``."""

differs_between_processes = _asks(
    r"(?<![a-z])(?:local|global|n|get)?_?rank|(?<![a-z])shard|(^|[^a-z])(mp|pp|tp|dp)($|[^a-z])|trainer_?id|worker|dev_?id|(gpu|card|local)_?id|getpid|uuid|hostname|mkdtemp"
)
"""Whether a name, or a part of a path, has another value in each process: ``rank_{}``, ``getpid``."""


# -- what a test asks for ----------------------------------------------------------------------------------------------

_RECORD = r"(save|log(?:ging)?|print|eval|record|report|display|checkpoint)"
_SETTLED = re.compile(
    r"(^|_)(train|training|is_train|writer|logger|log|verbose|quiet|use_\w+|with_\w+|enable\w*|distributed|amp|fp16)($|_)",
    re.IGNORECASE,
)

is_rarely_true = _asks(
    rf"(^|_)(debug|verbose|benchmark|(should|need|do)_{_RECORD}|is_({_RECORD}|last|first|end)\w*|log_now|print_now|first_(step|iter|batch)"
    rf"|last_(step|iter|batch)|every_n\w*|profil\w*|dry_run|dump\w*|visuali[sz]e|show_\w+"
    rf"|save_(edge|image|img|imgs|images|vis|fig|pred|preds|result|results|output|outputs|feat|feature|features))($|_)"
)
"""Whether a flag is set only at a few steps, or in a few runs: ``debug``, ``should_log``, ``is_last_step``."""

fills_up = _asks(r"(list|history|buffer|cache|queue)$")
"""Whether a name means something that is empty only at the start: ``loss_history``, ``buffer``."""

asks_to_train = _asks(r"^_*(is_?|in_?)?(train|training)(_?mode)?$")
"""Whether a name means a flag that is set while a program trains: ``training``, ``is_train``."""

asks_to_record = _asks(rf"(^|_){_RECORD}($|_)")
"""Whether a field means that something is printed or saved at this step: ``status.save_checkpoint``."""

means_mode = _asks(r"(^|_)(mode|phase|split|stage|subset)($|_)")
"""Whether a name means the purpose of a run or of a part of it: ``mode``, ``split``."""


def is_settled(parameter: str) -> bool:
    """Whether a parameter does not change while a program trains: the rank, a setting, an output."""
    asks = (means_rank, counts_processes, means_settings, means_mode)
    return bool(_SETTLED.search(parameter)) or any(ask(parameter) for ask in asks)


LOGGER_METHODS = frozenset({"info", "warning", "warn", "error", "critical", "log", "print", "train", "write"})
PROGRESS = frozenset({"set_postfix", "set_postfix_str", "set_description", "set_description_str"})
RECORDERS = frozenset(
    {"add_scalar", "add_scalars", "add_histogram", "add_image", "add_images", "add_text", "add_figure", "add_hparams"}
    | {"log_metric", "log_metrics", "log_scalar"}
)
PRINTS = frozenset({"print", "pprint"})
LOGGING = LOGGER_METHODS | PROGRESS | RECORDERS | PRINTS
"""The last names of all calls that log."""
