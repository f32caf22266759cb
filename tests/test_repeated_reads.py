"""PPF108: which reads of a dataset are the same for each sample."""

from __future__ import annotations

import pytest

from tests.support import places

DATASET = """\
import h5py
import netCDF4
import numpy as np
import paddle


class Rain(paddle.io.Dataset):
    def __init__(self, path, length):
        self.path, self.length = path, length
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
    assert [row for _, row, _ in places(text, "PPF108")] == ([15] if found else [])
