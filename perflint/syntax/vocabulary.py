"""What names say of what has them: a loss, a model, a loader, a count of steps, the rank, evaluation, prediction.

``evaluates("val_loader")`` and ``evaluates("TestSet")`` hold, ``evaluates("latest")`` does not: words count from where
they begin.  Whoever wants to know what a name says asks here, so that a word that is added or taken out holds for all
rules.  Names of Paddle's own functions are no words: they stand where they are asked for.
"""

from __future__ import annotations

import re
from functools import lru_cache

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@lru_cache(16384)
def snake(name: str) -> str:
    """A name in lower case with its words apart: ``EvalNet`` is ``eval_net``; dots are left as they are."""
    return _CAMEL.sub("_", name).lower()


# -- what code is for: training, evaluation, prediction, trials --------------------------------------------------------

_DATA = r"(?:set|loader|data|ds|iter|reader|dl)"
_SHORT = r"(?:vals?|dev)"
"""``val`` and ``dev``: they begin a name, or stand beside a word for data; ``expected_val`` has a value in it."""
_EVALUATION = re.compile(
    rf"(?:^|_)(?:eval|valid|testing|tests?(?:$|_|\d|{_DATA}))"
    rf"|^{_SHORT}(?:$|_|\d)|(?:^|_){_SHORT}_?{_DATA}|(?:{_DATA}|run|do|for|is|on|epoch|step)_{_SHORT}$"
)
_PREDICTION = re.compile(
    rf"(?:^|_)(?:infer|predict|preds?(?:$|_?{_DATA})|export|deploy|serv(?:e|ing)(?:$|_)|demo|calib"
    r"|(?:ptq|quant_post|quant_error|post_quant|observer)(?:$|_))"
)
_SHOWING = re.compile(r"(?:^|_)(?:visual|rollout|collect|(?<!down_)(?<!up_)(?<!re_)(?<!sub_)samples?(?:$|_))")
_RETRIEVAL = re.compile(r"(^|_)(query|gallery)(_|\d|$)", re.IGNORECASE)
_SCORING = re.compile(r"(^|_)scor(e|ing)($|_)")
_MEASURING = re.compile(r"(^|_)(throughput|latency|speed)(_|$)", re.IGNORECASE)
_DECODING = re.compile(
    r"viterbi|beam|greedy|search|post_?process|generation|(^|_)(decode|generate|nms|track\w*)($|_)", re.IGNORECASE
)
_TRIAL = re.compile(r"(^|_)(bench\w*|profil\w*|debug\w*|test)($|_)", re.IGNORECASE)
_SELF_TEST = re.compile(r"(^|_)(unit_?test|smoke_?test|self_?test)s?($|_)", re.IGNORECASE)
_TEST_CODE = re.compile(r"^(tests?|.*_tests|test_.*|.*_test|alignment|reprod\w*|conftest|unittests?|ut|testing)$")
_OFFLINE = re.compile(
    r"^(deploy\w*|serving|inference|.*_?infer|infer_.*|.*_?predict|predict_.*|.*export.*|(.*_)?eval(uate|uation)?|eval_.*)$",
    re.IGNORECASE,
)
_EXPORT = re.compile(
    r"export|convert|torch2paddle|to_paddle|tracing|(^|_)(deploy\w*|serving|paddle_?serving|onnx\w*|paddle_?inference)($|_)",
    re.IGNORECASE,
)
_TRAINING = re.compile(
    r"(?<!pre)(?<!pre_)(?<!pre-)train(?!er|able)|(^|_)(trn|fit)(_|$)|fine_?tun|distill", re.IGNORECASE
)
_PART_OF_TRAINING = re.compile(r"\bfit\b|backward|minimize|optimi[sz]er|compress|search|learn_", re.IGNORECASE)
_TRAINING_CALL = re.compile(r"^(fit|train|finetune|fine_tune)($|_(one_)?(epoch|model|loop|network)$)")
_SETTING_UP = re.compile(r"^_*(init|reset|build|setup|load)")


@lru_cache(16384)
def evaluates(name: str) -> bool:
    """Whether a name says evaluation: ``evaluate``, ``val_loader``, ``testset``, ``DevReader``."""
    return bool(_EVALUATION.search(snake(name).rpartition(".")[2]))


@lru_cache(16384)
def predicts(name: str) -> bool:
    """Whether a name says prediction, or what goes before it: ``infer``, ``Predictor``, ``export_model``, ``ptq``."""
    return bool(_PREDICTION.search(snake(name).rpartition(".")[2]))


@lru_cache(16384)
def is_no_training(name: str) -> bool:
    """Whether a name says that something evaluates, predicts, shows or collects rather than trains."""
    last = snake(name).rpartition(".")[2]
    return not trains(last) and (evaluates(last) or predicts(last) or bool(_SHOWING.search(last)))


def trains(name: str) -> bool:
    """Whether a name says training (``train_epoch``, ``finetune``, ``distill``); ``pretrained`` does not."""
    return bool(_TRAINING.search(name))


def speaks_of_training(name: str) -> bool:
    """Whether a name may be one in a program that trains: also ``optimizer``, ``backward``, ``search``."""
    return trains(name) or bool(_PART_OF_TRAINING.search(name))


def calls_training(method: str) -> bool:
    """Whether a function of this name trains as a whole: ``fit``, ``train_one_epoch``."""
    return bool(_TRAINING_CALL.match(method))


def retrieves(name: str) -> bool:
    """Whether a name is that of a set on which a search is tried: ``gallery_loader``, ``query``."""
    return bool(_RETRIEVAL.search(name))


def scores(name: str) -> bool:
    """Whether a name says that something is scored: ``score``, ``scoring_loop``."""
    return bool(_SCORING.search(name))


def measures(name: str) -> bool:
    """Whether a name says that a model is timed: ``throughput``, ``measure_latency``."""
    return bool(_MEASURING.search(name))


def decodes(name: str) -> bool:
    """Whether a name says that results are picked from a model's outputs: ``BeamSearch``, ``post_process``, ``nms``."""
    return bool(_DECODING.search(name))


def is_trial(name: str) -> bool:
    """Whether a function's name says that it tries, times or watches something: ``test``, ``benchmark_model``."""
    return bool(_TRIAL.search(name))


def tests_itself(name: str) -> bool:
    """Whether a function's name says that it only tests the code around it: ``unittest``, ``smoke_test``."""
    return bool(_SELF_TEST.search(name))


def is_test_code(part: str) -> bool:
    """Whether a part of a module's name says that it holds tests."""
    return bool(_TEST_CODE.match(part))


def is_offline(part: str) -> bool:
    """Whether a part of a module's name says that it evaluates, predicts, exports or serves."""
    return bool(_OFFLINE.match(part))


def exports(name: str) -> bool:
    """Whether a name says that a model is exported, converted or served: ``export_model``, ``deploy``, ``to_onnx``."""
    return bool(_EXPORT.search(name))


def sets_up(function: str) -> bool:
    """Whether a function's name says that it runs once, before the steps: ``_init_state``, ``reset``."""
    return bool(_SETTING_UP.search(function))


# -- what a value is: a model, a loss, data, a metric, settings --------------------------------------------------------

_NETWORK = r"model|net|network|generator|discriminator|backbone|encoder|decoder|student|teacher|net_?[GD]\w*"
_PART = r"(_?(fn|func|function|layer|op|[GDABgdab12]|\d))?$"
_MODEL = re.compile(rf"^(\w*_)?({_NETWORK}){_PART}")
_CRITERION = re.compile(rf"^(\w*_)?(criterion|loss|losses){_PART}")
_MAKING = re.compile(r"^(build|create|get|load|init|make|save|export|set|count|print|freeze|convert|define)_")
_SCHEDULERS = ("sched", "lr", "prof", "env", "bar", "timer", "warmup")
_LOSS = re.compile(r"(^|_)(loss(es)?|loss_?dict|cost|avg_cost|logits?)(_|\d|$)|loss$|^loss", re.IGNORECASE)
_NO_LOSS = re.compile(
    r"meter|hist|list|record|log(?!its)|fn|func|name|weight|coef|lambda|item|value|avg|mean|sum|total_|tot_|scale|epoch"
    r"|key|type|cfg|config|path|file|str|msg|info|best|min|max|prev|last|num|count|np|layer|class",
    re.IGNORECASE,
)
_LOADER = re.compile(r"(data_?loader|_loader|^loader$|train_?loader|loader_\w+|dataloader)", re.IGNORECASE)
_NO_LOADER = re.compile(r"(load_|loader_(conf|config|cfg|args|param)|_fn$|builder)", re.IGNORECASE)
_BATCHES = re.compile(r"batch|load|reader|iter|dataset|(^|_)(data|ds|dl|gen|generator)($|_)", re.IGNORECASE)
_INPUT = re.compile(r"batch|data|input|sample|feed|image|img|label|target|feature", re.IGNORECASE)
_DRAWING = re.compile(r"^next$|(next|get|load|read|fetch|draw).*batch", re.IGNORECASE)
_METRIC = re.compile(
    r"metric|evaluator|(^|_)(acc|accuracy|auc|precisionk?|recallk?|f1|map|minp|eval_class)($|_|\d)", re.IGNORECASE
)
_METRIC_CODE = re.compile(r"(^|_)metrics?$", re.IGNORECASE)
_HITS = re.compile(
    r"(^|_)(acc|accuracy|precision|recall|f1|auc|top_?k|correct|iou|confusion|hits?|rank)($|_|\d)", re.IGNORECASE
)
_BOUNDED = re.compile(r"deque|Queue|SmoothedValue|Window", re.IGNORECASE)
_LOGGER = re.compile(r"(^|_|\.)(\w*logg?(er|ing|s)?)\d*(\(\))?$", re.IGNORECASE)
_SETTINGS = re.compile(r"(^|_)(args?|cfgs?|configs?|conf|opts?|options|h?params|flags|settings)($|_)", re.IGNORECASE)
_PICKING = re.compile(
    r"assign|match|(^|_)(sampl\w*|nms|propos\w*|anchor\w*|rpn|rcnn|gat(e|ing)|moe|rout(e|ing)|dispatch|hard_neg\w*"
    r"|ohem|mining|miner)($|_)"
)
_GIVEN = re.compile(
    r"class|vocab|categor|label|anchor|joint|keypoint|kpt|landmark|point|bins?($|_)|reg_max|action|obs|state_dim|mels?($|_)|freq"
    r"|n_fft|spec|token|embed_num|num_emb|node_num|user|item|field|feat_num|feature_num",
    re.IGNORECASE,
)


def means_model(name: str) -> bool:
    """Whether a name is that of a network: ``model``, ``net_G``, ``student_model``."""
    return bool(_MODEL.match(name))


def means_layer(name: str) -> bool:
    """Whether a name is that of something that is called with tensors: a network, or a ``criterion``, a ``loss_fn``."""
    return means_model(name) or bool(_CRITERION.match(name))


def means_scheduler(name: str) -> bool:
    """Whether the ``step`` of what has a name updates no weights: ``lr_scheduler``, ``profiler``, ``env``."""
    return any(word in name.lower() for word in _SCHEDULERS)


def means_scaler(name: str) -> bool:
    """Whether a name is that of a scaler of gradients."""
    return "scaler" in name.lower()


def makes(function: str) -> bool:
    """Whether a function's name says that it makes, reads or stores something: ``build_model``, ``save_net``."""
    return bool(_MAKING.match(function))


def means_loss(name: str) -> bool:
    """Whether a name alone suggests the loss tensor of a step (``loss``, ``loss_G``, ``losses``)."""
    last = name.rpartition(".")[2]
    return bool(_LOSS.search(last)) and not _NO_LOSS.search(last)


@lru_cache(8192)
def means_loader(name: str) -> bool:
    """Whether a name says that it holds batches (``train_loader``, ``dataloader``)."""
    return bool(_LOADER.search(name)) and not _NO_LOADER.search(name)


def means_batches(name: str) -> bool:
    """Whether a name may be that of something to draw batches from: ``reader``, ``data``, ``batches``."""
    return bool(_BATCHES.search(name))


def means_input(name: str) -> bool:
    """Whether a name is that of a batch, or of a part of one: ``images``, ``labels``."""
    return bool(_INPUT.search(name))


def draws_batch(function: str) -> bool:
    """Whether a function's name says that it gives the next batch: ``next``, ``get_batch``."""
    return bool(_DRAWING.search(function))


def means_metric(name: str) -> bool:
    """Whether a name is that of a metric: ``metric``, ``train_acc``, ``evaluator``."""
    return bool(_METRIC.search(name))


def speaks_of_metrics(name: str) -> bool:
    """Whether a class, or a module, may be there for evaluation, as far as its name tells."""
    return "metric" in name.lower() or "evaluat" in name.lower()


def is_metric_code(part: str) -> bool:
    """Whether a part of a module's name says that metrics are in it: ``metrics``, ``eval_metric``."""
    return bool(_METRIC_CODE.search(part))


def counts_hits(function: str) -> bool:
    """Whether a function's name says that it counts what is right: ``accuracy``, ``top_k``, ``iou``."""
    return bool(_HITS.search(snake(function)))


def is_bounded(text: str) -> bool:
    """Whether what makes a container says that it drops what is old: ``deque(maxlen=20)``, ``SmoothedValue()``."""
    return bool(_BOUNDED.search(text))


def means_logger(name: str) -> bool:
    """Whether a dotted name is that of a logger: ``logger``, ``self.log``, ``get_logger()``."""
    return bool(_LOGGER.search(name))


def means_settings(name: str) -> bool:
    """Whether a part of a dotted name is that of what the user chose: ``args``, ``self.cfg``."""
    return bool(_SETTINGS.search(name))


def picks(name: str) -> bool:
    """Whether a name in snake case says that boxes, tokens or experts are picked, whose number is the result."""
    return bool(_PICKING.search(name))


def is_given_by_data(name: str) -> bool:
    """Whether a name is that of a size that the data has: how many classes, words, points."""
    return bool(_GIVEN.search(name))


# -- what counts: steps, epochs, intervals, processes ------------------------------------------------------------------

_STEP = re.compile(
    r"(^|_)(i|j|it|iter|iters|iteration|iterations|itr|step|steps|batch|batch_?id|batch_?idx|batch_?index|idx|index"
    r"|n_?iter|niter|cnt|count|counter|num|total_iters|current_iter|global_step)($|_)",
    re.IGNORECASE,
)
_NO_STEP = re.compile(r"size|class|worker|type|mode|name|rank|gpu|device|dim|channel", re.IGNORECASE)
_EPOCH = re.compile(r"(^|_)(epoch|epochs|epo|ep|epoch_?id|epoch_?idx|pass_?id)($|_)", re.IGNORECASE)
_WITHIN_EPOCH = re.compile(r"iter|step|batch|per_epoch|each_epoch|len|size", re.IGNORECASE)
_ACCUMULATION = re.compile(r"accum|grad_acc|update_freq|acc_steps|gradient_acc", re.IGNORECASE)
_INTERVAL = re.compile(r"(^|_)(period|interval|patience|every|freq|frequency)($|_)", re.IGNORECASE)
_END = re.compile(
    r"(^|_)(last|final|end)($|_)|^(iters|steps|iterations)$|(iters?|steps?|batch(es)?)_per_\w+$"
    r"|(^|_)(max|total|num|n|all)_?(train_?)?(iters?|iterations?|steps?|batch(es)?|updates?)($|_)",
    re.IGNORECASE,
)
_START = re.compile(r"skip|warm|burn|ignore|delay|offset|(^|_)(start|begin|first|initial|profile)($|_)", re.IGNORECASE)
_RANK = re.compile(
    r"(^|_|local|global)rank|master|main_?(proc|card|node|worker|device|thread)|is_?main|is_?chief|trainer_?id|dev_?id"
    r"|device_?id|(gpu|card|node|proc|process|worker|local)_?(id|idx|index)($|_)|first_?worker|is_?primary|is_?first|is_?leader"
    r"|is_?root|is_?local|coordinator",
    re.IGNORECASE,
)
_WORLD = re.compile(
    r"world_?size|n_?ranks|num_?(trainers|gpus|cards|processes|workers|nodes)|n_?gpus?|device_?count", re.IGNORECASE
)
_PER_PROCESS = re.compile(
    r"rank|shard|(^|[^a-z])(mp|pp|tp|dp)($|[^a-z])|trainer_?id|worker|dev_?id|(gpu|card|local)_?id|getpid|uuid|hostname|mkdtemp",
    re.IGNORECASE,
)
_WORKERS = re.compile(r"worker", re.IGNORECASE)


def means_step(name: str) -> bool:
    """Whether a name counts steps: ``i``, ``global_step``, ``batch_id``; ``batch_size`` does not."""
    return bool(_STEP.search(name)) and not _NO_STEP.search(name)


def means_epoch(name: str) -> bool:
    """Whether a name counts epochs rather than steps."""
    return bool(_EPOCH.search(name)) and not _WITHIN_EPOCH.search(name)


def means_accumulation(name: str) -> bool:
    """Whether a name is that of a number of steps whose gradients are added up: ``accum_steps``."""
    return bool(_ACCUMULATION.search(name))


def means_interval(name: str) -> bool:
    """Whether a name is that of an interval: ``log_freq``, ``save_every``."""
    return bool(_INTERVAL.search(name))


def means_end(name: str) -> bool:
    """Whether a name is that of the last step, or of the number of all: ``max_steps``, ``iters_per_epoch``."""
    return bool(_END.search(name)) and not means_start(name)


def means_start(name: str) -> bool:
    """Whether a name is that of where the usual steps begin: ``skip_batches``, ``warmup_steps``."""
    return bool(_START.search(name))


def means_rank(name: str) -> bool:
    """Whether a name asks which process this is: ``local_rank``, ``is_master``, ``trainer_id``."""
    return bool(_RANK.search(name))


def counts_processes(name: str) -> bool:
    """Whether a name is that of a number of processes: ``world_size``, ``num_gpus``."""
    return bool(_WORLD.search(name))


def differs_between_processes(text: str) -> bool:
    """Whether a name, or a part of a path, has another value in each process: ``rank_{}``, ``getpid``."""
    return bool(_PER_PROCESS.search(text))


def means_workers(name: str) -> bool:
    """Whether a name is that of a number of workers."""
    return bool(_WORKERS.search(name))


# -- what a test asks for ----------------------------------------------------------------------------------------------

_RECORD = r"(save|log(?:ging)?|print|eval|record|report|display|checkpoint)"
_RARE_FLAG = re.compile(
    rf"(^|_)(debug|verbose|benchmark|(should|need|do)_{_RECORD}|is_({_RECORD}|last|first|end)\w*|log_now|print_now|first_(step|iter|batch)"
    rf"|last_(step|iter|batch)|every_n\w*|profil\w*|dry_run|dump\w*|visuali[sz]e|show_\w+"
    rf"|save_(edge|image|img|imgs|images|vis|fig|pred|preds|result|results|output|outputs|feat|feature|features))($|_)",
    re.IGNORECASE,
)
_STORE = re.compile(r"(list|history|buffer|cache|queue)$", re.IGNORECASE)
_RECORDING = re.compile(rf"(^|_){_RECORD}($|_)", re.IGNORECASE)
_MODE = re.compile(r"(^|_)(mode|phase|split|stage|subset)($|_)", re.IGNORECASE)
_SETTLED = re.compile(
    r"(^|_)(train|training|is_train|writer|logger|log|verbose|quiet|use_\w+|with_\w+|enable\w*|distributed|amp|fp16)($|_)",
    re.IGNORECASE,
)


def is_rarely_true(flag: str) -> bool:
    """Whether a flag is up at a few steps, or in a few runs: ``debug``, ``should_log``, ``is_last_step``."""
    return bool(_RARE_FLAG.search(flag))


def fills_up(name: str) -> bool:
    """Whether a name is that of what is empty at the start alone: ``loss_history``, ``buffer``."""
    return bool(_STORE.search(name))


def asks_to_record(name: str) -> bool:
    """Whether a field says that something is printed or saved at this step: ``status.save_checkpoint``."""
    return bool(_RECORDING.search(name))


def means_mode(name: str) -> bool:
    """Whether a name holds what a run, or a part of it, is for: ``mode``, ``split``."""
    return bool(_MODE.search(name))


def is_settled(parameter: str) -> bool:
    """Whether a parameter stays as it is while a program trains: the rank, what was chosen, what is written to."""
    asks = (means_rank, counts_processes, means_settings, means_mode)
    return bool(_SETTLED.search(parameter)) or any(ask(parameter) for ask in asks)
