"""A small language model."""

import numpy as np
import paddle
from paddle import nn


class Block(nn.Layer):
    def __init__(self, width, heads):
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiHeadAttention(width, heads)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        length = x.shape[1]
        mask = paddle.to_tensor(np.triu(np.full((length, length), -1e9, "float32"), 1))  # mistake 1: made at each step
        normed = self.first(x)
        x = x + self.attention(normed, normed, normed, mask)
        return x + self.narrow(nn.functional.gelu(self.wide(self.second(x))))


class Model(nn.Layer):
    def __init__(self, words=200, width=48, layers=3):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.blocks = nn.LayerList([Block(width, 4) for _ in range(layers)])
        self.head = nn.Linear(width, words)

    def forward(self, tokens):
        x = self.words(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)
