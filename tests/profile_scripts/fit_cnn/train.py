"""Classify images with paddle.Model: images are made in the training process, each batch is checked, saves are many."""

import numpy as np
import paddle
from paddle import nn
from paddle.io import Dataset


class Photos(Dataset):
    def __init__(self, count):
        self.photos = np.random.randint(0, 256, (count, 64, 64, 3), "uint8")

    def __len__(self):
        return len(self.photos)

    def __getitem__(self, index):
        photo = self.photos[index].astype("float64") / 255
        for _ in range(12):  # a filter that takes its time
            photo = (photo + np.roll(photo, 1, 0) + np.roll(photo, 1, 1)) / 3
        return photo.transpose(2, 0, 1).astype("float32"), np.int64(index % 10)


class Watch(paddle.callbacks.Callback):
    def on_train_batch_end(self, step, logs=None):
        for parameter in self.model.network.parameters():
            if float(parameter.abs().max()) > 1e3:  # mistake 2: a read of each parameter at each step
                raise RuntimeError("the weights explode")
        if step % 5 == 0:
            self.model.save("output/last")  # mistake 3: a save each five steps


network = nn.Sequential(
    nn.Conv2D(3, 8, 3, stride=2),
    nn.ReLU(),
    nn.Conv2D(8, 16, 3, stride=2),
    nn.ReLU(),
    nn.AdaptiveAvgPool2D(1),
    nn.Flatten(),
    nn.Linear(16, 10),
)
model = paddle.Model(network)
model.prepare(paddle.optimizer.Adam(parameters=network.parameters()), nn.CrossEntropyLoss())
model.fit(Photos(1000), batch_size=8, epochs=1, verbose=0, callbacks=[Watch()])  # mistake 1: no workers
