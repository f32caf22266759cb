"""PPF108: which reads of a dataset are the same for each sample."""

from __future__ import annotations

import pytest

from perflint.findings import ImpactLevel
from tests.support import check, places

DATASET = """\
import h5py
import netCDF4
import numpy as np
import paddle


class Rain(paddle.io.Dataset):
    def __init__(self, path, length):
        self.path = path
        self.length = length
        self.file = {opened}
        self.rain = {variable}

    def __getitem__(self, index):
        start = 0
        return {read}
"""
NC = {"opened": "netCDF4.Dataset(path)", "variable": "self.file.variables['rain']"}
H5 = {"opened": "h5py.File(path, 'r')", "variable": "self.file['rain']"}


@pytest.mark.parametrize(
    ("parts", "read", "found"),
    [
        (NC, "self.rain[: self.length][index]", True),
        (NC, "self.rain[start : self.length, :][index]", True),
        (NC, "self.file.variables['rain'][:][index]", True),
        (NC, "netCDF4.Dataset(self.path).variables['rain'][index]", True),
        (H5, "self.rain[:][index]", True),
        (H5, "self.file['rain'][:][index]", True),
        (H5, "self.file['rain'][()][index]", True),
        (H5, "self.file['rain'][...][index]", True),
        (NC, "self.rain[index : index + 2]", False),
        (NC, "self.rain[index, :]", False),
        (NC, "self.rain[0]", False),
        (H5, "self.file[str(index)][:]", False),
        ({**H5, "variable": "self.file['rain'][:]"}, "self.rain[: self.length][index]", False),
        ({**NC, "variable": "np.load(path)"}, "self.rain[: self.length][index]", False),
    ],
)
def test_a_slice_of_a_variable_on_the_disk_is_a_read(parts: dict[str, str], read: str, found: bool) -> None:
    text = DATASET.format(**parts, read=read)
    assert [row for _, row, _ in places(text, "PPF108")] == ([16] if found else [])


def test_two_slices_of_a_variable_are_one_finding() -> None:
    text = DATASET.format(**NC, read="self.rain[: self.length] if index else self.rain[self.length :]")
    assert [row for _, row, _ in places(text, "PPF108")] == [16]


TABLES = """\
import pandas as pd
import paddle


class Table(paddle.io.Dataset):
    def __init__(self, path):
        self.path = path

    def __getitem__(self, index):
        return pd.read_csv(self.path).iloc[index]


class Others(Table):
    pass


def train(model, path, optimizer, epochs):
    loader = paddle.io.DataLoader({made}, batch_size=32, shuffle=True{given})
    for epoch in range(epochs):
        for x, y in loader:
            loss = model(x, y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
"""


@pytest.mark.parametrize(
    ("made", "given", "level"),
    [
        ("Table(path)", "", ImpactLevel.MEDIUM),
        ("Others(path)", "", ImpactLevel.MEDIUM),
        ("paddle.io.Subset(Table(path), range(9))", "", ImpactLevel.MEDIUM),
        ("Table(path)", ", num_workers=4", ImpactLevel.LOW),
        ("path", "", ImpactLevel.LOW),
    ],
)
def test_workers_share_the_reads(made: str, given: str, level: ImpactLevel) -> None:
    (found,) = check(TABLES.replace("{made}", made).replace("{given}", given), "PPF108")
    assert found.impact is not None
    assert found.impact.level is level
