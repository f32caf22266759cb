"""Train a static graph: each batch is made between two steps, each loss is printed, and saves are many."""

import numpy as np
import paddle


def augment(sample):
    for shift in range(6):
        sample = (sample + np.roll(sample, shift)) / 2
    return sample


paddle.enable_static()
main, startup = paddle.static.Program(), paddle.static.Program()
with paddle.static.program_guard(main, startup):
    x = paddle.static.data("x", [None, 256], "float32")
    y = paddle.static.data("y", [None, 1], "int64")
    hidden = paddle.nn.Linear(256, 256)(x)
    logits = paddle.nn.Linear(256, 10)(paddle.nn.functional.relu(hidden))
    loss = paddle.nn.functional.cross_entropy(logits, y)
    paddle.optimizer.Adam(1e-3).minimize(loss)

exe = paddle.static.Executor(paddle.CPUPlace())
exe.run(startup)
samples = np.random.rand(2000, 256).astype("float32")
labels = np.random.randint(0, 10, (2000, 1))
for step in range(200):
    chosen = np.random.randint(0, 2000, 32)
    batch = np.stack([augment(samples[index]) for index in chosen])  # mistake 1: made in the training process
    (value,) = exe.run(main, feed={"x": batch, "y": labels[chosen]}, fetch_list=[loss])
    print(f"step {step}: loss {float(value):.4f}", flush=True)  # mistake 2: told at each step
    if step % 5 == 0:
        paddle.static.save(main, "output/model")  # mistake 3: a save each five steps
