"""What a training step does besides training: it keeps, sums up, measures, logs, saves, cleans up."""

from __future__ import annotations

from tests.programs.draft import Draft, Lines, inside
from tests.programs.effects import effect_in_log
from tests.programs.evaluations import evaluation
from tests.programs.logs import log, log_line
from tests.programs.sometimes import rebound_factor, sometimes
from tests.programs.watchers import watched_list, watched_sum

_REDUCE = """\
def reduce_mean(value, ranks=2):
    value.scale_(1.0 / ranks)
    return value
"""
SAMPLES = """\
class Samples(paddle.io.Dataset):
    def __init__(self, count):
        self.count = count

    def __getitem__(self, index):
        x = np.array([0.1 * index, 0.05 * (index % 7)], dtype='float32')
        return x, np.array([0.2 + 0.01 * index], dtype='float32')

    def __len__(self):
        return self.count
"""
_METER = """\
class Meter:
    def __init__(self):
        self.total = 0.0
        self.count = 0

    def update(self, value, count=1):
        self.total += {read} * count
        self.count += count

    @property
    def average(self):
        return self.total / max(self.count, 1)
"""
_READS = ("loss.item()", "float(loss)", "loss.item()", "loss.detach().item()", "float(loss.item())")
_ARRAYS = ("loss.numpy()", "float(loss.numpy())", "loss.numpy().item()", "loss.detach().numpy()")
_FACTORS = ("{} * x.shape[0]", "{} / len(loader)", "x.shape[0] * {}", "{} * 0.5", "{} * weight", "{} / 2")


def _read(draft: Draft) -> str:
    read = draft.one(_READS if draft.often(0.85) else _ARRAYS)
    if draft.often(0.25):
        read = draft.one(_FACTORS[: 1 if not draft.sized else None]).format(read)
        if "weight" in read:
            draft.top.append("weight = 0.5")
    return read


def running_sum(draft: Draft) -> Lines:
    """``total += loss.item()``, and what becomes of it."""
    name = draft.new("total", "running", "train_loss", "epoch_loss", "avg_loss")
    draft.start(f"{name} = {draft.one(('0.0', '0.0', '0', 'float(0)'))}")
    draft.running[name] = draft.one((name, f"{name} / 2", f"round({name}, 3)"))
    _use_sum(draft, name)
    read = _read(draft)
    if draft.often(0.1):
        return [f"{name} = {name} + {read}"]
    if draft.often(0.1):
        return inside(f"if {draft.one(('verbose', 'x.shape[0] > 1'))}:", [f"{name} += {read}"])
    return [f"{name} += {read}"]


def _use_sum(draft: Draft, name: str) -> None:
    for _ in range(draft.one((1, 1, 2))):
        use = draft.one(
            (
                [f"print('mean', {name} / 7)"],
                [f"print(f'sum {{{name}:.4f}}')"],
                [f"print('sum', {name})"],
                [f"print({name} > 0.1, isinstance({name}, float))"],
                [f"{name} /= 7", f"print({name})"],
                [f"mean = {name} / max(1, epoch + 3)", "print('mean %.6f' % mean)"],
                [f"history.append({name})"],
                [f"logger.info('epoch %d: %f', epoch, {name})"],
                [f"{name} = round({name}, 5)", f"print({name})"],
                [f"best = min(best, {name})"],
                [f"state['total'] = {name}"],
            )
        )
        draft.after += use
    if draft.often(0.3):
        draft.returned.append(name)


def list_of_losses(draft: Draft) -> Lines:
    """``losses.append(loss.item())``, and what becomes of it."""
    name = draft.new("losses", "batch_losses", "curve")
    draft.start(f"{name} = []")
    draft.running[name] = draft.one((f"{name}[-1]", f"len({name})", f"sum({name})"))
    draft.after += draft.one(
        (
            [f"print('mean', sum({name}) / max(1, len({name})))"],
            [f"print('last', {name}[-1:])"],
            [f"print({name})"],
            [f"print('%.5f' % float(np.mean({name} or [0.0])))"],
            [f"state['curve'] = {name}"],
            [f"history.extend({name})"],
        )
    )
    if draft.often(0.3):
        draft.returned.append(name)
    value = draft.one(
        (*_READS, *_READS, "loss.numpy()", "(epoch, loss.item())", "round(loss.item(), 4)", "loss.numpy().item()")
    )
    if draft.often(0.1):
        return [f"{name} += [{value}]"]
    return [f"{name}.append({value})"]


def smoothed(draft: Draft) -> Lines:
    """A running average, or the best value so far: each step needs the one before."""
    name = draft.new("smooth", "ema", "lowest")
    draft.start(f"{name} = {draft.one(('0.0', '1e9', 'None'))}")
    draft.after.append(f"print('{name}', {name})")
    if draft.before[-1:] == [f"{name} = None"] or draft.top[-1:] == [f"{name} = None"]:
        return [f"{name} = loss.item() if {name} is None else 0.9 * {name} + 0.1 * loss.item()"]
    return [draft.one((f"{name} = 0.9 * {name} + 0.1 * loss.item()", f"{name} = min({name}, float(loss))"))]


def several_reads(draft: Draft) -> Lines:
    """One value, read once or more, and used in more than one place."""
    name = draft.new("value", "loss_value", "current")
    total = draft.new("total", "seen_loss")
    values = draft.new("values", "kept")
    draft.start(f"{total} = 0.0")
    draft.start(f"{values} = []")
    draft.after += [f"print('sum', {total}, len({values}))", f"print({values}[-2:])"]
    return draft.one(
        (
            [f"{name} = loss.item()", f"{total} += {name}", f"{values}.append({name})"],
            [f"{total} += loss.item()", f"{values}.append(loss.item())"],
            [f"{name} = float(loss)", f"{total} += loss.item()", f"{values}.append({name})"],
            [f"{total} += loss.item()", f"{values}.append({total})"],
            [f"{total} += loss.item()", f"{values}.append(out.numpy().mean())"],
            [f"{total} += loss.item()", f"{values}.append(out[0].numpy().tolist())"],
            [f"{total} += loss.item()", f"{total} += float(out.mean())"],
        )
    )


def dead_read(draft: Draft) -> Lines:
    """A value that is read, and read or overwritten again."""
    name = draft.new("avg", "mean_loss")
    draft.start(f"{name} = 0.0")
    draft.after += draft.one(
        (
            [f"{name} = float({name})", f"{name} = 1.0", f"print({name})"],
            [f"{name} = float({name})", f"print({name})"],
            [f"{name} = {name} / 3", f"{name} = float({name})", f"print({name})"],
            [f"{name} = 0.0"],
        )
    )
    return [f"{name} += loss.item()"]


def meter(draft: Draft) -> Lines:
    """A meter of the program's own, which reads, or is handed what was read."""
    reads = draft.often(0.5)
    draft.helper("Meter", _METER.format(read=draft.one(("value.item()", "float(value)")) if reads else "value"))
    name = draft.new("meter", "loss_meter", "averager")
    draft.start(f"{name} = Meter()")
    draft.running[name] = f"{name}.average"
    draft.after.append(f"print('average', {name}.average)")
    if reads:
        return [f"{name}.update({draft.one(('loss', 'loss.detach()', 'loss, x.shape[0]'))})"]
    return [f"{name}.update({draft.one(('loss.item()', 'float(loss)', 'loss.item(), x.shape[0]'))})"]


def dict_log(draft: Draft) -> Lines:
    """Values in a dict."""
    name = draft.new("logs", "stats", "scalars")
    draft.start(f"{name} = {{'loss': 0.0, 'count': 0}}")
    draft.after.append(f"print(sorted({name}.items()))")
    draft.running[name] = draft.one((name, f"{name}['loss']"))
    return draft.one(
        (
            [f"{name}['loss'] = loss.item()"],
            [f"{name}['loss'] += loss.item()", f"{name}['count'] += 1"],
            [f"{name}.update(loss=float(loss))"],
            [f"{name}['step'] = {{'loss': loss.item()}}"],
        )
    )


def graph_growth(draft: Draft) -> Lines:
    """The loss itself is kept, and its graph with it."""
    name, other = draft.new("loss_sum", "sum_of_losses"), draft.new("kept_losses", "all_losses")
    draft.start(f"{name} = {draft.one(('0', '0.0', 'paddle.zeros([])'))}")
    draft.start(f"{other} = []")
    draft.after += [f"print('%.4f' % float({name}))", f"print(len({other}), [float(v) for v in {other}][-2:])"]
    return draft.one(
        (
            [f"{name} += loss"],
            [f"{name} = {name} + loss"],
            [f"{name} += loss", f"{other}.append(loss)"],
            [f"{other}.append(loss)"],
            [f"{other} += [loss]", f"{name} = {name} + loss * 0.5"],
            [f"{other}.append(loss * 2)", f"{name} += loss"],
        )
    )


def backward_later(draft: Draft) -> Lines:
    """A loss that goes into a backward pass of its own, at every second step."""
    name = draft.new("pending_loss", "owed")
    draft.before.append(f"{name} = 0.0")
    draft.after.append(f"print('{name}', float({name}))")
    added = draft.one((f"{name} = {name} + F.mse_loss(model(x), y)", f"{name} += F.mse_loss(model(x), y) * 0.5"))
    test = f"{draft.counter} % 2" if draft.counter else "x.shape[0] > 1"
    return [added, *inside(f"if {test}:", [f"{name}.backward()", f"{name} = 0.0"])]


def sliced(draft: Draft) -> Lines:
    """Slices of the output, read one by one."""
    name = draft.new("rows", "scores")
    draft.start(f"{name} = []")
    draft.after.append(f"print(len({name}), {name}[-2:])")
    value = draft.one(
        (
            "float(out[row, 0])",
            "out[row].numpy()",
            "out[row].numpy().tolist()",
            "out[row].tolist()",
            "int(out[row, 0])",
            "out[row, 0].item()",
        )
    )
    if draft.often(0.3):
        return [f"{name} += [{value} for row in range(out.shape[0])]"]
    return inside("for row in range(out.shape[0]):", [f"{name}.append({value})"])


def changed_afterwards(draft: Draft) -> Lines:
    """The loss is changed in place after everything else has seen it."""
    draft.helper("reduce_mean", _REDUCE)
    return draft.one(
        (
            ["loss.zero_()"],
            ["loss.scale_(2.0)"],
            ["loss.clip_(0.0, 0.01)"],
            ["loss = reduce_mean(loss)"],
            ["reduce_mean(loss)"],
            ["loss.fill_(7.0)"],
            ["loss.clear_gradient()"],
            ["loss.set_value(loss * 2)"],
            ["with paddle.no_grad():", "    loss.add_(loss)"],
            ["for tensor in (loss, out):", "    tensor.zero_()"],
            ["pair = [loss]", "pair[0].zero_()"],
            ["same = loss", "same.scale_(3.0)"],
            ["del loss"],
        )
    )


def constants(draft: Draft) -> Lines:
    """Tensors made of literals at each step."""
    name = draft.new("scale", "offset")
    literal = draft.one(
        (
            "0.5",
            "[0.5, 0.5]",
            "1",
            "[1, 1]",
            "True",
            "0.5, dtype='float64'",
            "[[0.25], [0.25]]",
            "2.0, stop_gradient=True",
        )
    )
    use = draft.one(
        (
            [],
            [f"{name}.fill_(3)"] if "True" not in literal else [],
            [f"print({name}.dtype, {name}.shape)"],
            *_seen_gradient(name),
        )
    )
    draft.after.append(f"print({name})")
    draft.before.append(f"{name} = None")
    return [f"{name} = paddle.to_tensor({literal})", *use]


def round_trip(draft: Draft) -> Lines:
    """To the host and back."""
    name = draft.new("target", "frozen")
    draft.before.append(f"{name} = None")
    draft.after.append(f"print({name})")
    value = draft.one(
        (
            "paddle.to_tensor(out.numpy())",
            "paddle.to_tensor(out.numpy()).astype('float32')",
            "paddle.to_tensor(np.array(out.numpy()))",
            "paddle.to_tensor(np.array(out.numpy(), dtype='float32'))",
            "paddle.to_tensor(np.ascontiguousarray(out.detach().numpy()))",
            "paddle.to_tensor(np.asarray(F.relu(out).numpy()))",
            "paddle.to_tensor(F.relu(out).numpy())",
            "paddle.to_tensor(out.numpy().astype('float32'))",
            "paddle.to_tensor(np.array([0.5])).astype('float32')",
            "paddle.to_tensor(out.detach().numpy(), dtype='float32')",
            "paddle.to_tensor(loss.numpy())",
            "paddle.to_tensor(loss.item())",
            "paddle.to_tensor([loss.item()])",
        )
    )
    return [
        f"{name} = {value}",
        *draft.one(([], [f"{name}.zero_()"], ["out.zero_()"], [f"{name} = {name} + 1"], *_seen_gradient(name))),
    ]


def only_use(draft: Draft) -> Lines:
    """A round trip to the host that may be all that a file needs NumPy for, or Paddle."""
    name = draft.new("soft", "teacher")
    draft.after.append(f"print('{name}', {name} is None or {name}.shape)")
    draft.before.append(f"{name} = None")
    array = draft.one(("np.array({})", "np.asarray({})", "np.ascontiguousarray({})", "{}"))
    given = draft.one(("out.numpy()", "F.relu(out).numpy()", "out.detach().numpy()"))
    return [f"{name} = paddle.to_tensor({array.format(given)})"]


def _seen_gradient(name: str) -> list[Lines]:
    """Lines that show whether gradients flow through a tensor."""
    return [[f"print('{name}', {name}.stop_gradient)"], [f"state['{name}'] = {name}.stop_gradient"]]


def clean_up(draft: Draft) -> Lines:
    """What frees memory, or waits."""
    draft.imports |= {"import gc", "import time"}
    return draft.one(
        (
            ["gc.collect()"],
            ["paddle.device.cuda.empty_cache()"],
            ["time.sleep(0)"],
            ["if paddle.is_compiled_with_cuda():", "    paddle.device.synchronize()"],
            ["del out", "gc.collect()  # free what the step has left"],
            ["freed = gc.collect()"],
            ["gc.collect(); print('freed')"],
            ["gc.collect(); paddle.device.cuda.empty_cache()"],
        )
    )


def checkpoint(draft: Draft) -> Lines:
    """A checkpoint at each step, or at each epoch."""
    if draft.often(0.5):
        draft.last += draft.one(
            (
                ["paddle.save(model.state_dict(), f'epoch{epoch}.pdparams')"],
                ["paddle.save(model.state_dict(), 'last.pdparams')"],
                ["paddle.save({'model': model.state_dict(), 'epoch': epoch}, 'last.pdckpt')"],
            )
        )
        return []
    if not draft.counter:
        return ["paddle.save(model.state_dict(), 'latest.pdparams')"]
    return draft.one(
        (
            ["paddle.save(model.state_dict(), 'latest.pdparams')"],
            inside(
                f"if {draft.counter} % 5 == 4:",
                [f"paddle.save(model.state_dict(), f'step{{{draft.counter}}}.pdparams')"],
            ),
        )
    )


def early_exit(draft: Draft) -> Lines:
    """The loop ends before the data does."""
    tests = ["loss.item() < 0.001", "float(loss) > 1e6", "loss < 0.002"]
    if draft.counter:
        tests += [f"{draft.counter} == 7", f"{draft.counter} >= 13", f"{draft.counter} + 1 >= 11"]
    else:
        draft.before.append("done = 0")
        return ["done += 1", *inside("if done > 9:", ["break"])]
    ends = [["break"], ["break"], ["continue"], ["print('enough')", "break"]]
    if draft.often(0.2) and draft.layout != "script":
        ends = [["return history"]]
    return inside(f"if {draft.one(tests)}:", draft.one(ends))


def accuracy(draft: Draft) -> Lines:
    """How many are right, as a count that is read, or by a metric."""
    name = draft.new("correct", "right")
    draft.start(f"{name} = 0")
    draft.after.append(f"print('right', {name})")
    return draft.one(
        (
            [f"{name} += (out > y).sum().item()"],
            [f"{name} += int((out > y).sum())"],
            [f"{name} += (out > y).astype('float32').mean().item()"],
            [f"{name} += float((out > y).sum())"],
            [f"{name} += (out > y).sum().numpy()"],
        )
    )


def metric(draft: Draft) -> Lines:
    """Paddle's own metric."""
    name = draft.new("metric", "accuracy")
    draft.start(f"{name} = paddle.metric.Accuracy()")
    draft.after.append(f"print('accuracy', {name}.accumulate())")
    return [f"{name}.update({name}.compute(out, (y > 0).astype('int64')))"]


def logged(draft: Draft) -> Lines:
    """One or more log lines."""
    return log(draft)


def inner_loop(draft: Draft) -> Lines:
    """A loop within the step."""
    name = draft.new("parts", "heads")
    draft.after.append(f"print('{name}', {name})")
    draft.before.append(f"{name} = 0.0")
    body = draft.one(
        (
            [f"{name} += (out * k).mean().item()"],
            [f"{name} += float(out.mean()) * k"],
            [*log_line(draft, "k")],
            [f"{name} += loss.item()"],
        )
    )
    return inside("for k in range(2):", body)


def yielded(draft: Draft) -> Lines:
    """The training hands values out as it goes."""
    value = draft.one(["loss.item()", *draft.running, *draft.running])
    return [f"yield {value}"] if draft.layout == "function" else []


def reported(draft: Draft) -> Lines:
    """A running value that an inner function reads."""
    if not draft.running:
        return []
    name = draft.one(sorted(draft.running))
    report = draft.new("report", "show_values")
    draft.after += [*inside(f"def {report}():", [f"print('reported', {draft.running[name]})"]), f"{report}()"]
    return []


def parallel(draft: Draft) -> Lines:
    """Training on several cards, which saves on each of them."""
    draft.top += ["paddle.distributed.init_parallel_env()", "model = paddle.DataParallel(model)"]
    draft.last.append("paddle.save(model.state_dict(), 'final.pdparams')")
    return []


def second_loader(draft: Draft) -> Lines:
    """Other data, of which each step takes the first batch."""
    draft.helper("Samples", SAMPLES)
    draft.top.append("others = paddle.io.DataLoader(Samples(6), batch_size=2)")
    return ["x2, y2 = next(iter(others))", "loss = loss + F.mse_loss(model(x2), y2)"]


STEP = (
    (backward_later, 1),
    (only_use, 5),
    (watched_list, 12),
    (watched_sum, 9),
    (sometimes, 8),
    (rebound_factor, 8),
    (effect_in_log, 6),
    (yielded, 1),
    (reported, 1),
    (parallel, 1),
    (running_sum, 10),
    (list_of_losses, 8),
    (smoothed, 2),
    (several_reads, 4),
    (dead_read, 2),
    (meter, 3),
    (dict_log, 2),
    (graph_growth, 4),
    (sliced, 3),
    (constants, 3),
    (round_trip, 6),
    (clean_up, 4),
    (checkpoint, 2),
    (early_exit, 4),
    (accuracy, 3),
    (metric, 1),
    (evaluation, 8),
    (logged, 14),
    (inner_loop, 2),
    (changed_afterwards, 5),
)
"""The pieces, with how often each is taken."""
