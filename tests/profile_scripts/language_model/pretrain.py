"""Train a small language model on made-up text: gradients are measured one by one, and each step is told."""

import argparse
import logging

import numpy as np
import paddle
from model import Model
from paddle.io import DataLoader, Dataset

logging.basicConfig(level=logging.INFO)
logger = logging.getLogger("pretrain")


class Text(Dataset):
    def __init__(self, length):
        self.tokens = np.random.randint(0, 200, (4000, length + 1))

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        return self.tokens[index, :-1], self.tokens[index, 1:]


def gradient_norm(model):
    total = 0.0
    for parameter in model.parameters():
        if parameter.grad is not None:
            total += float((parameter.grad**2).sum())  # mistake 2: a read of each gradient at each step
    return total**0.5


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--length", type=int, default=32)
    args = parser.parse_args()
    model = Model()
    optimizer = paddle.optimizer.AdamW(1e-3, parameters=model.parameters())
    loader = DataLoader(Text(args.length), batch_size=4, shuffle=True)
    for step, (tokens, labels) in enumerate(loader):
        logits = model(tokens)
        loss = paddle.nn.functional.cross_entropy(logits.reshape([-1, 200]), labels.reshape([-1]))
        loss.backward()
        norm = gradient_norm(model)
        optimizer.step()
        optimizer.clear_grad()
        logger.info("step %d: loss %.4f, norm %.3f", step, loss.item(), norm)  # mistake 3: at each step


if __name__ == "__main__":
    main()
