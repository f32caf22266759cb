"""PPF803: what a loader gives each process, tried on Paddle itself, and where it is reported."""

from __future__ import annotations

import paddle
import pytest

from tests.support import check

PROGRAM = """\
import paddle
from paddle.distributed import fleet
from paddle.io import DataLoader, Dataset, IterableDataset


class Clicks(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]


class Stream(IterableDataset):
    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        yield from self.rows


def make(rows, world_size):
    return {loader}


def train(net, rows, args):
    {start}
    model = paddle.DataParallel(net)
    optimizer = paddle.optimizer.Adam(1e-3, parameters=model.parameters())
    for x, y in make(rows, args.gpus):
        loss = paddle.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
"""
LOADER = "DataLoader(Clicks(rows), batch_size=512, shuffle=True)"
START = "paddle.distributed.init_parallel_env()"


class Numbers(paddle.io.Dataset):  # type: ignore[misc]  # mypy sees nothing of Paddle
    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> int:
        return index


def test_only_a_distributed_sampler_divides_the_data() -> None:
    batches = set()
    seen: list[int] = []
    for rank in range(4):
        sampler = paddle.io.DistributedBatchSampler(Numbers(), batch_size=8, num_replicas=4, rank=rank)
        batches.add(len(paddle.io.DataLoader(Numbers(), batch_sampler=sampler)))
        seen += [index for batch in sampler for index in batch]
    assert batches == {2}
    assert sorted(seen) == list(range(64))
    loader = paddle.io.DataLoader(Numbers(), batch_size=8, shuffle=True)
    assert len(loader) == 8
    assert type(loader.batch_sampler) is paddle.io.BatchSampler  # which knows no ranks


@pytest.mark.parametrize("start", [START, "fleet.init(is_collective=True)", f"if args.gpus > 1:\n        {START}"])
def test_all_of_the_data_in_each_process(start: str) -> None:
    [found] = check(PROGRAM.format(start=start, loader=LOADER), "PPF803")
    assert (
        found.fix is not None
        and "DistributedBatchSampler(Clicks(rows), batch_size=512, shuffle=True)" in found.fix.reason
    )
    lines = PROGRAM.format(start=start, loader=LOADER).splitlines()
    where = [lines[related.line - 1] for related in found.related]
    assert start.splitlines()[-1].strip() in where[0]
    assert "make(rows, args.gpus)" in where[1]


def test_samples_that_are_tensors_in_memory() -> None:
    loader = "DataLoader(Clicks(paddle.to_tensor(rows)), batch_size=512, shuffle=True)"
    assert len(check(PROGRAM.format(start=START, loader=loader), "PPF803")) == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"start": "pass"},
        {"start": "fleet.init(strategy=hybrid_strategy(args))"},
        {"loader": "DataLoader(Clicks(rows[paddle.distributed.get_rank() :: 4]), batch_size=512, shuffle=True)"},
        {"loader": "DataLoader(Stream(rows), batch_size=512)"},
        {"loader": "DataLoader(rows, batch_size=512, shuffle=True)"},
        {"loader": "DataLoader(Clicks(rows), batch_sampler=rows.sampler)"},
        {"loader": f"rows.loader if world_size > 1 else {LOADER}"},
        {"loader": f"rows.loader(DistributedBatchSampler) if rows.several else {LOADER}"},
    ],
)
def test_one_process_or_a_part_for_each(changed: dict[str, str]) -> None:
    assert check(PROGRAM.format(**{"start": START, "loader": LOADER, **changed}), "PPF803") == []
