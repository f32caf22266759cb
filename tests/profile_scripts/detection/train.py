"""Train a detector as a file of YAML says: no workers there, a loss with a mask, and a snapshot each five steps."""

import argparse
from pathlib import Path

import paddle
import yaml
from data import Boxes
from paddle import nn
from paddle.io import DataLoader


def build():
    layers = []
    for narrow, wide in ((3, 8), (8, 16), (16, 16)):
        layers += [nn.Conv2D(narrow, wide, 3, stride=2, padding=1), nn.ReLU()]
    return nn.Sequential(*layers, nn.Conv2D(16, 5, 1))


def box_loss(found, target):
    places = paddle.nonzero(target > 0)  # mistake 2: the size of the result has to be read
    boxes = paddle.gather_nd(found[:, 1:].transpose([0, 2, 3, 1]), places)
    return boxes.abs().mean()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-c", "--config", required=True)
    cfg = yaml.safe_load(Path(parser.parse_args().config).read_text())
    model = build()
    optimizer = paddle.optimizer.Momentum(cfg["learning_rate"], parameters=model.parameters())
    loader = DataLoader(  # mistake 1: no workers
        Boxes(cfg["image_size"]), batch_size=cfg["batch_size"], shuffle=True, num_workers=cfg["worker_num"]
    )
    step = 0
    for _ in range(cfg["epochs"]):
        for image, target in loader:
            found = model(image)
            score = nn.functional.binary_cross_entropy_with_logits(found[:, 0], target)
            loss = score + box_loss(found, target)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            step += 1
            if step % cfg["snapshot_iter"] == 0:
                paddle.save(model.state_dict(), f"output/{step}.pdparams")  # mistake 3: a save each five steps


if __name__ == "__main__":
    main()
