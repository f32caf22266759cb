"""A bag-of-words text classifier on the high-level API, paddle.Model.

The sentences are generated, so it trains anywhere in seconds:

    python examples/text_classifier.py --epochs 1 --steps 20

`perflint check examples/text_classifier.py` says what it could do better.
"""

import argparse

import numpy as np
import paddle
from paddle import nn

VOCABULARY = 2000
LENGTH = 24
TOPICS = 4


class GeneratedSentences(paddle.io.Dataset):
    """Sentences of word numbers; each topic prefers its own part of the vocabulary."""

    def __init__(self, count):
        super().__init__()
        self.count = count

    def __getitem__(self, index):
        generator = np.random.default_rng(index)
        topic = generator.integers(TOPICS)
        share = VOCABULARY // TOPICS
        own = generator.integers(topic * share, (topic + 1) * share, LENGTH)
        any_word = generator.integers(0, VOCABULARY, LENGTH)
        words = np.where(generator.random(LENGTH) < 0.4, own, any_word)
        return words.astype("int64"), np.array([topic], dtype="int64")

    def __len__(self):
        return self.count


class BagOfWords(nn.Layer):
    def __init__(self, width=64):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width)
        self.hidden = nn.Linear(width, width)
        self.head = nn.Linear(width, TOPICS)

    def forward(self, words):
        pooled = self.embedding(words).mean(axis=1)
        return self.head(paddle.tanh(self.hidden(pooled)))


class LearningRate(paddle.callbacks.Callback):
    """Shows the learning rate while it warms up."""

    def on_train_batch_end(self, step, logs=None):
        print("learning rate", self.model._optimizer.get_lr())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--steps", type=int, default=50, help="batches in an epoch")
    parser.add_argument("--batch-size", type=int, default=32)
    args = parser.parse_args()

    paddle.seed(2024)
    np.random.seed(2024)
    train_set = GeneratedSentences(args.steps * args.batch_size)
    test_set = GeneratedSentences(4 * args.batch_size)

    network = BagOfWords()
    model = paddle.Model(network)
    warmup = paddle.optimizer.lr.LinearWarmup(learning_rate=0.01, warmup_steps=20, start_lr=0.001, end_lr=0.01)
    optimizer = paddle.optimizer.Adam(learning_rate=warmup, parameters=network.parameters())
    model.prepare(optimizer, nn.CrossEntropyLoss(), paddle.metric.Accuracy())
    model.fit(
        train_set,
        batch_size=args.batch_size,
        epochs=args.epochs,
        log_freq=1,
        verbose=2,
        callbacks=[LearningRate()],
    )
    result = model.evaluate(test_set, batch_size=args.batch_size, verbose=0)
    print(f"test loss {result['loss'][0]:.4f} accuracy {result['acc']:.3f}")


if __name__ == "__main__":
    main()
