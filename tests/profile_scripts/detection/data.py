"""Images with one box each, enlarged and turned while they are read."""

import numpy as np
from paddle.io import Dataset


class Boxes(Dataset):
    def __init__(self, size, count=600):
        self.size = size
        self.images = np.random.randint(0, 256, (count, 3, size // 2, size // 2), "uint8")

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image = self.images[index].repeat(2, 1).repeat(2, 2).astype("float32")
        for shift in range(8):  # a blur that takes its time
            image = (image + np.roll(image, shift, 1) + np.roll(image, shift, 2)) / 3
        cells = self.size // 8
        target = (np.random.rand(cells, cells) > 0.9).astype("float32")
        return image / 255, target
